"""Cutting the fine grid into rectangles (Tornado 4.1), and finding where to cut one (4.3).

The rectangle of greatest cost leaves a priority queue and is cut where the greater of the two costs is least, until
there are as many rectangles as evaluators. The greater cost of two is least where their difference is, so this is also
the split of 4.3. Cells' prefix sums give the row and column aggregates of any rectangle of m x n cells in O(m + n), and
with them its best cut.

Ours:

* the paper stops when the costliest rectangle is a single cell; here it is put aside and the others are cut further;
* a rectangle whose cost is all in one cell gains nothing by a cut, so it waits like one without cost;
* among those the largest is cut first, then the lowest number;
* cuts with equal differences: the one across the longer side, then vertical, nearest the middle, lowest.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64
from sightline.partition.cost.tornado import Span, SummedCosts, largest_cost

__all__ = ["Split", "best_split", "decomposed"]


class Split(NamedTuple):
    """A cut between columns (vertical) or rows (horizontal) of a rectangle."""

    vertical: bool
    at: int  # columns or rows in the first part
    difference: int  # |cost(X1) - cost(X2)|


def best_split(columns: I64, rows: I64) -> Split | None:
    """The cut with the least alpha of its two parts, from the column and row aggregates; None for a single cell.

    The paper marks where the running sum passes half; both sides of the mark have to be compared, as here.
    """
    found = []
    for vertical, sums in ((True, columns), (False, rows)):
        parts = len(sums)
        if parts < 2:
            continue
        before = np.cumsum(sums)
        total = before[-1]
        alpha = largest_cost([before[:-1], total - before[:-1]])
        least = alpha.min()
        places = np.flatnonzero(alpha == least) + 1
        at = int(places[np.argmin(np.abs(2 * places - parts))])
        found.append((least, -parts, Split(vertical, at, int(2 * least - total))))
    return min(found, key=lambda one: one[:2])[2] if found else None


def decomposed(sums: SummedCosts, wanted: int) -> I32:
    """Spans of at most ``wanted`` rectangles; the part left of or below a cut keeps the number of the whole."""
    spans = [sums.whole]
    heap: list[tuple[int, int, int, Split]] = []
    _offer(heap, sums, 0, spans[0])
    while heap and len(spans) < wanted:
        _, _, number, split = heapq.heappop(heap)
        left, bottom, right, top = spans[number]
        if split.vertical:
            first, second = (left, bottom, left + split.at - 1, top), (left + split.at, bottom, right, top)
        else:
            first, second = (left, bottom, right, bottom + split.at - 1), (left, bottom + split.at, right, top)
        spans[number] = first
        spans.append(second)
        _offer(heap, sums, number, first)
        _offer(heap, sums, len(spans) - 1, second)
    return np.array(spans, np.int32)


def _offer(heap: list[tuple[int, int, int, Split]], sums: SummedCosts, number: int, span: Span) -> None:
    columns, rows = sums.columns(span), sums.rows(span)
    split = best_split(columns, rows)
    if split is not None:
        cost = sums.cost(span)
        gains = cost if split.difference < cost else 0
        heapq.heappush(heap, (-gains, -len(columns) * len(rows), number, split))
