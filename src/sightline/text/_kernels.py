"""Kernels of the tokeniser: classify rows, cut them into words, number distinct terms.

All text is UTF-8 bytes.
Every kernel that writes checks its room before a row and returns; the wrapper grows the buffers and calls again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel
from sightline.text.lookup._kernels import TermSink, chunk, hash_bytes, same
from sightline.text.utf8._kernels import decode, encode

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
U16 = npt.NDArray[np.uint16]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Key = tuple[np.uint64, np.uint64]  # seed and mask of hashes

# Row kinds of `classify`.
ASCII, QUICK_ROW, WHOLE = 0, 1, 2
# Character flags, as in model._unicode14.
_WORD, _MARK, _IDEOGRAPH, _QUICK = 1, 2, 4, 16
# What `scan_rows` and `intern_terms` return.
DONE, FULL = 0, 1
_HASH, _AT = ord("#"), ord("@")


class CharTables(NamedTuple):
    """Two-stage Unicode tables and their ASCII part: ``ascii[b]`` is the lower-case word byte, 1 for # and @, or 0."""

    blocks: npt.NDArray[np.uint16]
    flags: U8
    combining: U8
    lower: I32
    ascii: U8


class Texts(NamedTuple):
    """Rows to cut: bytes and offsets, and the normalised bytes of the rows of kind WHOLE, in their order."""

    data: U8
    offsets: I64
    kinds: U8
    whole_data: U8
    whole_offsets: I64


#: Columns of ``heads`` in `scan_rows`: what finding a term reads, in one cache line.
_HASH_OF, _FIRST8, _SPAN, _PLACE = 0, 1, 2, 3


class RowSink(NamedTuple):
    """Postings under construction; ``place`` has a term's latest posting, -1 if it has none."""

    offsets: I64
    ids: I32
    counts: I32
    words: I32
    place: I64


@kernel
def classify(tables: CharTables, data: U8, offsets: I64, kinds: U8) -> None:
    """Kind of each row: ASCII, readable character by character, or in need of whole-string normalisation.

    The middle kind is NFKC's quick check (UAX 15, section 9) with characters that lower to one character.
    """
    for row in range(offsets.size - 1):
        start, end = offsets[row], offsets[row + 1]
        high = np.uint8(0)
        for i in range(start, end):
            high |= data[i]
        if high < 0x80:
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
def _sort_row(ids: I32, counts: I32 | U16, start: int, end: int) -> None:
    """Order a row's postings by term number: Shell's sort, an insertion sort on the usual short rows."""
    gap = 1
    while 9 * gap < end - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            term, count = ids[i], counts[i]
            j = i - gap
            while j >= start and ids[j] > term:
                ids[j + gap], counts[j + gap] = ids[j], counts[j]
                j -= gap
            ids[j + gap], counts[j + gap] = term, count
        gap //= 3


@kernel
def _cut_ascii(ascii_map: U8, data: U8, start: int, end: int, run: U8, spans: I64) -> int:
    """Lower an ASCII row into ``run`` and list its terms there: (start, end, 1 for a word or 0 for a tag) each."""
    found = 0
    n = 0
    i = start
    while i < end:
        low = ascii_map[data[i]]
        if low < 2:
            i += 1
            continue
        tagged = i > start and ascii_map[data[i - 1]] == 1
        if tagged:
            run[n] = data[i - 1]
            n += 1
        first = n
        while low > 1:
            run[n] = low
            n += 1
            i += 1
            if i == end:
                break
            low = ascii_map[data[i]]
        spans[found], spans[found + 1], spans[found + 2] = first, n, 1
        found += 3
        if tagged:
            spans[found], spans[found + 1], spans[found + 2] = first - 1, n, 0
            found += 3
    return found


@kernel
def _cut_unicode(tables: CharTables, data: U8, start: int, end: int, lower: int, run: U8, spans: I64) -> int:
    """The same for a row of other characters; lower is 0 where the text is normalised already."""
    found = 0
    n = 0
    i = start
    while i < end:
        code, length = decode(data, i)
        at = (np.int64(tables.blocks[code >> 7]) << 7) + (code & 127)
        kind = tables.flags[at]
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
                    spans[found], spans[found + 1], spans[found + 2] = word, n, 1
                    found += 3
                    word = n
                single = (kind & _IDEOGRAPH) != 0
            n = encode(code + tables.lower[at] * lower, run, n)
            i += length
            if i >= end:
                break
            code, length = decode(data, i)
            at = (np.int64(tables.blocks[code >> 7]) << 7) + (code & 127)
            kind = tables.flags[at]
        spans[found], spans[found + 1], spans[found + 2] = word, n, 1
        found += 3
        if tagged:
            spans[found], spans[found + 1], spans[found + 2] = first - 1, n, 0
            found += 3
    return found


