"""Tornado's cost: queries checked, per cell of the fine grid, summed over rectangles of cells (Equations 1-3).

What q_l is, the queries an object is checked against, is the partitioner's to count
(:mod:`sightline.partition.a_grid.checks`). Costs are whole numbers, so sums over rectangles are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I64

__all__ = ["Span", "SummedCosts", "cell_costs", "largest_cost"]

Span = tuple[int, int, int, int]  # left column, bottom row, right column, top row, ends included


def cell_costs(cell: npt.ArrayLike, checked: npt.ArrayLike, rows: int, columns: int) -> I64:
    """Equation 1: cost of every fine cell, the sum of q_l over the objects in it; [rows, columns].

    ``cell`` is the row-major cell of each object and ``checked`` its q_l.
    """
    # Sums of integers are exact in float64 below 2^53.
    sums = np.bincount(np.asarray(cell, np.int64), np.asarray(checked, np.float64), rows * columns)
    return sums.astype(np.int64).reshape(rows, columns)


@dataclass(frozen=True, eq=False)
class SummedCosts:
    """Prefix sums of cell costs: Equation 2 of any rectangle in O(1), of its m columns and n rows in O(m + n)."""

    prefix: I64  # [rows + 1, columns + 1]: the cost of all cells below a row and left of a column

    @classmethod
    def of(cls, costs: npt.ArrayLike) -> Self:
        """From the cost of every cell, [rows, columns]."""
        values = np.asarray(costs, np.int64)
        prefix = np.zeros((values.shape[0] + 1, values.shape[1] + 1), np.int64)
        np.cumsum(values, axis=0, out=prefix[1:, 1:])
        np.cumsum(prefix[1:, 1:], axis=1, out=prefix[1:, 1:])
        return cls(prefix)

    @classmethod
    def nothing(cls, rows: int, columns: int) -> Self:
        """Cells that cost nothing."""
        return cls(np.broadcast_to(np.int64(0), (rows + 1, columns + 1)))

    @property
    def whole(self) -> Span:
        """All cells."""
        rows, columns = self.prefix.shape
        return 0, 0, columns - 2, rows - 2

    def cost(self, span: Span) -> int:
        """Equation 2: cost of a partition, the sum over the cells of its rectangle."""
        left, bottom, right, top = span
        sums = self.prefix
        return int(sums[top + 1, right + 1] - sums[bottom, right + 1] - sums[top + 1, left] + sums[bottom, left])

    def columns(self, span: Span) -> I64:
        """Aggregate of each column of a rectangle."""
        left, bottom, right, top = span
        return np.diff(self.prefix[top + 1, left : right + 2] - self.prefix[bottom, left : right + 2])

    def rows(self, span: Span) -> I64:
        """Aggregate of each row of a rectangle."""
        left, bottom, right, top = span
        return np.diff(self.prefix[bottom : top + 2, right + 1] - self.prefix[bottom : top + 2, left])


def largest_cost(costs: npt.ArrayLike) -> I64:
    """Equation 3: alpha, the cost of the costliest partition, which a decomposition keeps small.

    ``costs`` is [partitions], or [partitions, n] for n decompositions.
    """
    return np.asarray(np.max(np.asarray(costs, np.int64), axis=0, initial=0))
