"""Planes: bit r of a plane says whether row r has a term that is too frequent for postings.

To read the head bits of every row of a rectangle fetches eight bytes per row. A plane has one bit per row, and those of
a conjunct are combined 64 rows at a time; set bits become rows by a table of bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64
from sightline.jit import kernel

U64 = npt.NDArray[np.uint64]

PAIRS = np.uint64(0x3333_3333_3333_3333)
ONE, BYTE, ALL = np.uint64(1), np.uint64(255), np.uint64(0xFFFF_FFFF_FFFF_FFFF)
SPARE = 8  # rows that are written at once, so beyond the end of the answer
_SET = [[place for place in range(8) if value >> place & 1] for value in range(256)]
COUNTS = np.array([len(places) for places in _SET], np.int64)
PLACES = np.array([places + [0] * (8 - len(places)) for places in _SET], np.int64)


@kernel
def transpose(words: U64) -> None:
    """Bit i of word j becomes bit j of word i; 64 words, in place.

    Halves of squares of bits change places, then halves of the halves (Warren, Hacker's Delight, 7-3).
    """
    width, mask = 32, np.uint64(0xFFFF_FFFF)
    while width > 0:
        shift = np.uint64(width)
        for first in range(0, 64, 2 * width):
            for i in range(first, first + width):
                moved = ((words[i] >> shift) ^ words[i + width]) & mask
                words[i + width] ^= moved
                words[i] ^= moved << shift
        width >>= 1
        mask ^= mask << np.uint64(width)


@kernel
def ones(word: np.uint64) -> np.int32:
    """Set bits of a word."""
    word -= (word >> ONE) & np.uint64(0x5555_5555_5555_5555)
    word = (word & PAIRS) + ((word >> np.uint64(2)) & PAIRS)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    word += word >> np.uint64(8)
    word += word >> np.uint64(16)
    return np.int32((word + (word >> np.uint64(32))) & np.uint64(127))


@kernel
def planes_of(plane: I32, need: np.uint64) -> I64:
    """Planes of head bits; ``plane`` has that of every bit."""
    out = np.empty(plane.shape[0], np.int64)
    n = 0
    for j in range(plane.shape[0]):
        if (need >> np.uint64(j)) & ONE != np.uint64(0):
            out[n] = plane[j]
            n += 1
    return out[:n]


@kernel
def append_set(planes: U64, chosen: I64, a: int, b: int, out: I64, n: int) -> int:
    """Append those of the rows ``a:b`` that are set in all ``chosen`` planes to ``out[:n]``; how many there are now.

    ``out`` has room for ``b - a + SPARE`` more.
    """
    first, last = a >> 6, (b - 1) >> 6
    for w in range(first, last + 1):
        word = planes[chosen[0], w]
        for j in range(1, chosen.shape[0]):
            word &= planes[chosen[j], w]
        if w == first:
            word &= ALL << np.uint64(a & 63)
        if w == last:
            word &= ALL >> np.uint64(63 - ((b - 1) & 63))
        base = w << 6
        while word != np.uint64(0):
            value = word & BYTE
            for j in range(8):
                out[n + j] = base + PLACES[value, j]
            n += COUNTS[value]
            base += 8
            word >>= np.uint64(8)
    return n


@kernel
def keep_inside(lon: F64, lat: F64, box: F64, out: I64, start: int, n: int) -> int:
    """Drop those of ``out[start:n]`` that are outside of the closed box; returns how many there are in all."""
    west, south, east, north = box[0], box[1], box[2], box[3]
    kept = start
    for i in range(start, n):
        row = out[i]
        x, y = lon[row], lat[row]
        out[kept] = row
        kept += int((x >= west) & (x <= east) & (y >= south) & (y <= north))
    return kept