@kernel
def scan_rows(
    tables: CharTables,
    texts: Texts,
    sink: TermSink,
    heads: U64,
    rows: RowSink,
    run: U8,
    spans: I64,
    state: I64,
    key: Key,
) -> int:
    """Cut rows from state[0] on; FULL when the next row may not fit. state is (row, postings, rows of kind WHOLE).

    A row of n bytes has at most n terms ("#a#b" has four). Lower case grows by half at most (U+023A: 2 to 3 bytes)
    and a tag repeats its run: ``run`` needs 2 n bytes, ``spans`` 3 n entries, new terms at most 3 n bytes.
    """
    # Arrays taken out of a tuple inside the loop cost a reference count each time. A known word costs two cache
    # misses, its slot and its head: most words fit in the eight bytes that stand there.
    ascii_map, data, whole_data = tables.ascii, texts.data, texts.whole_data
    hashes, offsets, terms, slots, size = sink
    row_offsets, ids, counts, words, _ = rows
    seed, mask = key
    total, known = state[1], size[0]
    slot_mask = slots.size - 1
    for row in range(state[0], texts.kinds.size):
        kind = texts.kinds[row]
        if kind == WHOLE:
            start, end = texts.whole_offsets[state[2]], texts.whole_offsets[state[2] + 1]
        else:
            start, end = texts.offsets[row], texts.offsets[row + 1]
        bound = end - start
        if (
            total + bound > ids.size
            or known + bound > hashes.size
            or 2 * (known + bound) > slots.size
            or offsets[known] + 3 * bound > terms.size
        ):
            state[0], state[1], size[0] = row, total, known
            return FULL
        if kind == ASCII:
            found = _cut_ascii(ascii_map, data, start, end, run, spans)
        elif kind == QUICK_ROW:
            found = _cut_unicode(tables, data, start, end, 1, run, spans)
        else:
            found = _cut_unicode(tables, whole_data, start, end, 0, run, spans)
            state[2] += 1
        first = total
        occurrences = 0
        for i in range(0, found, 3):
            start, end = spans[i], spans[i + 1]
            first8 = chunk(run, start, end)
            h = hash_bytes(run, start, end, first8, seed, mask)
            slot = h & slot_mask
            term = np.int64(slots[slot])
            while term >= 0:
                if heads[term, _HASH_OF] == np.uint64(h) and heads[term, _FIRST8] == first8:
                    span = int(np.int64(heads[term, _SPAN]))
                    begin, stop = span >> 32, (span >> 32) + (span & 0xFFFFFFFF)
                    if stop - begin == end - start and (end - start <= 8 or same(terms, begin, stop, run, start, end)):
                        break
                slot = (slot + 1) & slot_mask
                term = np.int64(slots[slot])
            if term < 0:
                term = known
                tail = offsets[term]
                for j in range(end - start):
                    terms[tail + j] = run[start + j]
                hashes[term] = h
                offsets[term + 1] = tail + end - start
                slots[slot] = term
                heads[term, _HASH_OF], heads[term, _FIRST8] = np.uint64(h), first8
                heads[term, _SPAN] = np.uint64((tail << 32) | (end - start))
                heads[term, _PLACE] = np.uint64(0)
                known += 1
            at = np.int64(heads[term, _PLACE]) - 1
            if at < first:
                at = total
                heads[term, _PLACE] = np.uint64(at + 1)
                ids[at] = term
                counts[at] = 0
                total += 1
            counts[at] += spans[i + 2]
            occurrences += spans[i + 2]
        _sort_row(ids, counts, first, total)
        words[row] = occurrences
        row_offsets[row + 1] = total
    state[0], state[1], size[0] = texts.kinds.size, total, known
    return DONE


@kernel
def renumber_rows(offsets: I64, ids: I32, counts: I32, remap: I32, rows: RowSink) -> None:
    """Postings with other term numbers: -1 drops a term, terms that became equal add their counts.

    ``rows.place`` has one entry per new term, all -1; a term's entry is its posting in the current row.
    """
    row_offsets, new_ids, new_counts, words, place = rows
    at = 0
    for row in range(offsets.size - 1):
        start = at
        total = 0
        for i in range(offsets[row], offsets[row + 1]):
            term = remap[ids[i]]
            if term < 0:
                continue
            total += counts[i]
            before = place[term]
            if before >= start:
                new_counts[before] += counts[i]
                continue
            place[term] = at
            new_ids[at] = term
            new_counts[at] = counts[i]
            at += 1
        _sort_row(new_ids, new_counts, start, at)
        words[row] = total
        row_offsets[row + 1] = at


@kernel
def gather_rows(
    offsets: I64, ids: I32, counts: U16, rows: I64, ends: I64, new_ids: I32, new_counts: U16, number: I32
) -> None:
    """Postings of some rows, with terms renumbered by ``number`` (all -1 before): those that occur, order kept.

    ``ends`` has where each row ends in ``new_ids`` and ``new_counts``, and a leading 0.
    """
    for i in range(rows.size):
        first, at = offsets[rows[i]], ends[i]
        for j in range(ends[i + 1] - at):
            term = ids[first + j]
            number[term] = 0
            new_ids[at + j], new_counts[at + j] = term, counts[first + j]
    known = 0
    for term in range(number.size):
        if number[term] == 0:
            number[term] = known
            known += 1
    for i in range(new_ids.size):
        new_ids[i] = number[new_ids[i]]


@kernel
def remap_rows(offsets: I64, remap: I32, ids: I32, counts: U16) -> None:
    """Give the postings of rows other, distinct numbers, in place, and put each row in order again."""
    for row in range(offsets.size - 1):
        start, end = offsets[row], offsets[row + 1]
        ascending = True
        for i in range(start, end):
            ids[i] = remap[ids[i]]
            ascending &= i == start or ids[i - 1] < ids[i]
        if not ascending:
            _sort_row(ids, counts, start, end)
