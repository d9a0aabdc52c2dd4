"""Cutting a set of subscriptions again and again, the most costly piece first (section 3.2 and Alg. 2)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.partition.allocate import longest_first
from sightline.partition.cost.dkm_sks import subset_cost
from sightline.partition.subsets.division import SPATIAL, DivisionPlan
from sightline.partition.subsets.subscriptions import weights

__all__ = ["Subset", "enclosed", "hybrid_parts", "planned", "quarters", "split_until"]

Rectangle = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Subset:
    """Subscriptions S_r of a subspace r, ascending; the rectangle R around their balls; their costs for that R."""

    rows: I64
    space: Rectangle
    box: F64
    costs: F64
    split: int = SPATIAL
    total: float = field(init=False)  # C(S_r), Eq. 3 or 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", subset_cost(self.costs))


def split_until(root: Subset, wanted: int, split: Callable[[Subset], Sequence[Subset]]) -> list[Subset]:
    """Alg. 2 l. 1-4 and 18: split the most costly subset (ties: the older) until there are ``wanted``.

    A subset of which ``split`` makes nothing is final. The result is in descending order of cost.
    """
    heap, made = [(-root.total, 0, root)], 1
    final: list[tuple[float, int, Subset]] = []
    while heap and len(heap) + len(final) < wanted:
        front = heapq.heappop(heap)
        children = split(front[2])
        if not children:
            final.append(front)
        for child in children:
            heapq.heappush(heap, (-child.total, made, child))
            made += 1
    return [subset for _, _, subset in sorted(heap + final, key=lambda entry: entry[:2])]


def enclosed(boxes: F64, rows: I64) -> F64:
    """R: the rectangle around the rectangles of the given rows (one or more)."""
    chosen = boxes[rows]
    return np.concatenate([chosen[:, :2].min(axis=0), chosen[:, 2:].max(axis=0)])


def quarters(rows: I64, at: F64, space: Rectangle) -> list[tuple[I64, Rectangle]]:
    """SPACE-ONLY-PARTITION: the four equal quarters of r and who exists in each; empty quarters are dropped.

    Nothing if all exist at one point, or if floats end before the quarters do.
    """
    x, y = at[rows, 0], at[rows, 1]
    west, south, east, north = space
    middle_x, middle_y = (west + east) / 2.0, (south + north) / 2.0
    if x.min() == x.max() and y.min() == y.max():
        return []
    if middle_x in (west, east) and middle_y in (south, north):
        return []
    quarter = (x >= middle_x) + 2 * (y >= middle_y)
    spaces: list[Rectangle] = [
        (west, south, middle_x, middle_y),
        (middle_x, south, east, middle_y),
        (west, middle_y, middle_x, north),
        (middle_x, middle_y, east, north),
    ]
    return [(rows[quarter == q], spaces[q]) for q in range(4) if (quarter == q).any()]


def hybrid_parts(rows: I64, costs: F64, parts: int = 4) -> list[I64]:
    """HYBRID-PARTITION: the greedy algorithm over C(s) into four sets; empty ones are dropped."""
    part = longest_first(costs, parts)
    return [rows[part == p] for p in range(parts) if (part == p).any()]


def planned(subsets: Sequence[Subset], rows: I64, order: I64, worker: I32) -> DivisionPlan:
    """The plan in which entry ``order[i]`` of all subsets, one after the other, has ``worker[i]``.

    ``rows`` are the subscriptions divided, ascending.
    """
    sizes = [len(subset.rows) for subset in subsets]
    flat = np.searchsorted(rows, np.concatenate([subset.rows for subset in subsets]))
    number, workers, weight = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32), np.empty(len(rows))
    number[flat] = np.repeat(np.arange(len(subsets)), sizes)
    workers[flat[order]] = worker
    weight[flat] = weights(np.concatenate([subset.costs for subset in subsets]))
    box = np.array([subset.box for subset in subsets])
    return DivisionPlan(number, workers, weight, box, np.array([subset.split for subset in subsets], np.uint8))
