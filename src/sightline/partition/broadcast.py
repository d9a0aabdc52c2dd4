"""Every object to every worker, every standing query on one: the reference without any index (Tornado's baseline).

Objects meet each query exactly once, because a query stands once. The owner of an object is drawn from its place, so
that equal objects have equal owners in any batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, frozen
from sightline.flat.records import FlatRecord
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.model.space import Space
from sightline.partition._kernels import owner_by_place
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning, leaf_rows
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes


@dataclass(frozen=True)
class BroadcastRouting(FlatRecord, Unlearning):
    """One leaf per worker; leaves have no place."""

    duplicates: ClassVar[bool] = False
    fits: ClassVar[bool] = False
    spreads: ClassVar[bool] = True

    workers: int
    bounds: F64  # west, south, east, north

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        return cls(workers, np.array(space.bounds))

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        return cls.start(space, workers)  # nothing depends on what came

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return self  # there is nothing to deal: every worker sees every object

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        n = len(objects.lon)
        owner = owner_by_place(frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), self.workers)
        row = np.tile(np.arange(n, dtype=np.int32), self.workers)
        worker = np.repeat(np.arange(self.workers, dtype=np.int32), n)
        return ObjectRoutes(owner, owner, row, worker)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        # Top-term queries count at the owner, and any worker may own: they stand everywhere.
        home = block.num % self.workers
        stands = home[None, :] == np.arange(self.workers)[:, None]
        stands[:, block.kind == KIND_TOP_TERMS] = True
        worker, query = np.nonzero(stands)
        return QueryRoutes(query.astype(np.int32), worker.astype(np.int32))

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        # A leaf has the objects of one worker, and any object may be there.
        query = np.repeat(np.arange(len(block), dtype=np.int32), self.workers)
        return QueryLeaves(query, np.tile(np.arange(self.workers, dtype=np.int32), len(block)))

    def leaf_table(self) -> pa.Table:
        return leaf_rows(np.arange(self.workers), "hash", *self.bounds)
