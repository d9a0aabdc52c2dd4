"""The kernel of the tokeniser: cut rows into words and number distinct terms.

All text is UTF-8 bytes.
It checks its room before a block of rows and returns; the wrapper grows the buffers and calls again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel
from sightline.text.cutting_kernels import SIGNS, CharTables, CutWords, Texts, cut, next_block
from sightline.text.lookup_kernels import TermSink, chunk, hash_bytes, same, store8
from sightline.text.postings_kernels import RowSink

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Key = tuple[np.uint64, np.uint64]  # seed and mask of hashes

# What `scan_rows` returns.
DONE, FULL = 0, 1
_HASH, _AT = SIGNS
#: Columns of ``heads``: up to eight bytes of a term, and its place (shifted by 32 bits) and length in the data.
_FIRST8, _SPAN = 0, 1
_LENGTH = np.uint64(0xFFFFFFFF)


@kernel
def _meet(words: CutWords, found: int, sink: TermSink, heads: U64, key: Key) -> None:
    """Hash the words of a block and find the terms of those that are in the first slot they hash to; -1 for the others.

    No turn of a loop depends on the one before, so that cache misses overlap: a word costs three, its slot, its head
    and, if it is longer than eight bytes, the term.
    """
    run, _, _, _, _, starts, ends, firsts, hashes, known = words
    slots, terms = sink.slots, sink.data
    seed, mask = key
    slot_mask = slots.size - 1
    for i in range(found):
        firsts[i] = chunk(run, starts[i], ends[i])
        hashes[i] = hash_bytes(run, starts[i], ends[i], firsts[i], seed, mask)
    for i in range(found):
        known[i] = slots[hashes[i] & slot_mask]
    for i in range(found):
        if known[i] >= 0:
            span = heads[known[i], _SPAN]
            length = ends[i] - starts[i]
            if heads[known[i], _FIRST8] != firsts[i] or np.int64(span & _LENGTH) != length:
                known[i] = -1
            elif length > 8:
                begin = np.int64(span >> np.uint64(32))
                if not same(terms, begin, begin + length, run, starts[i], ends[i]):
                    known[i] = -1


@kernel
def _sort(keys: I64, start: int, end: int) -> None:
    """Shell's sort, an insertion sort on the usual short rows."""
    gap = 1
    while 9 * gap < end - start:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            key = keys[i]
            j = i - gap
            while j >= start and keys[j] > key:
                keys[j + gap] = keys[j]
                j -= gap
            keys[j + gap] = key
        gap //= 3


@kernel
def scan_rows(
    tables: CharTables, texts: Texts, sink: TermSink, heads: U64, rows: RowSink, words: CutWords, state: I64, key: Key
) -> int:
    """Cut rows from state[0] on; FULL when the next block may not fit. state is (row, postings, rows of kind WHOLE).

    A row of n bytes has at most n terms ("#a#b" has four). Lower case grows by half at most (U+023A: 2 to 3 bytes)
    and a tag repeats its run: ``words.run`` needs 2 n bytes, new terms at most 3 n; eight bytes are read and written
    at a time.
    """
    # Arrays taken out of a tuple inside the loop cost a reference count each time.
    term_hashes, offsets, terms, slots, size = sink
    row_offsets, ids, counts, row_words, _ = rows
    run, _, _, _, row_ends, starts, ends, firsts, hashes, found = words
    total, known = state[1], size[0]
    slot_mask = slots.size - 1
    row = state[0]
    while row < texts.kinds.size:
        stop, bound = next_block(texts, row, state[2])
        if (
            total + bound > ids.size
            or known + bound > term_hashes.size
            or 2 * (known + bound) > slots.size
            or offsets[known] + 3 * bound + 8 > terms.size
        ):
            state[0], state[1], size[0] = row, total, known
            return FULL
        count, state[2] = cut(tables, texts, row, stop, state[2], words)
        _meet(words, count, sink, heads, key)
        for i in range(count):
            term = found[i]
            first8 = firsts[i]
            if term < 0:  # new, or not in its first slot
                start, length = starts[i], ends[i] - starts[i]
                slot = hashes[i] & slot_mask
                term = np.int64(slots[slot])
                while term >= 0:
                    span = heads[term, _SPAN]
                    if heads[term, _FIRST8] == first8 and np.int64(span & _LENGTH) == length:
                        begin = np.int64(span >> np.uint64(32))
                        if length <= 8 or same(terms, begin, begin + length, run, start, start + length):
                            break
                    slot = (slot + 1) & slot_mask
                    term = np.int64(slots[slot])
                if term < 0:
                    term = known
                    tail = offsets[term]
                    store8(terms, tail, first8)
                    for j in range(8, length):
                        terms[tail + j] = run[start + j]
                    term_hashes[term] = hashes[i]
                    offsets[term + 1] = tail + length
                    slots[slot] = term
                    heads[term, _FIRST8], heads[term, _SPAN] = first8, np.uint64((tail << 32) | length)
                    known += 1
            sign = first8 & np.uint64(255)
            found[i] = term << 1 | np.int64((sign != np.uint64(_HASH)) & (sign != np.uint64(_AT)))
        # Now a word is its term and, in the lowest bit, whether it counts as a word.
        i = 0
        for place in range(stop - row):
            first = i
            while starts[i] < row_ends[place]:
                i += 1
            _sort(found, first, i)
            occurrences = times = 0
            latest = np.int64(-1)
            for j in range(first, i):
                term, word = found[j] >> 1, found[j] & 1
                total += np.int64(term != latest)
                times = word + (times if term == latest else 0)
                ids[total - 1], counts[total - 1] = term, times
                latest = term
                occurrences += word
            row_words[row + place] = occurrences
            row_offsets[row + place + 1] = total
        row = stop
    state[0], state[1], size[0] = row, total, known
    return DONE
