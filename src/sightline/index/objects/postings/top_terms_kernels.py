"""Counts of head terms in a region, bounds of all others, and the direct count.

Along the curve a region is runs of rows. In a run that lies inside, head terms are counted by the difference of two
lines of ``prefix``, as a summed-area table does in a grid, and the rows at its ends by their head bits. The rows of
blocks a run touches bound every term outside the head by the blocks' tail maxima.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.index.objects.postings._kernels import (
    LARGE_BITS,
    NO_LIMIT,
    ONE,
    SMALL_BITS,
    SPLIT,
    ZERO,
    PostingsArrays,
    append_rows,
    cover,
    first_posting,
)
from sightline.jit import kernel

BLOCK = 64  # rows between two lines of prefix counts
SMALL, LARGE = 1 << SMALL_BITS, 1 << LARGE_BITS  # rows of the blocks with tail maxima
FEW = 96  # rows of a cell that are tested rather than cut; the ends of a new run cost about as much
RUNS = 4096  # room for runs


class TermTables(NamedTuple):
    """Counts along the curve."""

    prefix: I32  # [blocks + 1, h] rows before each block that have each head term
    small: I32  # most rows of a block of SMALL rows that share one term outside the head
    large: I32
    runners: I32  # [2, m + 1] the most frequent terms outside the head, descending, and the rows that have each;
    # the last one, -1 where that was all of them, stands for the others


@kernel
def add_words(index: PostingsArrays, a: int, b: int, counts: I64) -> None:
    """Count the head terms of rows ``a:b``; all bits of a word at once, which the compiler makes vector code."""
    for row in range(a, b):
        word = index.bits[row]
        for j in range(counts.shape[0]):
            counts[j] += np.int64((word >> np.uint64(j)) & ONE)


@kernel
def tail_bound(tables: TermTables, rows: int, a: int, b: int, done: int) -> tuple[int, int]:
    """Most rows of ``a:b`` that share a term outside the head, and the row up to which blocks are accounted for.

    ``done`` is that row of the run before. Large blocks are used where they lie in the run, small ones at its ends.
    """
    bound = 0
    at = max(a // SMALL * SMALL, done)
    while at < b:
        if at % LARGE == 0 and (at + LARGE <= b or b == rows):
            bound += int(tables.large[at // LARGE])
            at += LARGE
        else:
            bound += int(tables.small[at // SMALL])
            at += SMALL
    return bound, at


@kernel
def head_counts(index: PostingsArrays, tables: TermTables, boxes: F64) -> tuple[I64, int, int]:
    """Rows in the disjoint ``boxes`` per head term, at most how many have any other term, and rows looked at."""
    counts = np.zeros(index.heads.shape[1], np.int64)
    runs = np.empty((RUNS, 3), np.int64)
    bound, looked, rows = 0, 0, index.lon.shape[0]
    for q in range(boxes.shape[0]):
        box = boxes[q]
        done = 0
        for r in range(cover(index, box, FEW, NO_LIMIT, runs)):
            a, b = runs[r, 0], runs[r, 1]
            more, done = tail_bound(tables, rows, a, b, done)
            bound += more
            if runs[r, 2] == 0:
                looked += b - a
                for row in range(a, b):
                    x, y = index.lon[row], index.lat[row]
                    if x >= box[0] and x <= box[2] and y >= box[1] and y <= box[3]:
                        add_words(index, row, row + 1, counts)
                continue
            first, last = (a + BLOCK - 1) // BLOCK, b // BLOCK
            if b == rows:  # the last line of the prefix counts is the end, whatever is left of its block
                last = tables.prefix.shape[0] - 1
            if first >= last:
                looked += b - a
                add_words(index, a, b, counts)
                continue
            for j in range(counts.shape[0]):
                counts[j] += np.int64(tables.prefix[last, j]) - np.int64(tables.prefix[first, j])
            add_words(index, a, first * BLOCK, counts)
            add_words(index, last * BLOCK, b, counts)
            looked += first * BLOCK - a + max(0, b - last * BLOCK)
    return counts, min(bound, int(tables.runners[1, 0])), looked


@kernel
def head_counts_of_rows(index: PostingsArrays, tables: TermTables, rows: I64) -> tuple[I64, int]:
    """The same for given ascending rows: rows per head term, and at most how many have any other."""
    counts = np.zeros(index.heads.shape[1], np.int64)
    bound, done = 0, 0
    for row in rows:
        add_words(index, row, row + 1, counts)
        if row >= done:
            done = (row // SMALL + 1) * SMALL
            bound += int(tables.small[row // SMALL])
    return counts, min(bound, int(tables.runners[1, 0]))


@kernel
def posting_counts(index: PostingsArrays, terms: I64, boxes: F64, lo: int, hi: int) -> tuple[I64, int]:
    """Rows in the disjoint ``boxes`` with ``lo <= ts <= hi`` that have each of ``terms``, and postings looked at.

    For terms outside the head. In an inner run only the ends of a term's part are looked up.
    """
    counts = np.zeros(terms.shape[0], np.int64)
    looked = 0
    if hi < index.span[0] or lo > index.span[1] or hi < lo:
        return counts, looked
    timed = lo > index.span[0] or hi < index.span[1]
    runs = np.empty((RUNS, 3), np.int64)
    for q in range(boxes.shape[0]):
        box = boxes[q]
        n = cover(index, box, FEW, SPLIT, runs)
        for i in range(terms.shape[0]):
            p, end = int(index.starts[terms[i]]), int(index.starts[terms[i] + 1])
            for r in range(n):
                a = first_posting(index.postings, p, end, runs[r, 0])
                p = first_posting(index.postings, a, end, runs[r, 1])
                if runs[r, 2] == 1 and not timed:
                    counts[i] += p - a
                    continue
                looked += p - a
                for j in range(a, p):
                    row = index.postings[j]
                    x, y, t = index.lon[row], index.lat[row], index.ts[row]
                    if x >= box[0] and x <= box[2] and y >= box[1] and y <= box[3] and t >= lo and t <= hi:
                        counts[i] += 1
                if p == end:
                    break
    return counts, looked


@kernel
def count_rows(index: PostingsArrays, rows: I64) -> tuple[I64, I64]:
    """Distinct terms of the rows and how many rows have each.

    Few occurrences are counted in a hash table that stays in the cache, many in one counter per term. A slot of the
    table is term + 1 and count in one integer.
    """
    terms = index.starts.shape[0] - 1
    total = np.int64(0)
    for row in rows:
        total += np.int64(index.offsets[row + 1]) - np.int64(index.offsets[row])
    bits = np.int64(6)
    while (np.int64(2) << bits) < 3 * total:  # two of three slots are taken if no term repeats; usually most do
        bits += 1
    direct = (np.int64(1) << bits) > 2 * terms
    mask = (np.int64(1) << bits) - 1
    slots = np.zeros(terms if direct else mask + 1, np.int64)
    found, counts = np.empty(min(total, terms), np.int64), np.empty(min(total, terms), np.int64)
    n = 0
    for row in rows:
        for j in range(index.offsets[row], index.offsets[row + 1]):
            t = np.int64(index.ids[j])
            at = t
            if not direct:
                at = ((t * np.int64(0x5BD1E995)) >> 12) & mask
                while slots[at] != 0 and (slots[at] >> 32) != t + 1:
                    at = (at + 1) & mask
            if slots[at] == 0:
                slots[at] = (t + 1) << 32
                found[n] = at
                n += 1
            slots[at] += 1
    for i in range(n):
        slot = slots[found[i]]
        found[i], counts[i] = (slot >> 32) - 1, slot & np.int64(0xFFFFFFFF)
    return found[:n], counts[:n]


@kernel
def kth_largest(counts: I64, k: int) -> int:
    """The k-th largest count, 0 if there are fewer."""
    most = np.int64(0)
    for count in counts:
        most = max(most, count)
    having = np.zeros(most + 1, np.int64)
    for count in counts:
        having[count] += 1
    seen = np.int64(0)
    while most > 0:
        seen += having[most]
        if seen >= k:
            return int(most)
        most -= 1
    return 0


@kernel
def most_frequent(terms: I64, counts: I64, k: int) -> tuple[I64, I64, int]:
    """The k terms with the highest counts, all ties at the k-th, and the highest count of any other."""
    least = max(1, kth_largest(counts, k))
    n, bound = 0, np.int64(0)
    kept, kept_counts = np.empty(terms.shape[0], np.int64), np.empty(terms.shape[0], np.int64)
    for i in range(terms.shape[0]):
        if counts[i] >= least:
            kept[n], kept_counts[n] = terms[i], counts[i]
            n += 1
        else:
            bound = max(bound, counts[i])
    return kept[:n].copy(), kept_counts[:n].copy(), int(bound)


@kernel
def rows_inside(index: PostingsArrays, boxes: F64, most: int) -> tuple[I64, int]:
    """All rows in the disjoint ``boxes`` and how many were tested; more than ``most`` of a cover: (nothing, -1)."""
    runs = np.empty((RUNS, 3), np.int64)
    out = np.empty(0, np.int64)
    n, looked = 0, 0
    for q in range(boxes.shape[0]):
        count = cover(index, boxes[q], FEW, SPLIT, runs)
        room = n
        for r in range(count):
            room += runs[r, 1] - runs[r, 0]
        if room > most:
            return out[:0], -1
        more = np.empty(room, np.int64)
        more[:n] = out[:n]
        out = more
        for r in range(count):
            inner = runs[r, 2] == 1
            looked += 0 if inner else runs[r, 1] - runs[r, 0]
            n = append_rows(index, runs[r, 0], runs[r, 1], False, ZERO, ZERO, boxes[q], inner, out, n)
    return out[:n], looked


@kernel
def top_terms(
    index: PostingsArrays, tables: TermTables, boxes: F64, k: int, named: int, few: int, candidates: int
) -> tuple[I64, I64, int, int]:
    """Terms of the rows in the disjoint ``boxes``, at least the k most frequent: (terms, counts, bound, looked at).

    Of at most ``few`` rows every term is counted. Of more the head, by prefix counts: that is all if no other term can
    be among the k. If at most ``candidates`` others can, they are counted by their postings, else again every term.
    """
    rows, looked = rows_inside(index, boxes, few)
    if looked < 0:
        counts, bound, looked = head_counts(index, tables, boxes)
        kth = kth_largest(counts, k)
        heads = counts.shape[0]
        if bound == 0 or kth > bound:
            n = 0
            met, met_counts = np.empty(heads, np.int64), np.empty(heads, np.int64)
            for j in range(heads):
                if counts[j] > 0:
                    met[n], met_counts[n] = index.heads[0, j], counts[j]
                    n += 1
            return met[:n], met_counts[:n], bound, looked
        rivals, others = 0, tables.runners.shape[1] - 1
        while rivals < others and rivals <= candidates and tables.runners[1, rivals] >= kth:
            rivals += 1
        if rivals <= candidates and tables.runners[1, rivals] < kth:
            terms, every = np.empty(heads + rivals, np.int64), np.empty(heads + rivals, np.int64)
            terms[:heads], terms[heads:] = index.heads[0], tables.runners[0, :rivals]
            more, read = posting_counts(index, terms[heads:], boxes, index.span[0], index.span[1])
            every[:heads], every[heads:] = counts, more
            return terms, every, min(bound, int(tables.runners[1, rivals])), looked + read
        rows, read = rows_inside(index, boxes, index.lon.shape[0])
        looked += read
    terms, counts = count_rows(index, rows)
    terms, counts, bound = most_frequent(terms, counts, named)
    return terms, counts, bound, looked + rows.shape[0]
