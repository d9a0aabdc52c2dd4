"""Kernels that build the arrays of the postings index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.index.arrays import I32, I64, Flag
from sightline.index.objects.postings._kernels import LARGE_BITS, SMALL_BITS
from sightline.jit import kernel

I8 = npt.NDArray[np.int8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

TERM_BITS = 12  # log2 of the terms in a bucket of the inversion
BATCH = 128  # rows whose lists are fetched together


@kernel
def frequencies(ids: I32, terms: int) -> I32:
    """Occurrences of every term."""
    out = np.zeros(terms, np.int32)
    for j in range(ids.shape[0]):
        out[ids[j]] += 1
    return out


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
def gather_lists(order: I64, offsets: I64, ids: I32) -> tuple[I32, I32]:
    """The term lists of rows ``order``, in that order.

    A batch of rows at a time, each step a loop of independent reads: first where the lists are, then one word of each,
    which brings it into the cache, then the lists.
    """
    n = order.shape[0]
    new_offsets = np.empty(n + 1, np.int32)
    new_ids = np.empty(ids.shape[0], np.int32)
    begin, end = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    to, last = np.int64(0), ids.shape[0] - 1
    touched = np.int32(0)
    for first in range(0, n, BATCH):
        rows = min(BATCH, n - first)
        for i in range(rows):
            begin[i], end[i] = offsets[order[first + i]], offsets[order[first + i] + 1]
        for i in range(rows):
            touched |= ids[min(begin[i], last)] | ids[min(begin[i] + 16, last)] if last >= 0 else 0
        for i in range(rows):
            new_offsets[first + i] = to
            for j in range(begin[i], end[i]):
                new_ids[to] = ids[j]
                to += 1
    new_offsets[n] = to if touched >= 0 else 0  # ids are not negative; the reads must not be optimised away
    return new_offsets, new_ids


@kernel
def invert(offsets: I32, ids: I32, starts: I32, bit_of: I8) -> tuple[I32, U64]:
    """The postings of listed terms, and the head bits of every row.

    Two passes, first into buckets of terms, then within a bucket, whose cursors and lines fit a cache: 2.5
    times as fast over a million rows as writing every posting to its place at once.
    """
    n, terms = offsets.shape[0] - 1, starts.shape[0] - 1
    buckets = (terms >> TERM_BITS) + 1
    cursor = np.empty(buckets, np.int64)
    for b in range(buckets):
        cursor[b] = starts[b << TERM_BITS]
    total = np.int64(starts[terms])
    pairs = np.empty(total, np.int64)  # row and term
    bits = np.empty(n, np.uint64)
    one = np.uint64(1)
    for i in range(n):
        word = np.uint64(0)
        for j in range(offsets[i], offsets[i + 1]):
            t = np.int64(ids[j])
            bit = bit_of[t]
            if bit >= 0:
                word |= one << np.uint64(bit)
                if starts[t] == starts[t + 1]:
                    continue
            at = cursor[t >> TERM_BITS]
            pairs[at] = np.int64(i) << 32 | t
            cursor[t >> TERM_BITS] = at + 1
        bits[i] = word
    postings = np.empty(total, np.int32)
    place = starts[:-1].copy()
    for j in range(total):
        t = pairs[j] & np.int64(0xFFFFFFFF)
        postings[place[t]] = pairs[j] >> 32
        place[t] += 1
    return postings, bits


@kernel
def make_directory(keys: I64, level: int, deep: int) -> tuple[I32, U32]:
    """First row of every cell of ``level`` (the row count at the end), and the keys below that level.

    ``keys`` ascend and have two bits per level of ``deep``.
    """
    shift = 2 * (deep - level)
    cells = 1 << (2 * level)
    mask = (np.int64(1) << shift) - 1
    directory = np.empty(cells + 1, np.int32)
    fine = np.empty(keys.shape[0], np.uint32)
    cell = np.int64(0)
    for row in range(keys.shape[0]):
        fine[row] = np.uint32(keys[row] & mask)
        while cell <= keys[row] >> shift:
            directory[cell] = row
            cell += 1
    while cell <= cells:
        directory[cell] = keys.shape[0]
        cell += 1
    return directory, fine


@kernel
def prefix_counts(bits: U64, heads: int, block: int) -> I32:
    """Rows before each block of ``block`` rows that have each head term; the last line counts all rows."""
    n = bits.shape[0]
    blocks = (n + block - 1) // block
    out = np.zeros((blocks + 1, heads), np.int32)
    running = np.zeros(heads, np.int32)
    one = np.uint64(1)
    for b in range(blocks):
        out[b, :] = running
        for row in range(b * block, min(n, (b + 1) * block)):
            word = bits[row]
            for j in range(heads):
                running[j] += np.int32((word >> np.uint64(j)) & one)
    out[blocks, :] = running
    return out


@kernel
def tail_maxima(starts: I32, postings: I32, bit_of: I8, rows: int) -> tuple[I32, I32]:
    """Per block of rows the most rows any one term outside the head has there, for two sizes of blocks.

    Read from the postings: the rows of a term that fall into one block are neighbours in its list.
    """
    small = np.zeros((rows >> SMALL_BITS) + 1, np.int32)
    large = np.zeros((rows >> LARGE_BITS) + 1, np.int32)
    for t in range(starts.shape[0] - 1):
        if bit_of[t] >= 0:
            continue
        begin, begin_large = starts[t], starts[t]
        for p in range(starts[t], starts[t + 1]):
            last = p + 1 == starts[t + 1]
            block = postings[p] >> SMALL_BITS
            if last or postings[p + 1] >> SMALL_BITS != block:
                small[block] = max(small[block], p + 1 - begin)
                begin = p + 1
                block = postings[p] >> LARGE_BITS
                if last or postings[p + 1] >> LARGE_BITS != block:
                    large[block] = max(large[block], p + 1 - begin_large)
                    begin_large = p + 1
    return small, large
