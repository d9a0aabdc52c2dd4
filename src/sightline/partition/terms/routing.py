"""What all text partitionings share: terms have workers, objects follow their terms.

PS2Stream Def. 2 with one subspace: an object goes to worker i only if it has a term of T_i, a query stands there only
if it has one. Ours: a conjunct stands with the worker of one term, its rarest (an object that matches has that term
too); unseen terms are hashed to a worker; conjuncts without positive terms stand everywhere, and so do top-term
queries, which count at the owner.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of
from sightline.flat.records import FlatRecord
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.model.space import Space
from sightline.partition._kernels import owner_by_place
from sightline.partition.broadcast import BroadcastRouting
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes
from sightline.partition.terms._kernels import (
    TermTable,
    places_of,
    routes_of_objects,
    routes_of_queries,
)
from sightline.partition.terms.vocabulary import Vocabulary
from sightline.text.postings_kernels import rarest_terms

__all__ = ["TermRouting"]


@dataclass(frozen=True, eq=False)
class TermRouting(FlatRecord, Unlearning):
    """Term -> worker, for the terms of a vocabulary; the rest is hashed. One leaf per worker, without a place.

    A term is its 64-bit hash: strings that share one are routed alike, which is harmless.
    """

    spreads: ClassVar[bool] = True
    duplicates: ClassVar[bool] = True  # an OR may stand on several workers, a match-all query stands on all

    workers: int
    bounds: F64  # west, south, east, north
    hashes: I64  # ascending
    slots: I32  # where to find them, see TermTable
    frequency: I64  # objects of the history that have the term: the rarest of a conjunct is its key
    term_worker: I32

    @classmethod
    @abstractmethod
    def deal(cls, vocabulary: Vocabulary, history: History, workers: int) -> I32:
        """A worker for every term of the vocabulary."""

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        """All terms hashed."""
        return cls._over(Vocabulary.empty(), np.empty(0, np.int32), space, workers)

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        vocabulary = Vocabulary.of(history)
        return cls._over(vocabulary, cls.deal(vocabulary, history, workers), space, workers)

    @classmethod
    def _over(cls, vocabulary: Vocabulary, worker: I32, space: Space, workers: int) -> Self:
        return cls(workers, np.array(space.bounds), vocabulary.hashes, vocabulary.slots, vocabulary.objects, worker)

    @property
    def table(self) -> TermTable:
        """The terms as kernels take them."""
        return TermTable(self.hashes, self.slots, self.frequency, self.term_worker)

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return self  # there is nothing to deal: a worker's terms are one leaf, and every worker has one

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        terms = objects.terms
        places = frozen(objects.lon, np.float64), frozen(objects.lat, np.float64)
        owner = owner_by_place(*places, self.workers)
        # Once per distinct term of the batch, not per posting.
        worker, _ = places_of(self.table, terms.dictionary.hashes, self.workers)
        lists = terms.offsets, terms.ids
        routes = routes_of_objects(*lists, frozen(worker, np.int32), frozen(owner, np.int32), self.workers)
        return ObjectRoutes(owner, owner, *routes)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        hashes = block.dictionary.hashes
        worker, frequency = places_of(self.table, hashes, self.workers)
        lists = block.pos_offsets, block.pos
        key = rarest_terms(*lists, hashes, frozen(frequency, np.int64))
        keyed = (key >= 0) & (block.kind[block.conj_query] != KIND_TOP_TERMS)
        conj_worker = np.full(key.size, -1, np.int32)
        conj_worker[keyed] = worker[key[keyed]]
        offsets = frozen(offsets_of(block.conj_query, len(block)), np.int64)
        return QueryRoutes(*routes_of_queries(offsets, frozen(conj_worker, np.int32), self.workers))

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        query, worker = self.route_queries(block)
        order = np.argsort(query, kind="stable")  # workers ascend already
        return QueryLeaves(query[order], worker[order])

    def owners_of(self, block: QueryBlock) -> QueryLeaves:
        """Any worker may own what a query finds: owners are drawn by place."""
        return BroadcastRouting(self.workers, self.bounds).leaves_of(block)

    def leaf_table(self) -> pa.Table:
        west, south, east, north = (np.full(self.workers, side) for side in self.bounds)
        leaf = np.arange(self.workers)
        return pa.table(
            {
                "leaf": leaf,
                "worker": leaf,
                "split": ["terms"] * self.workers,
                "west": west,
                "south": south,
                "east": east,
                "north": north,
                "keywords": np.bincount(self.term_worker, minlength=self.workers),
            }
        )
