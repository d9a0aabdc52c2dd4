"""Inverted file over nearest queries: the index of KOP (DkM-SKS section 3.1), and the ground of ``balls``.

A postings list per term holds the queries that contain it; an object looks at every entry of the lists of its terms
and compares distance and radius. That is all the paper prunes by here, and it is the baseline: entries are inlined
and scanned in sequence, so it is as fast as such a list gets.

Deviations: a query is a DNF, not a set of alternatives, so each conjunct is posted once, under its rarest term, and
its other terms are verified; radii shrink within a call (SSTD section 6.1, there between calls).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F32, I32, I64, frozen, offsets_of
from sightline.flat.records import FlatRecord
from sightline.index._kernels import Conjuncts
from sightline.index.protocol import NearestBounds, NearestPairs, ObjectColumns
from sightline.index.standing import inverted_kernels as _kernels
from sightline.index.standing._kernels import key_terms
from sightline.index.standing.batches import object_batch
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.inverted_kernels import (
    SLACK,
    InvertedArrays,
    KeptDistances,
    NearestScratch,
    Objects,
    Output,
    Reaches,
)
from sightline.index.standing.keywords import spread_rows
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.text.dictionary import TermDictionary

__all__ = ["InvertedIndex", "NearestKernel", "Reach", "inverted_file", "kept_of", "places_of"]

#: Over the index, lists, reaches, what is kept and objects from a place on: (place to resume at, pairs, entries).
NearestKernel = Callable[..., tuple[int, int, int]]
FIRST_ROOM = 1 << 18  # pairs of the first output buffer; it doubles when full
MOST_KEPT = 1024  # a query that keeps more has no radius feedback within a call: its distances would not fit


class Reach(NamedTuple):
    """Reaches of the queries at some radii. They may be kept for a call with the same or smaller radii."""

    radius: I64
    reaches: Reaches
    node: F32


@dataclass(frozen=True, eq=False)
class InvertedIndex(FlatRecord):
    """Frozen inverted file over the nearest queries of a block (rows are those of the block)."""

    arrays: InvertedArrays
    lists: Conjuncts
    dictionary: Annotated[TermDictionary, "term_"]
    space: Space
    #: Of the last call; taken by whoever comes first, so that threads never share it.
    _spare: list[Reach] = field(default_factory=list, init=False)

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """Index a block."""
        return cls(*inverted_file(block, np.arange(len(block))), space)

    def candidates(self, objects: ObjectColumns, bounds: NearestBounds) -> NearestPairs:
        """Pairs that may be among the nearest of their query; see :class:`~sightline.index.protocol.NearestIndex`."""
        index = self.arrays
        n = index.at.shape[0]
        if any(len(column) != n for column in bounds):
            raise ValueError(f"{n} queries need as many bounds, got {[len(column) for column in bounds]}")
        reach = self._reach(frozen(bounds.radius_mm, np.int64))
        kept = kept_of(bounds, objects)
        shown = Objects(
            object_batch(objects, self.dictionary),
            frozen(objects.ts, np.int64),
            frozen(_points(objects, self.space), np.float32),
            frozen(self._order(objects), np.int64),
        )
        present = np.zeros(index.starts.size - 1, np.uint8)
        present[-1] = 1
        most = int(np.diff(shown.batch.offsets).max(initial=0))
        scratch = NearestScratch(
            present, np.full(n, -1, np.int32), np.empty(len(index.query) + 1, np.int32), np.empty(most + 1, np.int32)
        )
        kernel, held = self._kernel(reach), (index, self.lists, reach.reaches, kept, shown)
        found: list[tuple[I32, I32, I64]] = []
        first, looked, room = 0, 0, FIRST_ROOM
        while first < len(objects):
            out = Output(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64))
            first, pairs, entries = kernel(*held, first, self._planar, self._slack, scratch, out)
            near = np.flatnonzero(out.distance[:pairs] <= kept.record[out.query[:pairs], 0])
            found.append((out.object[near], out.query[near], out.distance[near]))
            looked += entries
            room *= 2
        reach.radius[:] = kept.record[:, 0]
        self._spare.append(reach)
        if not found:
            return NearestPairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), looked)
        joined = [np.concatenate(columns) for columns in zip(*found, strict=True)]
        if len(found) > 1:  # radii went on shrinking after the first buffers were read
            near = np.flatnonzero(joined[2] <= kept.record[joined[1], 0])
            joined = [column[near] for column in joined]
        return NearestPairs(joined[0], joined[1], joined[2], looked)

    def _kernel(self, reach: Reach) -> NearestKernel:
        return _kernels.inverted_match

    def _order(self, objects: ObjectColumns) -> I64:
        """The order in which objects are shown to the kernel."""
        return np.arange(len(objects))

    def _reach(self, radius: I64) -> Reach:
        """Reaches for these radii: those of the last call where no radius has grown since, else new ones."""
        try:
            reach = self._spare.pop()
        except IndexError:
            reach = self._new_reach()
        if (radius <= reach.radius).all():
            changed = frozen(np.flatnonzero(radius != reach.radius), np.int64)
            _kernels.shrink_reaches(changed, radius, self._planar, self._slack, reach.reaches)
            reach.radius[changed] = radius[changed]
            return reach
        reach.radius[:] = radius
        _kernels.spread_reaches(radius, self.arrays.query, self._planar, self._slack, reach.reaches)
        self._raise_nodes(reach)
        return reach

    def _new_reach(self) -> Reach:
        """Room for reaches, below any radius."""
        index = self.arrays
        n = index.at.shape[0]
        ball = np.empty((len(index.query), 4), np.float32)
        ball[:, :3] = places_of(index.at[:, 0], index.at[:, 1], self.space)[index.query]
        reaches = Reaches(ball, np.empty(n, np.float32))
        return Reach(np.full(n, -2, np.int64), reaches, np.empty((self._nodes(), 6), np.float32))

    def _nodes(self) -> int:
        return 0

    def _raise_nodes(self, reach: Reach) -> None:
        """After the reaches of entries were written anew."""

    def nbytes(self) -> int:
        """Bytes in memory: the frozen arrays, and the reaches a process adds."""
        stored = sum(array.nbytes for array in self.to_arrays().values())
        reach = self._new_reach()
        return int(stored + reach.radius.nbytes + reach.node.nbytes + sum(a.nbytes for a in reach.reaches))

    @cached_property
    def _planar(self) -> bool:
        return not self.space.is_geographic

    @cached_property
    def _slack(self) -> float:
        return SLACK * (float(np.abs(self.arrays.at).max(initial=0.0)) if self._planar else 1.0)


def inverted_file(block: QueryBlock, rank: I64) -> tuple[InvertedArrays, Conjuncts, TermDictionary]:
    """Entries by key term and then by the rank of their query."""
    terms = len(block.dictionary)
    lists = block.conjuncts
    table = key_terms(lists, frozen(np.bincount(block.pos, minlength=terms), np.int64), terms)
    order = np.lexsort((rank[block.conj_query], table[:, 0]))
    starts = offsets_of(table[order, 0], terms + 1)
    query = block.conj_query[order]
    # Only conjuncts of more than their two rarest terms are kept for verification.
    more = np.flatnonzero((table[:, 2] != terms) | (table[:, 3] != 0))
    number = np.full(len(table), -1, np.int32)
    number[more] = np.arange(len(more))
    single = bool((table[:, 1] == terms).all() and (table[:, 3] == 0).all())
    second, check = (np.empty(0, np.int32),) * 2 if single else (table[order, 1], number[order])
    pos_offsets, pos = spread_rows(lists.pos_offsets, more)
    neg_offsets, neg = spread_rows(lists.neg_offsets, more)
    verified = Conjuncts(pos_offsets, lists.pos[pos], neg_offsets, lists.neg[neg])
    return InvertedArrays(starts, query, second, check, block.at), verified, block.dictionary


def kept_of(bounds: NearestBounds, objects: ObjectColumns) -> KeptDistances:
    """Room for the nearest distances of a call; what more objects than there are would have to fill gets none."""
    record = np.zeros((len(bounds.k), 4), np.int64)
    record[:, 0] = bounds.radius_mm
    record[:, 2] = np.where(bounds.k <= min(len(objects), MOST_KEPT), bounds.k, 0)
    last = np.cumsum(record[:, 2])
    record[:, 1] = last - record[:, 2]
    whole = len(objects) == 0 or (
        bounds.start.max(initial=MIN_US) <= objects.ts.min() and objects.ts.max() < bounds.end.min(initial=MAX_US)
    )
    lives = [np.empty(0, np.int64)] * 2 if whole else [bounds.start, bounds.end]
    return KeptDistances(
        record, np.empty(int(last[-1]) if len(last) else 0, np.int64), *(frozen(column, np.int64) for column in lives)
    )


def places_of(lon: npt.NDArray[np.float64], lat: npt.NDArray[np.float64], space: Space) -> F32:
    """Points whose straight-line distance orders as the space's distance does."""
    out = np.zeros((len(lon), 3), np.float32)
    if not space.is_geographic:
        out[:, 0], out[:, 1] = lon, lat
        return out
    x, y = np.radians(lon), np.radians(lat)
    out[:, 0], out[:, 1], out[:, 2] = np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)
    return out


def _points(objects: ObjectColumns, space: Space) -> F32:
    """Places of objects, and the slack of each."""
    out = np.empty((len(objects), 4), np.float32)
    out[:, :3] = places_of(objects.lon, objects.lat, space)
    out[:, 3] = np.float32(SLACK) * (1.0 if space.is_geographic else np.abs(out[:, :2]).max(axis=1, initial=0.0))
    return out
