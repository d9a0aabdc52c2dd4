"""The workload of SSTD's Eq. 2, counted on what the workers of any partitioning get.

The paper estimates: the probability that a query of a type meets a partition, times the objects it has there. Here
objects and queries are routed, and every pair is counted:

* a search (SRQ, SKQ, STQ) meets the leaves whose box meets its region, and there the objects that the leaf owns; SRQ
  and SKQ only where the terms of these objects cover its keywords (Eq. 1, with the actual terms for a probability);
* a standing query (CRQ, CKQ) meets, on every worker it stands on, the objects that are sent there out of leaves whose
  box meets its region; a CTQ the owned ones of them, since it counts at owners.

The region of a nearest query is the circle of its k-th distance among the objects, everything where fewer than k
match. A leaf is where an object is *owned*; schemes that divide terms or queries have leaves without a place, whose
box is the whole space. Sent is what the route stage sends: not what nobody at a worker waits for (Tornado's summary).

Divided by the number of queries this is Eq. 2 summed over all partitions: the objects that a random query is compared
with. It says nothing of what an index inside the worker saves; the makespan does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sightline.bench.six_types import SixTypes
from sightline.bench.workload import table_of
from sightline.flat.arrays import F64, I32, I64, U8, Flag, offsets_of
from sightline.geo.bounds import table_pieces
from sightline.geo.region_table import RegionTable
from sightline.index.objects.segment import Segment, build_segment
from sightline.index.protocol import NO_BOUND, Conjunct, ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS, QueryBlock
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.protocol import ObjectRoutes, QueryRoutes, Routing
from sightline.partition.statistics.distribution import TYPES
from sightline.stages.registered.summary import awaited, summarise

__all__ = ["Regions", "WorkerChecks", "Yardstick", "kth_distances", "search_regions"]

_CELLS = 1 << 22  # pairs of query and leaf looked at together


class Regions(NamedTuple):
    """Boxes of queries: those of query i are ``box[offsets[i]:offsets[i + 1]]``, one or two."""

    offsets: I64
    box: F64

    def meet(self, low: int, high: int, leaves: F64) -> Flag:
        """met[i, j]: a box of query low + i meets leaf j; all boxes are closed."""
        box = self.box[self.offsets[low] : self.offsets[high]]
        west, south, east, north = leaves.T
        met = (box[:, :1] <= east) & (box[:, 2:3] >= west) & (box[:, 1:2] <= north) & (box[:, 3:] >= south)
        any_box: Flag = np.logical_or.reduceat(met, self.offsets[low:high] - self.offsets[low], axis=0)
        return any_box


class WorkerChecks(NamedTuple):
    """``checks[w, t]``: objects that the queries of type t are compared with at worker w; and what was sent."""

    checks: F64
    queries: int
    sent: int

    @property
    def total(self) -> float:
        """Objects that a random query is compared with, over all workers (Eq. 2)."""
        return float(self.checks.sum() / self.queries)

    @property
    def by_type(self) -> dict[str, float]:
        """The shares of the types in the total."""
        return dict(zip(TYPES, (self.checks.sum(axis=0) / self.queries).tolist(), strict=True))

    @property
    def max_over_mean(self) -> float | None:
        """The most loaded worker's load over the mean; None without any load."""
        load = self.checks.sum(axis=1)
        return float(load.max() / load.mean()) if load.max() > 0 else None

    @property
    def max_over_min(self) -> float | None:
        """The most loaded worker's load over the least loaded one's; None where a worker has no load (infinite)."""
        load = self.checks.sum(axis=1)
        return float(load.max() / load.min()) if load.min() > 0 else None


class Yardstick:
    """Everything of a data set that does not depend on the partitioning."""

    def __init__(self, world: SixTypes, space: Space) -> None:
        self._objects, self._standing, self._asked = world.objects, world.history.standing, world.asked
        together = QueryBlock.concat([self._standing, self._asked])
        regions = search_regions(together, self._objects, space)
        n = len(self._standing)
        self._standing_regions = Regions(regions.offsets[: n + 1], regions.box)
        self._asked_regions = Regions(regions.offsets[n:] - regions.offsets[n], regions.box[regions.offsets[n] :])

    def of(self, routing: Routing) -> WorkerChecks:
        """The workload of a routing."""
        routes = routing.router().route_objects(self._objects)
        return self.measure(routing, routes, routing.route_queries(self._standing))

    def measure(self, routing: Routing, objects: ObjectRoutes, queries: QueryRoutes) -> WorkerChecks:
        """The workload of a routing that gave these routes to the objects and standing queries of the data set."""
        kept = objects.owner[objects.row] == objects.worker
        if not kept.all():  # some are sent to others than their owner
            summary = summarise(self._standing, routing)
            kept |= awaited([summary], self._objects.terms, objects.row, objects.worker)
        row, worker, m = objects.row[kept], objects.worker[kept], routing.workers
        leaves, place = np.unique(objects.leaf, return_inverse=True)
        table = routing.leaf_table()
        boxes = np.column_stack([table[side].to_numpy()[leaves] for side in ("west", "south", "east", "north")])
        owned = _counts(place, objects.owner, len(leaves), m)
        sent = _counts(place[row], worker, len(leaves), m)
        checks = np.zeros((m, len(TYPES)))
        self._add_searches(checks, boxes, owned, place)
        self._add_standing(checks, boxes, owned, sent, queries)
        return WorkerChecks(checks, len(self._standing) + len(self._asked), int(kept.sum()))

    def _add_searches(self, checks: F64, boxes: F64, owned: F64, place: I64) -> None:
        block = self._asked
        has = _terms_of_leaves(self._objects, place, len(boxes), block)
        conjuncts = offsets_of(block.conj_query, len(block))
        for low, high in _parts(len(block), len(boxes)):
            met = self._asked_regions.meet(low, high, boxes)
            kind = block.kind[low:high]
            worded = kind != KIND_TOP_TERMS
            met[worded] &= _covered(block, conjuncts, low, high, has)[worded]
            _add(checks, ("srq", "skq", "stq"), kind, met.astype(np.float64) @ owned)

    def _add_standing(self, checks: F64, boxes: F64, owned: F64, sent: F64, queries: QueryRoutes) -> None:
        block = self._standing
        stands = np.zeros((len(block), owned.shape[1]), np.bool_)
        stands[queries.query, queries.worker] = True
        for low, high in _parts(len(block), len(boxes)):
            met = self._standing_regions.meet(low, high, boxes).astype(np.float64)
            counted = (block.kind[low:high] == KIND_TOP_TERMS)[:, None]
            found = np.where(counted, met @ owned, met @ sent) * stands[low:high]
            _add(checks, ("crq", "ckq", "ctq"), block.kind[low:high], found)


