"""The fine grid, its rectangles, and their evaluators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sightline.flat.arrays import F64, I32, frozen
from sightline.model.space import Space
from sightline.partition._kernels import cells_of
from sightline.partition.a_grid.checks import queries_checked
from sightline.partition.a_grid.decompose import decomposed
from sightline.partition.cost.tornado import SummedCosts, cell_costs
from sightline.partition.history import History
from sightline.partition.tiles._kernels import leaves_by_grid, ranges_by_grid
from sightline.partition.tiles.routing import TiledRouting, dealt, painted

__all__ = ["AGridParams", "AGridRouting"]


@dataclass(frozen=True, slots=True)
class AGridParams:
    """The grid and how many rectangles it has."""

    side: int = 1000  # fine cells per side, Tornado section 5
    leaves_per_worker: int = 1  # N_e = workers, Tornado section 4.1; more are dealt heaviest first (ours)


DEFAULTS = AGridParams()


@dataclass(frozen=True)
class AGridRouting(TiledRouting):
    """One rectangle of fine cells per evaluator.

    Deviations: the paper has no objects at rest and no queries but range queries. Here an object is stored by its
    evaluator, nearest queries stand on all, and if no object of the sample is checked against any query (Eq. 1 is 0)
    the cost of a cell is the number of its objects.
    """

    split: ClassVar[str] = "cost"

    @classmethod
    def start(cls, space: Space, workers: int, params: AGridParams = DEFAULTS) -> Self:
        """Cells that cost nothing: the largest rectangle is halved again and again."""
        return cls._of_costs(SummedCosts.nothing(params.side, params.side), space, workers, params)

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int, params: AGridParams = DEFAULTS) -> Self:
        if not len(history.objects):
            return cls.start(space, workers, params)
        objects, bounds = history.objects, frozen(space.bounds, np.float64)
        checked = queries_checked(objects, history.standing, bounds)
        if not checked.any():
            checked = np.ones(len(checked), np.int64)
        cell = cells_of(frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), bounds, params.side)
        costs = cell_costs(cell, checked, params.side, params.side)
        return cls._of_costs(SummedCosts.of(costs), space, workers, params)

    @classmethod
    def _of_costs(cls, sums: SummedCosts, space: Space, workers: int, params: AGridParams) -> Self:
        spans = decomposed(sums, workers * params.leaves_per_worker)
        costs = np.array([sums.cost(span) for span in spans.tolist()], np.float64)
        raster = painted(spans, params.side, params.side)
        return cls(workers, np.array(space.bounds), raster, spans, dealt(costs, workers))

    def leaves_at(self, lon: F64, lat: F64) -> I32:
        return leaves_by_grid(frozen(lon, np.float64), frozen(lat, np.float64), self.bounds, self.raster)

    def ranges_of(self, box: F64) -> I32:
        rows, columns = self.raster.shape
        return ranges_by_grid(frozen(box, np.float64), self.bounds, columns, rows)

    def edges(self) -> tuple[F64, F64]:
        rows, columns = self.raster.shape
        west, south, east, north = self.bounds
        return np.linspace(west, east, columns + 1), np.linspace(south, north, rows + 1)
