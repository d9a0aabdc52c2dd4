"""Equal rectangles, one per worker, whatever the workload: Tornado's baseline Uni-Space-Rout (section 5.1).

The paper says that the ranges come from a uniform grid. Ours: rows x columns is the factorisation of the number of
workers whose rectangles are nearest to squares in the units of the space; a prime number gives a single row or column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from sightline.model.space import Space
from sightline.partition.history import History
from sightline.partition.tiles.cuts import CutRouting

__all__ = ["UniformRouting", "rows_and_columns"]


@dataclass(frozen=True)
class UniformRouting(CutRouting):
    """One rectangle per worker, row by row from the south-west."""

    split: ClassVar[str] = "equal"
    fits: ClassVar[bool] = False

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        west, south, east, north = space.bounds
        rows, columns = rows_and_columns(workers, east - west, north - south)
        x, y = _edges(west, east, columns), _edges(south, north, rows)
        tiles = [(left, low, right, high) for low, high in pairwise(y) for left, right in pairwise(x)]
        return cls.of_tiles(tiles, space.bounds, workers)

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        return cls.start(space, workers)  # nothing depends on what came


def rows_and_columns(workers: int, width: float, height: float) -> tuple[int, int]:
    """The factors whose rectangles are nearest to squares; ties to the nearest factors, then to fewer rows."""
    found = []
    for rows in range(1, workers + 1):
        columns, rest = divmod(workers, rows)
        if rest == 0:
            across, up = width * rows, height * columns
            found.append((max(across, up) / min(across, up), abs(rows - columns), rows, columns))
    return min(found)[2:]


def _edges(low: float, high: float, parts: int) -> list[float]:
    """Where equal parts begin and the last ends; those that have no room in a float64 are left out."""
    inner = np.unique(low + (high - low) * (np.arange(1, parts) / parts))
    return [low, *inner[(inner > low) & (inner < high)].tolist(), high]