def search_regions(block: QueryBlock, objects: ObjectColumns, space: Space) -> Regions:
    """The boxes of a block, those of nearest queries around the circle of their k-th distance."""
    nearest = np.flatnonzero(block.kind == KIND_NEAREST)
    radius = kth_distances(block, nearest, objects, space)
    bounded, reach = nearest[radius < NO_BOUND], radius[radius < NO_BOUND]
    circles = RegionTable.from_circles(block.at[bounded, 0], block.at[bounded, 1], reach)
    owner, box = table_pieces(circles, space)
    whole = np.ones(len(block), np.bool_)
    whole[bounded] = False
    keep = whole[block.piece_query]
    query = np.concatenate([block.piece_query[keep], bounded[owner]])
    order = np.argsort(query, kind="stable")
    return Regions(offsets_of(query, len(block)), np.concatenate([block.piece_box[keep], box])[order])


def kth_distances(block: QueryBlock, rows: I64, objects: ObjectColumns, space: Space) -> I64:
    """Distance in millimetres of the k-th nearest match of some nearest queries, NO_BOUND where fewer match."""
    segment = Segment.from_data(build_segment(objects, table_of(objects, text=False), bounds=space.bounds))
    number = segment.dictionary.lookup(block.dictionary)
    conjuncts = offsets_of(block.conj_query, len(block))
    radius = np.full(len(rows), NO_BOUND, np.int64)
    for i, row in enumerate(rows.tolist()):
        possible: list[Conjunct] = []
        for one in range(int(conjuncts[row]), int(conjuncts[row + 1])):
            positive = number[block.pos[block.pos_offsets[one] : block.pos_offsets[one + 1]]]
            negative = number[block.neg[block.neg_offsets[one] : block.neg_offsets[one + 1]]]
            if (positive >= 0).all():
                possible.append((positive.tolist(), negative[negative >= 0].tolist()))
        if possible:
            k, at = int(block.k[row]), (float(block.at[row, 0]), float(block.at[row, 1]))
            _, distance = segment.index.nearest(possible, at, k, MIN_US, MAX_US, space)
            if len(distance) >= k:
                radius[i] = distance[k - 1]
    return radius


def _counts(place: I64, worker: I32, leaves: int, workers: int) -> F64:
    flat = np.bincount(place * workers + worker, minlength=leaves * workers)
    return flat.reshape(leaves, workers).astype(np.float64)


def _terms_of_leaves(objects: ObjectColumns, place: I64, leaves: int, block: QueryBlock) -> Flag:
    """has[t, leaf]: an object that the leaf owns has term t of the block."""
    number = block.dictionary.lookup(objects.terms.dictionary)[objects.terms.ids]
    leaf = np.repeat(place, np.diff(objects.terms.offsets))
    has = np.zeros((len(block.dictionary), leaves), np.bool_)
    has[number[number >= 0], leaf[number >= 0]] = True
    return has


def _covered(block: QueryBlock, conjuncts: I64, low: int, high: int, has: Flag) -> Flag:
    """covered[i, leaf]: the leaf has all positive terms of some conjunct of query low + i."""
    first, last = int(conjuncts[low]), int(conjuncts[high])
    starts, sizes = block.pos_offsets[first:last], np.diff(block.pos_offsets[first : last + 1])
    all_terms = np.ones((last - first, has.shape[1]), np.bool_)
    for nth in range(int(sizes.max(initial=0))):
        some = np.flatnonzero(sizes > nth)
        all_terms[some] &= has[block.pos[starts[some] + nth]]
    any_conjunct: Flag = np.logical_or.reduceat(all_terms, conjuncts[low:high] - first, axis=0)
    return any_conjunct


def _add(checks: F64, types: tuple[str, str, str], kind: U8, found: F64) -> None:
    for number, name in zip((KIND_RANGE, KIND_NEAREST, KIND_TOP_TERMS), types, strict=True):
        checks[:, TYPES.index(name)] += found[kind == number].sum(axis=0)


def _parts(queries: int, leaves: int) -> Iterator[tuple[int, int]]:
    step = max(1, _CELLS // max(leaves, 1))
    for low in range(0, queries, step):
        yield low, min(queries, low + step)
