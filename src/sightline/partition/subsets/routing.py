"""What the three ways to divide subscriptions share: objects go everywhere, a subscription stands once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.arrays import F64, I32, I64
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.model.space import Space
from sightline.partition.broadcast import BroadcastRouting
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning
from sightline.partition.protocol import Arrays, ObjectRoutes, QueryLeaves, QueryRoutes
from sightline.partition.subsets.division import Division, Plan
from sightline.partition.subsets.greedy import in_turn, weights
from sightline.partition.subsets.sample import Sample
from sightline.partition.subsets.subscriptions import Subscriptions

__all__ = ["SubsetRouting"]


@dataclass(frozen=True, eq=False)
class SubsetRouting(Unlearning, ABC):
    """Every object to every worker (DkM-SKS section 2), its owner by place; subscriptions divided by cost.

    Subscriptions of the history stand where the fit put them. A new one goes to the worker with the least C(w), which
    then grows by its cost (sections 3.1, 3.2 and 4.4): in the order of the block, from the loads of the fit.

    Deviations (ours). The paper divides nearest queries; range queries are divided alike, top-term queries count at
    the owners of objects and stand everywhere. The routing is frozen: it does not see deletions, nor the new
    subscriptions of earlier blocks; the next fit does. Costs are kept times |O_init|, which keeps sums of Eq. 1 and 5
    whole numbers and ties exact. Before there are objects costs are unknown, and subscriptions are dealt by number.

    Leaves: first one per worker with the objects it owns, then the parts of the subsets. A subscription of the history
    is in its part; the others, and queries that are asked, have no subset and visit the leaves of all owners.
    """

    name: ClassVar[str]
    duplicates: ClassVar[bool] = False
    spreads: ClassVar[bool] = True

    workers: int
    space: Space
    sample: Sample
    division: Division

    @staticmethod
    @abstractmethod
    def plan(subscriptions: Subscriptions, rows: I64, workers: int) -> Plan:
        """The division of the given rows."""

    @abstractmethod
    def new_costs(self, subscriptions: Subscriptions) -> F64:
        """C(s) times |O_init| of subscriptions that the fit has not seen; there are objects."""

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        return cls(workers, space, Sample.empty(space.is_geographic), Division.empty())

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        if len(history.objects) == 0:
            return cls.start(space, workers)
        sample = Sample.of(history.objects, space.is_geographic)
        block = history.standing
        rows = np.flatnonzero(block.kind != KIND_TOP_TERMS)
        if len(rows) == 0:
            return cls(workers, space, sample, Division.empty())
        plan = cls.plan(Subscriptions.of(block, sample, space), rows, workers)
        return cls(workers, space, sample, Division.of(block, rows, plan, workers))

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        """The parts dealt anew on top of what the workers do as owners, which stays."""
        owners, parts = loads[: self.workers], loads[self.workers :]
        return replace(self, division=self.division.reassigned(parts, owners))

    @property
    def _owners(self) -> BroadcastRouting:
        return BroadcastRouting.start(self.space, self.workers)

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        return self._owners.route_objects(objects)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        everywhere = block.kind == KIND_TOP_TERMS
        once, counting = np.flatnonzero(~everywhere), np.flatnonzero(everywhere)
        query = np.concatenate([once, np.repeat(counting, self.workers)])
        worker = np.concatenate([self._homes(block, once), np.tile(np.arange(self.workers), len(counting))])
        order = np.lexsort((query, worker))
        return QueryRoutes(query[order].astype(np.int32), worker[order].astype(np.int32))

    def _homes(self, block: QueryBlock, rows: I64) -> I32:
        """The one worker of each of the given rows."""
        part = self.division.parts_of(block.num[rows])
        home = np.empty(len(rows), np.int32)
        home[part >= 0] = self.division.worker[part[part >= 0]]
        new = part < 0
        if not new.any():
            return home
        if len(self.sample) == 0:
            home[new] = block.num[rows[new]] % self.workers
            return home
        fresh = block if len(block) == np.count_nonzero(new) else block.take(rows[new])
        costs = weights(self.new_costs(Subscriptions.of(fresh, self.sample, self.space)))
        home[new] = in_turn(costs, self.division.loads(self.workers))
        return home

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        part = np.where(block.kind == KIND_TOP_TERMS, -1, self.division.parts_of(block.num))
        placed, others = np.flatnonzero(part >= 0), np.flatnonzero(part < 0)
        query = np.concatenate([placed, np.repeat(others, self.workers)])
        leaf = np.concatenate([self.workers + part[placed], np.tile(np.arange(self.workers), len(others))])
        order = np.lexsort((leaf, query))
        return QueryLeaves(query[order].astype(np.int32), leaf[order].astype(np.int32))

    def leaf_table(self) -> pa.Table:
        return pa.concat_tables([self._owners.leaf_table(), self.division.leaf_rows(self.workers)])

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        plain: dict[str, npt.NDArray[np.generic]] = {
            "workers": np.array([self.workers]),
            "bounds": np.asarray(self.space.bounds, np.float64),
        }
        return plain | self.sample.to_arrays("sample_") | self.division.to_arrays("division_")

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        sample = Sample.from_arrays(arrays, "sample_")
        west, south, east, north = (float(side) for side in np.asarray(arrays["bounds"], np.float64))
        space = Space("geographic" if sample.geographic else "planar", (west, south, east, north))
        return cls(int(arrays["workers"][0]), space, sample, Division.from_arrays(arrays, "division_"))
