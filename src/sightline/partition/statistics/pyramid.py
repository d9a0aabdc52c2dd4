"""The complete quadtree: cells of all levels, their numbers, and counts over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, frozen
from sightline.partition.statistics._kernels import count_points, covering_cells

__all__ = ["Pyramid", "StatisticsParams"]


@dataclass(frozen=True, slots=True)
class StatisticsParams:
    """Sizes of the statistics; none is given in the paper."""

    levels: int = 7  # cells of the last level are 1/128 of the space wide
    terms: int = 65_536  # keywords kept of M_srq and M_skq
    sample: int = 2_000  # nearest queries evaluated per call


@dataclass(frozen=True, slots=True)
class Pyramid:
    """Levels 0 to ``levels`` over ``bounds``; level l has 4^l equal cells.

    Cells are numbered level by level from the root, 0, and row-major from the south-west inside a level.
    """

    bounds: tuple[float, float, float, float]
    levels: int

    @property
    def cells(self) -> int:
        """How many there are: (4^(levels + 1) - 1) / 3."""
        return self.first(self.levels + 1)

    @staticmethod
    def first(level: int) -> int:
        """Number of the first cell of a level."""
        return ((1 << (2 * level)) - 1) // 3

    def level_of(self, cells: npt.ArrayLike) -> I64:
        """Level of each cell."""
        firsts = np.array([self.first(level) for level in range(1, self.levels + 1)], np.int64)
        return np.searchsorted(firsts, np.asarray(cells), side="right").astype(np.int64)

    def boxes_of(self, cells: npt.ArrayLike) -> F64:
        """West, south, east, north of each cell."""
        number = np.asarray(cells, np.int64).reshape(-1)
        level = self.level_of(number)
        place = number - ((1 << (2 * level)) - 1) // 3
        column, row, side = place & ((1 << level) - 1), place >> level, (1 << level).astype(np.float64)
        west, south, east, north = self.bounds
        width, height = (east - west) / side, (north - south) / side
        x, y = west + column * width, south + row * height
        return np.column_stack([x, y, x + width, y + height])

    def covering(self, boxes: npt.ArrayLike) -> I32:
        """The smallest cell that covers each box (of the leaf of another tree, open to the east and north).

        The box of a cell gives that cell; a box inside a cell of the last level gives that one. Edges within a
        millionth of a cell's width of an edge of a cell lie on it, so halving in another order does no harm.
        """
        given = np.reshape(np.asarray(boxes, np.float64), (-1, 4))
        return covering_cells(frozen(given, np.float64), frozen(self.bounds, np.float64), self.levels)

    def children(self, cells: npt.ArrayLike) -> I64:
        """The four cells below each (south-west, south-east, north-west, north-east), [n, 4]; not below the last."""
        number = np.asarray(cells, np.int64).reshape(-1)
        level = self.level_of(number)
        place = number - ((1 << (2 * level)) - 1) // 3
        x, y = 2 * (place & ((1 << level) - 1)), 2 * (place >> level)
        first, side = ((1 << (2 * level + 2)) - 1) // 3, 1 << (level + 1)
        south = first + y * side + x
        return np.column_stack([south, south + 1, south + side, south + side + 1])

    def in_last_level(self, lon: F64, lat: F64) -> I64:
        """Points in each cell of the last level."""
        bounds = frozen(self.bounds, np.float64)
        return count_points(frozen(lon, np.float64), frozen(lat, np.float64), bounds, 1 << self.levels)

    def upward(self, counts: I64) -> F64:
        """Counts of the cells of every level from those of the last."""
        side = 1 << self.levels
        parts = [counts.astype(np.float64)]
        while side > 1:
            side //= 2
            parts.append(parts[-1].reshape(side, 2, side, 2).sum((1, 3)).reshape(-1))
        return np.concatenate(parts[::-1])

    @property
    def marks(self) -> int:
        """Length of the differences from which :meth:`from_marks` makes counts of all cells."""
        return sum(((1 << level) + 1) ** 2 for level in range(self.levels + 1))

    def from_marks(self, marks: I64) -> F64:
        """Counts [rows, cells] from the differences that ``_kernels.mark_boxes`` wrote."""
        out, first = [], 0
        for level in range(self.levels + 1):
            width = (1 << level) + 1
            grid = marks[:, first : first + width * width].reshape(-1, width, width)
            out.append(grid.cumsum(1).cumsum(2)[:, :-1, :-1].reshape(len(marks), -1))
            first += width * width
        return np.concatenate(out, axis=1).astype(np.float64)
