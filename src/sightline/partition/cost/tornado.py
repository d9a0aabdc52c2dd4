"""Tornado's cost: queries checked, per cell of the fine grid and summed over rectangles of cells (section 4).

Notes
-----
The paper defines q_l as the queries that share a keyword with the object, and counts them where they are stored. A
query is posted under one keyword per conjunct, so what an evaluator checks are the queries posted under a term of the
object; those are counted (``_kernels.candidates_checked``), restricted to queries whose box holds the object's place
(ours: the grid of the local index does that before anything is checked).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightline.index.arrays import F64, I32, I64, frozen
from sightline.partition.cost._kernels import candidates_checked

__all__ = ["SummedCosts", "cell_costs", "checked", "largest_cost", "partition_cost"]


def checked(
    lon: F64, lat: F64, offsets: I64, ids: I32, starts: npt.ArrayLike, posted: npt.ArrayLike, box: npt.ArrayLike,
    wild: npt.ArrayLike = (),
) -> I64:  # fmt: skip
    """q_l of every object.

    ``offsets`` and ``ids`` are the objects' terms, ``posted[starts[t] : starts[t + 1]]`` rows of ``box`` (closed) of
    the queries posted under term t of the same numbering, ``wild`` rows that every object is checked against.
    """
    return candidates_checked(
        frozen(lon, np.float64), frozen(lat, np.float64), frozen(offsets, np.int64), frozen(ids, np.int32),
        frozen(starts, np.int64), frozen(posted, np.int32), frozen(box, np.float64), frozen(wild, np.int32),
    )  # fmt: skip


def cell_costs(cell: npt.ArrayLike, queries: npt.ArrayLike, cells: int) -> F64:
    """Equation 1: cost of every fine cell, the sum of q_l over the objects it received."""
    return np.bincount(np.asarray(cell, np.int64), np.asarray(queries, np.float64), cells).astype(np.float64)


def partition_cost(costs: npt.ArrayLike, xmin: int, ymin: int, xmax: int, ymax: int) -> float:
    """Equation 2: cost of a rectangle of cells, corners included; ``costs[y, x]``."""
    return float(np.asarray(costs, np.float64)[ymin : ymax + 1, xmin : xmax + 1].sum())


def largest_cost(costs: npt.ArrayLike) -> float:
    """Equation 3: alpha, the maximum over the partitions; what the initial decomposition keeps small."""
    values = np.asarray(costs, np.float64)
    return float(values.max()) if values.size else 0.0


@dataclass(frozen=True, eq=False)
class SummedCosts:
    """Prefix sums of cell costs: Equation 2 of any rectangle in O(1), of all its splits in O(m + n)."""

    prefix: F64  # [rows + 1, columns + 1]

    @classmethod
    def of(cls, costs: npt.ArrayLike) -> SummedCosts:
        """``costs[y, x]``."""
        values = np.asarray(costs, np.float64)
        prefix = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
        prefix[1:, 1:] = values.cumsum(0).cumsum(1)
        return cls(prefix)

    def cost(self, xmin: int, ymin: int, xmax: int, ymax: int) -> float:
        """Equation 2."""
        sums = self.prefix
        return float(sums[ymax + 1, xmax + 1] - sums[ymin, xmax + 1] - sums[ymax + 1, xmin] + sums[ymin, xmin])

    def columns(self, xmin: int, ymin: int, xmax: int, ymax: int) -> F64:
        """Aggregate of each column of a rectangle."""
        return np.diff(self.prefix[ymax + 1, xmin : xmax + 2] - self.prefix[ymin, xmin : xmax + 2])

    def rows(self, xmin: int, ymin: int, xmax: int, ymax: int) -> F64:
        """Aggregate of each row of a rectangle."""
        return np.diff(self.prefix[ymin : ymax + 2, xmax + 1] - self.prefix[ymin : ymax + 2, xmin])
