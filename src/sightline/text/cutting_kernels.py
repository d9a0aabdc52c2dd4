"""Kernels that classify rows of UTF-8 and cut them into words, in lower case."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel
from sightline.text.utf8_kernels import ASCII_ROWS, decode, encode, is_ascii

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

# Row kinds of `classify`.
ASCII, QUICK_ROW, WHOLE = 0, 1, 2
# Character flags, as in model._unicode14.
_WORD, _MARK, _IDEOGRAPH, _QUICK = 1, 2, 4, 16
SIGNS = _HASH, _AT = ord("#"), ord("@")
#: Rows that are cut before their words are looked up.
BLOCK_BYTES, BLOCK_ROWS = 4096, 256
_ONE, _ANY_SIGN = np.uint64(1), np.uint64(0x0202020202020202)
# Modulo 67, a prime, the powers of two below 2^64 are distinct.
_POWERS = np.uint64(67)
_BIT = np.zeros(67, np.int64)
_BIT[[2**bit % 67 for bit in range(64)]] = np.arange(64)


class CharTables(NamedTuple):
    """Two-stage Unicode tables."""

    blocks: npt.NDArray[np.uint16]
    flags: U8
    combining: U8
    lower: I32


class Texts(NamedTuple):
    """Rows to cut: bytes and offsets, and the normalised bytes of the rows of kind WHOLE, in their order."""

    data: U8
    offsets: I64
    kinds: U8
    whole_data: U8
    whole_offsets: I64


class CutWords(NamedTuple):
    """Room for the words of a block of rows. The first four are what `cut` works with."""

    run: U8  # the rows in lower case
    flags: U8  # of each byte of ASCII rows: 1 in a word, 2 for a sign
    flags8: U64  # the same memory, eight at a time
    marks: U64  # a bit per byte of ASCII rows: a row begins here
    rows: I64  # where each row ends in run
    starts: I64  # where each word begins in run, and a last one beyond all rows
    ends: I64
    firsts: U64  # its first eight bytes
    hashes: I64
    known: I64  # its term, -1 as long as it is not known


@kernel
def classify(tables: CharTables, data: U8, offsets: I64, kinds: U8) -> None:
    """Kind of each row: ASCII, readable character by character, or in need of whole-string normalisation.

    The middle kind is NFKC's quick check (UAX 15, section 9) with characters that lower to one character.
    """
    for row in range(offsets.size - 1):
        start, end = offsets[row], offsets[row + 1]
        if row % ASCII_ROWS == 0:
            plain = is_ascii(data[start : offsets[min(row + ASCII_ROWS, offsets.size - 1)]])
        if plain or is_ascii(data[start:end]):
            kinds[row] = ASCII
            continue
        kinds[row] = QUICK_ROW
        last = np.int64(0)
        i = start
        while i < end:
            if data[i] < 0x80:
                last = np.int64(0)
                i += 1
                continue
            code, length = decode(data, i)
            at = (np.int64(tables.blocks[code >> 7]) << 7) + (code & 127)
            order = np.int64(tables.combining[at])
            if not tables.flags[at] & _QUICK or (order != 0 and order < last):
                kinds[row] = WHOLE
                break
            last = order
            i += length


@kernel
def _lower(data: U8, run: U8, flags: U8) -> None:
    """Lower ASCII bytes and flag them. Comparisons only, and two loops: 16 times faster than a table's entries."""
    for i in range(data.size):
        b = data[i]
        run[i] = b + np.uint8(32) if b >= np.uint8(65) and b <= np.uint8(90) else b
    for i in range(data.size):
        b = run[i]
        letter = (b >= np.uint8(97)) & (b <= np.uint8(122)) | (b == np.uint8(95))
        digit = (b >= np.uint8(48)) & (b <= np.uint8(57))
        sign = (b == np.uint8(35)) | (b == np.uint8(64))
        flags[i] = np.uint8(letter | digit) | (np.uint8(sign) << np.uint8(1))


@kernel
def _lowest(bits: np.uint64) -> np.int64:
    """The number of the lowest bit that is set."""
    return np.int64(_BIT[(bits & (~bits + _ONE)) % _POWERS])


@kernel
def _packed(eight: np.uint64) -> np.uint64:
    """The lowest bits of eight bytes as one byte."""
    eight &= np.uint64(0x0101010101010101)
    eight = (eight | eight >> np.uint64(7)) & np.uint64(0x0003000300030003)
    eight = (eight | eight >> np.uint64(14)) & np.uint64(0x0000000F0000000F)
    return (eight | eight >> np.uint64(28)) & np.uint64(255)


