"""What the three ways to divide subscriptions share: objects go everywhere, a subscription stands once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64, places_in
from sightline.flat.records import Arrays, FlatRecord
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.model.space import Space
from sightline.partition.allocate import in_turn
from sightline.partition.broadcast import BroadcastRouting
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes
from sightline.partition.sample import ObjectSample
from sightline.partition.subsets.division import Division, DivisionPlan
from sightline.partition.subsets.later import Later
from sightline.partition.subsets.subscriptions import Subscriptions, weights

__all__ = ["SubsetRouting"]


@dataclass(frozen=True, eq=False)
class SubsetRouting(FlatRecord, Unlearning, ABC):
    """Every object to every worker (DkM-SKS section 2), its owner by place; subscriptions divided by cost.

    Subscriptions of the history stand where the fit put them. Each new one goes to the worker with the least C(w),
    which then grows by its cost; a deletion lowers it (:meth:`settled`; sections 3.1, 3.2 and 4.4). Where a
    subscription stands is its own: the company it is asked about in changes nothing.

    Deviations (ours). The paper divides nearest queries; range queries are divided alike, top-term queries count at
    the owners of objects and stand everywhere. A number that is unknown, because it was never settled, stands where
    the next one would go: with the least C(w). Before there are objects costs are unknown, and subscriptions are dealt
    by number. O_init, which the paper keeps in the main server, is part of the routing.

    Leaves: first one per worker with the objects it owns, then the parts of the subsets. A subscription of the history
    is in its part; a later one has no subset and visits its worker's own leaf; what is unknown visits all owners.
    """

    duplicates: ClassVar[bool] = False
    spreads: ClassVar[bool] = True

    workers: int
    space: Space
    sample: Annotated[ObjectSample, "sample_"]
    division: Annotated[Division, "division_"]
    later: Later = field(default_factory=Later.nothing)  # of the running process; no file has it

    @staticmethod
    @abstractmethod
    def plan(subscriptions: Subscriptions, rows: I64, workers: int) -> DivisionPlan:
        """The division of the given rows."""

    @abstractmethod
    def new_costs(self, subscriptions: Subscriptions) -> F64:
        """C(s) times |O_init| of subscriptions that the fit has not seen; there are objects."""

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        return cls(workers, space, ObjectSample.empty(space.is_geographic), Division.empty())

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        if len(history.objects) == 0:
            return cls.start(space, workers)
        sample = ObjectSample.of(history.objects, space.is_geographic)
        block = history.standing
        rows = np.flatnonzero(block.kind != KIND_TOP_TERMS)
        if len(rows) == 0:
            return cls(workers, space, sample, Division.empty())
        plan = cls.plan(Subscriptions.of(block, sample, space), rows, workers)
        return cls(workers, space, sample, Division.of(block, rows, plan, workers))

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        """The parts dealt anew on top of what the workers do as owners, which stays.

        Parts own nothing. To their loads come the matches to be expected among as many objects as the owners have had.
        """
        owners, parts = loads[: self.workers], loads[self.workers :]
        matches = self.division.cost * (owners.sum() / max(1, len(self.sample)))
        return replace(self, division=self.division.reassigned(parts + matches, owners), later=Later.nothing())

    def settled(self, new: QueryBlock, dropped: I64) -> Self:
        """The same routing after subscriptions were registered, in the order of their block, and others dropped."""
        if len(self.sample) == 0:
            return self
        left = replace(self, later=self.later.without(dropped))
        unknown = (self.division.parts_of(new.num) < 0) & (places_in(left.later.num, new.num) < 0)
        rows = np.flatnonzero(unknown & (new.kind != KIND_TOP_TERMS))
        if len(rows) == 0:
            return left
        fresh = new if len(rows) == len(new) else new.take(rows)
        costs = weights(self.new_costs(Subscriptions.of(fresh, self.sample, self.space)))
        worker = in_turn(costs, left.loads(), np.bincount(left.later.worker, minlength=self.workers))
        return replace(left, later=left.later.with_new(fresh.num, worker, costs))

    def loads(self) -> F64:
        """C(w) of every worker: its subscriptions of the fit that still stand, and those that came later."""
        return self.division.loads(self.workers, self.later.gone) + self.later.loads(self.workers)

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
        num = block.num[rows]
        if len(self.sample) == 0:
            return (num % self.workers).astype(np.int32)
        home = np.full(len(rows), np.argmin(self.loads()), np.int32)
        part, late = self.division.parts_of(num), places_in(self.later.num, num)
        home[part >= 0] = self.division.worker[part[part >= 0]]
        home[late >= 0] = self.later.worker[late[late >= 0]]
        return home

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        part, late = self.division.parts_of(block.num), places_in(self.later.num, block.num)
        leaf = np.full(len(block), -1, np.int64)
        leaf[part >= 0] = self.workers + part[part >= 0]
        leaf[late >= 0] = self.later.worker[late[late >= 0]]
        leaf[block.kind == KIND_TOP_TERMS] = -1
        placed, others = np.flatnonzero(leaf >= 0), np.flatnonzero(leaf < 0)
        query = np.concatenate([placed, np.repeat(others, self.workers)])
        visited = np.concatenate([leaf[placed], np.tile(np.arange(self.workers), len(others))])
        order = np.lexsort((visited, query))
        return QueryLeaves(query[order].astype(np.int32), visited[order].astype(np.int32))

    def owners_of(self, block: QueryBlock) -> QueryLeaves:
        """Any worker may own what a query finds, whatever its number: owners are drawn by place."""
        return self._owners.leaves_of(block)

    def leaf_table(self) -> pa.Table:
        return pa.concat_tables([self._owners.leaf_table(), self.division.leaf_rows(self.workers)])

    def to_arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        return super().to_arrays(prefix) | {f"{prefix}bounds": np.array(self.space.bounds, np.float64)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, *given: Any, prefix: str = "") -> Self:
        west, south, east, north = arrays[f"{prefix}bounds"].tolist()
        system = "geographic" if arrays[f"{prefix}sample_geographic"][0] else "planar"
        return super().from_arrays(arrays, Space(system, (west, south, east, north)), prefix=prefix)
