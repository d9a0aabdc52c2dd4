"""The fine grid, its rectangles, and their evaluators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sightline.index.arrays import F64, I32, I64, frozen
from sightline.model.space import Space
from sightline.partition.a_grid.cost import candidates, cell_costs, partition_cost, prefix_sums
from sightline.partition.a_grid.decompose import decomposed
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

    name: ClassVar[str] = "a-grid"
    split: ClassVar[str] = "cost"

    @classmethod
    def start(cls, space: Space, workers: int, params: AGridParams = DEFAULTS) -> Self:
        """Cells that cost nothing: the largest rectangle is halved again and again."""
        nothing = np.broadcast_to(np.int64(0), (params.side + 1, params.side + 1))
        return cls._of_costs(nothing, space, workers, params)

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int, params: AGridParams = DEFAULTS) -> Self:
        if not len(history.objects):
            return cls.start(space, workers, params)
        bounds = np.array(space.bounds)
        checked = candidates(history.objects, history.standing, bounds)
        if not checked.any():
            checked = np.ones(len(checked), np.int64)
        costs = cell_costs(history.objects.lon, history.objects.lat, checked, bounds, params.side)
        return cls._of_costs(prefix_sums(costs), space, workers, params)

    @classmethod
    def _of_costs(cls, sums: I64, space: Space, workers: int, params: AGridParams) -> Self:
        spans = decomposed(sums, workers * params.leaves_per_worker)
        costs = np.array([partition_cost(sums, span) for span in spans.tolist()], np.float64)
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
