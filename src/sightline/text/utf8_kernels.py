"""Kernels over UTF-8: decode and encode one character, check rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]

ASCII_ROWS = 16  # neighbours of which one look tells whether they are all ASCII, as most are


@kernel
def decode(data: U8, i: int) -> tuple[np.int64, int]:
    """Code point at i of valid UTF-8, and its length in bytes."""
    b = np.int64(data[i])
    if b < 0x80:
        return b, 1
    if b < 0xE0:
        return ((b & 0x1F) << 6) | (data[i + 1] & 0x3F), 2
    if b < 0xF0:
        return ((b & 0x0F) << 12) | (np.int64(data[i + 1] & 0x3F) << 6) | (data[i + 2] & 0x3F), 3
    return (
        ((b & 0x07) << 18)
        | (np.int64(data[i + 1] & 0x3F) << 12)
        | (np.int64(data[i + 2] & 0x3F) << 6)
        | (data[i + 3] & 0x3F)
    ), 4


@kernel
def encode(code: int | np.int64, out: U8, at: int) -> int:
    """Write a code point, return the position after it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | (code >> 6)
        out[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | (code >> 12)
        out[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    out[at] = 0xF0 | (code >> 18)
    out[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


@kernel
def is_ascii(data: U8) -> bool:
    """Whether no byte is above 127; bytes that stay bytes are compared 32 at a time."""
    high = np.uint8(0)
    for i in range(data.size):
        high = np.uint8(high | data[i])
    return bool(high < 0x80)


@kernel
def mark_utf8(data: U8, offsets: I64, out: npt.NDArray[np.bool_]) -> None:
    """Which rows are valid UTF-8 (Unicode 14, table 3-7: no overlong forms, no surrogates, at most U+10FFFF)."""
    for row in range(offsets.size - 1):
        if row % ASCII_ROWS == 0:
            plain = is_ascii(data[offsets[row] : offsets[min(row + ASCII_ROWS, offsets.size - 1)]])
        if plain:
            out[row] = True
            continue
        i, end = offsets[row], offsets[row + 1]
        good = True
        while i < end and good:
            b = data[i]
            if b < 0x80:
                i += 1
                continue
            low, high, length = 0x80, 0xBF, 0
            if 0xC2 <= b <= 0xDF:
                length = 2
            elif 0xE0 <= b <= 0xEF:
                length = 3
                low = 0xA0 if b == 0xE0 else 0x80
                high = 0x9F if b == 0xED else 0xBF
            elif 0xF0 <= b <= 0xF4:
                length = 4
                low = 0x90 if b == 0xF0 else 0x80
                high = 0x8F if b == 0xF4 else 0xBF
            if length == 0 or i + length > end or data[i + 1] < low or data[i + 1] > high:
                good = False
                break
            for j in range(2, length):
                if data[i + j] & 0xC0 != 0x80:
                    good = False
            i += length
        out[row] = good
