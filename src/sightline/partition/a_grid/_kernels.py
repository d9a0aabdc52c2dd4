"""Candidates that an index would check, counted without building it.

The pyramid has levels 0 to 10, of 4^level cells; its cells are numbered level by level, row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.jit import kernel
from sightline.partition._kernels import cell_of, cells_met

FINEST = 10  # 1024 x 1024, about the paper's fine grid
PYRAMID = (4 ** (FINEST + 1) - 1) // 3  # cells of all levels


class PyramidPostings(NamedTuple):
    """Per term the pyramid cells where conjuncts are posted under it, ascending, and how many.

    Term t has the entries ``first[t]:first[t + 1]``; the last term is the wildcard.
    """

    first: I64
    cell: I32
    posted: I64


@kernel
def pyramid_cell(level: int, column: int, row: int) -> int:
    """Number of a cell among all levels."""
    return ((1 << (2 * level)) - 1) // 3 + (row << level) + column


@kernel
def pyramid_keys(conj_query: I32, term: I32, piece_first: I64, piece_box: F64, bounds: F64) -> I64:
    """term * PYRAMID + cell of every posting: the finest level at which a box meets at most 2 x 2 cells."""
    boxes = 0
    for c in range(len(conj_query)):
        boxes += piece_first[conj_query[c] + 1] - piece_first[conj_query[c]]
    out = np.empty(4 * boxes, np.int64)
    n = 0
    for c in range(len(conj_query)):
        for p in range(piece_first[conj_query[c]], piece_first[conj_query[c] + 1]):
            left, bottom, right, top = cells_met(piece_box[p], bounds, 1 << FINEST, 1 << FINEST)
            level = FINEST
            while right - left > 1 or top - bottom > 1:
                left, bottom, right, top = left >> 1, bottom >> 1, right >> 1, top >> 1
                level -= 1
            for row in range(bottom, top + 1):
                for column in range(left, right + 1):
                    out[n] = np.int64(term[c]) * PYRAMID + pyramid_cell(level, column, row)
                    n += 1
    return out[:n]


@kernel
def _posted_at(postings: PyramidPostings, term: int, cell: int) -> int:
    low, high = postings.first[term], postings.first[term + 1]
    while low < high:
        middle = (low + high) >> 1
        if postings.cell[middle] < cell:
            low = middle + 1
        else:
            high = middle
    if low < postings.first[term + 1] and postings.cell[low] == cell:
        return int(postings.posted[low])
    return 0


@kernel
def candidates_checked(
    lon: F64, lat: F64, bounds: F64, offsets: I64, ids: I32, term_of: I32, postings: PyramidPostings
) -> I64:
    """q_l: conjuncts posted under a term of the object, or under none, in a pyramid cell that holds it."""
    wildcard = len(postings.first) - 2
    out = np.zeros(len(lon), np.int64)
    for i in range(len(lon)):
        column = cell_of(lon[i], bounds[0], bounds[2], 1 << FINEST)
        row = cell_of(lat[i], bounds[1], bounds[3], 1 << FINEST)
        for j in range(offsets[i], offsets[i + 1] + 1):
            term = wildcard
            if j < offsets[i + 1]:
                term = term_of[ids[j]]
            if term < 0 or postings.first[term] == postings.first[term + 1]:
                continue
            for level in range(FINEST + 1):
                up = FINEST - level
                out[i] += _posted_at(postings, term, pyramid_cell(level, column >> up, row >> up))
    return out
