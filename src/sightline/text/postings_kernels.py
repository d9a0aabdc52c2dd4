"""Kernels over postings: rows of (term number, count), in ascending order of terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

U16 = npt.NDArray[np.uint16]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


class RowSink(NamedTuple):
    """Postings under construction; ``place`` has a term's latest posting, -1 if it has none."""

    offsets: I64
    ids: I32
    counts: I32
    words: I32
    place: I64


@kernel
def sort_row(ids: I32, counts: I32 | U16, start: int, end: int) -> None:
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
def rarest_term(terms: I32, start: int, end: int, frequency: I32 | I64, hashes: I64) -> int:
    """The least frequent of ``terms[start:end]``, of equals the one with the lowest hash; -1 if there are none."""
    best = np.int64(-1)
    for j in range(start, end):
        term = np.int64(terms[j])
        rarer = best < 0 or frequency[term] < frequency[best]
        if rarer or (frequency[term] == frequency[best] and hashes[term] < hashes[best]):
            best = term
    return int(best)


@kernel
def rarest_terms(offsets: I64, terms: I32, hashes: I64, frequency: I64) -> I32:
    """:func:`rarest_term` of each list."""
    out = np.empty(offsets.size - 1, np.int32)
    for i in range(out.size):
        out[i] = rarest_term(terms, offsets[i], offsets[i + 1], frequency, hashes)
    return out


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
        sort_row(new_ids, new_counts, start, at)
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
            new_ids[at + j], new_counts[at + j] = ids[first + j], counts[first + j]
    for i in range(new_ids.size):
        number[new_ids[i]] = 0
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
    for i in range(offsets[0], offsets[-1]):
        ids[i] = remap[ids[i]]
    for row in range(offsets.size - 1):
        start, end = offsets[row], offsets[row + 1]
        ascending = True
        for i in range(start + 1, end):
            ascending &= ids[i - 1] < ids[i]
        if not ascending:
            sort_row(ids, counts, start, end)
