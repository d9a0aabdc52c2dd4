"""Kernels that build the arrays of the postings index.

What they fill is allocated by the caller: NumPy asks the system for huge pages, Numba does not, and to touch 400 MB
for the first time takes 36 ms in huge pages and 220 in small ones. Indexes are unsigned where they come from an array,
which saves the test for indexes that count from the end.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, Flag
from sightline.geo._kernels import CURVE_BITS, curve_key
from sightline.index.objects.postings._kernels import LARGE_BITS, SMALL_BITS
from sightline.index.objects.postings.planes_kernels import ones, transpose
from sightline.jit import kernel

U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

BATCH = 128  # rows whose lists are fetched together
SOME = 16  # terms that are copied at once
PART = 1 << 17  # rows that are gathered, then distributed, by another thread
HEAD = 64  # streams of the terms with a bit
TERM_BITS = 12  # log2 of the terms in a bucket of the inversion; the other bits of a pair are of the row
ROW_BITS = 32 - TERM_BITS
ROWS = np.uint32((1 << ROW_BITS) - 1)
TERM_SHIFT = np.uint32(ROW_BITS)
ONE = np.uint64(1)
STEP = np.uint32(1)


@kernel
def numbered_keys(lon: F64, lat: F64, extent: F64, deep: int, row_bits: int, out: I64) -> None:
    """Curve keys of level ``deep``, each with the number of its row in the low bits."""
    west, south, east, north = extent[0], extent[1], extent[2], extent[3]
    drop = 2 * (CURVE_BITS - deep)
    for i in range(lon.shape[0]):
        out[i] = curve_key(lon[i], lat[i], west, south, east, north) >> drop << row_bits | i


@kernel
def make_directory(numbered: I64, row_bits: int, level: int, deep: int, directory: I32, fine: U32) -> None:
    """First row of every cell of ``level`` (the row count at the end), and the keys below that level.

    ``numbered`` are ascending keys with two bits per level of ``deep`` and the rows they are of; the keys are dropped.
    """
    shift = 2 * (deep - level)
    cells, n = 1 << (2 * level), numbered.shape[0]
    below, row = (np.int64(1) << shift) - 1, (np.int64(1) << row_bits) - 1
    cell = np.int64(0)
    for i in range(n):
        key = numbered[i] >> row_bits
        numbered[i] &= row
        fine[i] = np.uint32(key & below)
        while cell <= key >> shift:
            directory[cell] = i
            cell += 1
    while cell <= cells:
        directory[cell] = n
        cell += 1


@kernel
def frequencies(ids: I32, out: I32) -> None:
    """Occurrences of every term."""
    for j in range(ids.shape[0]):
        out[np.uint32(ids[j])] += np.int32(1)


@kernel
def starts_of(frequency: I32, listed: Flag) -> I32:
    """Where the postings of each term begin; terms that are not ``listed`` have none."""
    starts = np.zeros(frequency.shape[0] + 1, np.int32)
    total = np.int64(0)
    for t in range(frequency.shape[0]):
        if listed[t]:
            total += frequency[t]
        starts[t + 1] = total
    return starts


@kernel
def gather_lists(order: I64, offsets: I64, ids: I32, first: int, last: int, new_offsets: I32, new_ids: I32) -> None:
    """The term lists of rows ``order``, in that order: those of ``order[first:last]`` after what is there already.

    A batch of rows at a time, each step a loop of independent reads: first where the lists are, then one word of each,
    which brings it into the cache, then the lists. Most of them fit ``SOME`` words, and to copy so many whatever the
    length is leaves nothing to foresee; what is too much is overwritten by the next list.
    """
    begin, end = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    to, size = np.int64(new_offsets[first]), ids.shape[0]
    touched = np.int32(0)
    for start in range(first, last, BATCH):
        rows = min(BATCH, last - start)
        for i in range(rows):
            row = np.uint64(order[start + i])
            begin[i], end[i] = offsets[row], offsets[row + ONE]
        if size > 0:
            for i in range(rows):
                touched |= ids[np.uint64(min(begin[i], size - 1))] | ids[np.uint64(min(begin[i] + 15, size - 1))]
        for i in range(rows):
            a, b = begin[i], end[i]
            c = np.uint64(a)
            if max(a, to) + SOME <= size:
                d = np.uint64(to)
                for j in range(SOME):
                    new_ids[d + np.uint64(j)] = ids[c + np.uint64(j)]
                c += np.uint64(SOME)
            d = np.uint64(to) + c - np.uint64(a)
            while c < np.uint64(b):
                new_ids[d] = ids[c]
                c += ONE
                d += ONE
            to += b - a
            new_offsets[start + i + 1] = np.int32(to)
    if touched < 0:  # ids are not negative; the reads must not be optimised away
        new_offsets[last] = 0


@kernel
def gather(order: I64, values: npt.NDArray[np.generic], out: npt.NDArray[np.generic]) -> None:
    """``values[order]``: one column at a time, of which more fits the cache than of all."""
    for i in range(order.shape[0]):
        out[i] = values[np.uint64(order[i])]


@kernel
def make_streams(starts: I32, heads: I32, frequent: I32, stream: U16, cursor: U32) -> int:
    """Where the first pass of the inversion writes the postings of each term; returns how many words it writes.

    Streams are the head terms, at their bits, the ``frequent`` terms, and the buckets of ``1 << TERM_BITS`` terms.
    Terms with a stream of their own have it at the place of their postings, buckets come after all postings.
    ``cursor[s]`` is where stream s begins.
    """
    terms, own = starts.shape[0] - 1, HEAD + frequent.shape[0]
    for t in range(terms):
        stream[t] = own + (t >> TERM_BITS)
    for h in range(heads.shape[0]):
        stream[heads[h]] = h
        cursor[h] = starts[heads[h]]
    for f in range(frequent.shape[0]):
        stream[frequent[f]] = HEAD + f
        cursor[HEAD + f] = starts[frequent[f]]
    total = np.int64(starts[terms])
    for b in range(own, cursor.shape[0]):
        cursor[b] = total
        first = (b - own) << TERM_BITS
        for t in range(first, min(terms, first + (1 << TERM_BITS))):
            if stream[t] == b:
                total += starts[t + 1] - starts[t]
    return int(total)


@kernel
def distribute(
    offsets: I32, ids: I32, first: int, last: int, stream: U16, step: U32, cursor: U32, out: U32, marks: U32, bits: U64
) -> None:
    """First pass of the inversion: rows to terms with a stream of their own, pairs of row and term to buckets; and the
    head bits of every row. Of the rows ``first:last``, a part of those that have the high bits in common.

    A pair has the low bits of the row and of the term. The high bits of the term are the bucket's, those of the row
    are told by ``marks``: where every bucket is after so many rows.

    Without a branch per term: a term without postings has a stream of ``step`` 0, so that it writes one word again and
    again. Over five million rows a pass takes 55 ns per row, gathering the lists 40; both in one pass take longer than
    one after the other.
    """
    buckets = cursor.shape[0] - marks.shape[1]
    own, head, place = np.uint32(buckets), np.uint32(HEAD), np.uint32(HEAD - 1)
    if first & int(ROWS) == 0:
        marks[first >> ROW_BITS] = cursor[buckets:]
    for i in range(first, last):
        word = np.uint64(0)
        row = np.uint32(i)
        low = row & ROWS
        for j in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            t = np.uint32(ids[j])
            s = np.uint32(stream[t])
            word |= np.uint64(s < head) << np.uint64(s & place)
            at = cursor[s]
            out[at] = row if s < own else np.uint32(low | t << TERM_SHIFT)
            cursor[s] = at + step[s]
        bits[i] = word


@kernel
def settle(
    out: U32, marks: U32, first: int, last: int, starts: I32, stream: U16, own: int, small: I32, large: I32
) -> None:
    """Second pass of the inversion: from the buckets ``first:last`` to the postings of each term.

    Their tail maxima are taken as long as the cache has the postings.
    """
    place = np.empty(1 << TERM_BITS, np.uint32)
    for b in range(first, last):
        begin, end = b << TERM_BITS, min(starts.shape[0] - 1, (b + 1) << TERM_BITS)
        for t in range(begin, end):
            place[t - begin] = starts[t]
        for chunk in range(marks.shape[0] - 1):
            base = np.uint32(chunk << ROW_BITS)
            for j in range(np.uint64(marks[chunk, b]), np.uint64(marks[chunk + 1, b])):
                pair = out[j]
                t = pair >> TERM_SHIFT
                at = place[t]
                out[at] = base | (pair & ROWS)
                place[t] = at + STEP
        for t in range(begin, end):
            if stream[t] >= own:
                raise_maxima(out, starts[t], starts[t + 1], small, large)


@kernel
def maxima_of(postings: U32, starts: I32, terms: I32, small: I32, large: I32) -> None:
    """Tail maxima of some terms: per block of rows the most rows any one of them has there, for two sizes of blocks.

    With those of the most frequent terms first, the others have little to raise.
    """
    for t in terms:
        raise_maxima(postings, starts[t], starts[t + 1], small, large)


@kernel
def raise_maxima(postings: U32, begin: int, end: int, small: I32, large: I32) -> None:
    """Take the postings ``begin:end`` of a term into the maxima.

    The rows of a term in one block are neighbours in its list. Where a block has the maximum m, a posting matters if
    the m-th after it is of the same block, which is seldom and so costs no branch that is not foreseen.
    """
    for p in range(begin, end):
        block, block_large = postings[p] >> np.uint32(SMALL_BITS), postings[p] >> np.uint32(LARGE_BITS)
        q = p + small[block]
        if q < end and postings[q] >> np.uint32(SMALL_BITS) == block:
            while q < end and postings[q] >> np.uint32(SMALL_BITS) == block:
                q += 1
            small[block] = q - p
        q = p + large[block_large]
        if q < end and postings[q] >> np.uint32(LARGE_BITS) == block_large:
            while q < end and postings[q] >> np.uint32(LARGE_BITS) == block_large:
                q += 1
            large[block_large] = q - p


@kernel
def head_tables(bits: U64, planed: I32, block: int, planes: U64, prefix: I32) -> None:
    """The planes of the head bits ``planed``, and rows before each block of ``block`` rows that have each head term;
    the last line counts all rows. Blocks are of whole words of a plane.
    """
    rows, heads, lines = bits.shape[0], prefix.shape[1], block >> 6
    word = np.empty(64, np.uint64)
    running = np.zeros(64, np.int32)
    for w in range((rows + 63) >> 6):
        if w % lines == 0:
            prefix[w // lines] = running[:heads]
        some = min(64, rows - (w << 6))
        word[:some] = bits[w << 6 : (w << 6) + some]
        word[some:] = np.uint64(0)
        transpose(word)
        for p in range(planed.shape[0]):
            planes[p, w] = word[planed[p]]
        for h in range(64):
            running[h] += ones(word[h])
    prefix[prefix.shape[0] - 1] = running[:heads]