@kernel
def _cut_ascii(data: U8, offsets: I64, row: int, stop: int, words: CutWords, at: int, found: int) -> int:
    """Lower ASCII rows into ``run[at:]`` and list where their terms begin and end; how many are listed then.

    Words are where bits of a mask begin and end. No branch depends on a single character: guessing where words end
    took as long as reading them.
    """
    run, flags, flags8, marks, _, starts, ends, _, _, _ = words
    first, size = offsets[row], offsets[stop] - offsets[row]
    _lower(data[first : offsets[stop]], run[at : at + size], flags)
    masks = (size >> 6) + 1  # the end of the last row has a bit too
    flags[size : masks << 6] = 0
    marks[:masks] = 0
    for i in range(row, stop + 1):
        place = offsets[i] - first
        marks[place >> 6] |= _ONE << np.uint64(place & 63)
    begun = ended = found
    word_before = sign_before = tagged = np.uint64(0)
    for i in range(masks):
        word = sign = any_flag = np.uint64(0)
        for j in range(8):
            any_flag |= flags8[8 * i + j]
            word |= _packed(flags8[8 * i + j]) << np.uint64(8 * j)
        if any_flag & _ANY_SIGN:
            for j in range(8):
                sign |= _packed(flags8[8 * i + j] >> _ONE) << np.uint64(8 * j)
        before = word << _ONE | word_before
        start = word & (~before | marks[i])
        end = before & (~word | marks[i])
        tagged |= start & (sign << _ONE | sign_before) & ~marks[i]
        word_before, sign_before = word >> np.uint64(63), sign >> np.uint64(63)
        base = at + (i << 6)
        while start:
            starts[begun] = base + _lowest(start)
            begun += 1
            start &= start - _ONE
        while end:
            ends[ended] = base + _lowest(end)
            ended += 1
            end &= end - _ONE
    return _add_tags(words, at, found, begun) if tagged else begun


@kernel
def _add_tags(words: CutWords, at: int, first: int, found: int) -> int:
    """List a tag behind each word that has a sign of its row before it."""
    flags, marks, starts, ends = words.flags, words.marks, words.starts, words.ends
    tags = 0
    for i in range(first, found):
        tags += _has_sign(flags, marks, starts[i] - at)
    i, out = found, found + tags
    while out > i:  # from the last one on; those before the first tag stay where they are
        i -= 1
        start, end = starts[i], ends[i]
        if _has_sign(flags, marks, start - at):
            out -= 1
            starts[out], ends[out] = start - 1, end
        out -= 1
        starts[out], ends[out] = start, end
    return found + tags


@kernel
def _has_sign(flags: U8, marks: U64, place: np.int64) -> bool:
    row_begins = marks[place >> 6] >> np.uint64(place & 63) & _ONE
    return not row_begins and flags[place - 1] == 2


@kernel
def _cut_unicode(
    tables: CharTables, data: U8, start: int, end: int, lower: int, words: CutWords, at: int, found: int
) -> tuple[int, int]:
    """The same for one row of other characters, and where it ends in ``run``; lower is 0 for normalised text."""
    run, starts, ends = words.run, words.starts, words.ends
    n = at
    i = start
    while i < end:
        code, length = decode(data, i)
        place = (np.int64(tables.blocks[code >> 7]) << 7) + (code & 127)
        kind = tables.flags[place]
        if not kind & _WORD:
            i += length
            continue
        # A continuation byte is never equal to a sign.
        tagged = i > start and (data[i - 1] == _HASH or data[i - 1] == _AT)
        if tagged:
            run[n] = data[i - 1]
            n += 1
        first = n
        word = n  # where the current word of the run starts
        single = False  # the current word is an ideograph
        while kind & (_WORD | _MARK):
            if kind & _WORD:
                if n > word and (single or kind & _IDEOGRAPH):
                    starts[found], ends[found] = word, n
                    found += 1
                    word = n
                single = (kind & _IDEOGRAPH) != 0
            n = encode(code + tables.lower[place] * lower, run, n)
            i += length
            if i >= end:
                break
            code, length = decode(data, i)
            place = (np.int64(tables.blocks[code >> 7]) << 7) + (code & 127)
            kind = tables.flags[place]
        starts[found], ends[found] = word, n
        found += 1
        if tagged:
            starts[found], ends[found] = first - 1, n
            found += 1
    return found, n


@kernel
def next_block(texts: Texts, row: int, whole: int) -> tuple[int, int]:
    """The rows from ``row`` on that are cut together: where they end, and their bytes. One row may be longer.

    ``whole`` is the number of rows of kind WHOLE before ``row``.
    """
    kinds, offsets, whole_offsets = texts.kinds, texts.offsets, texts.whole_offsets
    size = 0
    stop = row
    last = min(kinds.size, row + BLOCK_ROWS)
    while stop < last:
        length = offsets[stop + 1] - offsets[stop]
        if kinds[stop] == WHOLE:
            length = whole_offsets[whole + 1] - whole_offsets[whole]
            whole += 1
        if stop > row and size + length > BLOCK_BYTES:
            break
        size += length
        stop += 1
    return stop, size


@kernel
def cut(tables: CharTables, texts: Texts, row: int, stop: int, whole: int, words: CutWords) -> tuple[int, int]:
    """Cut the rows of a block: the number of words, and of the rows of kind WHOLE so far."""
    data, offsets, kinds, whole_data, whole_offsets = texts
    rows = words.rows
    found = at = 0
    i = row
    while i < stop:
        first = i
        while i < stop and kinds[i] == ASCII:
            i += 1
            rows[i - 1 - row] = at + offsets[i] - offsets[first]
        if i > first:
            found = _cut_ascii(data, offsets, first, i, words, at, found)
            at += offsets[i] - offsets[first]
            continue
        if kinds[i] == QUICK_ROW:
            found, at = _cut_unicode(tables, data, offsets[i], offsets[i + 1], 1, words, at, found)
        else:
            start, end = whole_offsets[whole], whole_offsets[whole + 1]
            found, at = _cut_unicode(tables, whole_data, start, end, 0, words, at, found)
            whole += 1
        rows[i - row] = at
        i += 1
    words.starts[found] = at
    return found, whole
