"""Terms of a history that are worth a worker of their own, and what each costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, frozen, sorted_distinct
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.partition.cost.ps2stream import LoadCosts, steady_loads
from sightline.partition.history import History
from sightline.partition.terms._kernels import numbers_of
from sightline.text.dictionary import table_size
from sightline.text.lookup_kernels import fill_slots
from sightline.text.postings_kernels import rarest_terms

__all__ = ["TermParams", "Vocabulary"]


#: PS2Stream Def. 1 per term: an object is checked against every query keyed at its term, which costs as much as
#: handling it; stored queries stand for insertions, and nothing is known of deletions.
TERM_COSTS = LoadCosts(check=1.0, object=1.0, insertion=1.0, deletion=0.0)


@dataclass(frozen=True, slots=True)
class TermParams:
    """Constants that PS2Stream leaves open (ours)."""

    most: int = 50_000  # terms: those most used by queries, then those most frequent in objects; the rest is hashed
    costs: LoadCosts = TERM_COSTS


DEFAULTS = TermParams()


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Distinct hashes, ascending, a table to find them by, and two counts per term.

    ``objects`` of the history have the term; ``queries`` counts the conjuncts of standing range and nearest queries
    whose rarest term it is. Queries that were asked are answered where objects are stored, that is by place.
    """

    hashes: I64
    slots: I32
    objects: I64
    queries: I64

    def __len__(self) -> int:
        return int(self.hashes.size)

    @classmethod
    def empty(cls) -> Self:
        """No terms."""
        none = np.empty(0, np.int64)
        return cls(none, _slots(none), none, none)

    @classmethod
    def of(cls, history: History, params: TermParams = DEFAULTS) -> Self:
        """The terms of a history."""
        posts, block = history.objects.terms, history.standing
        wanted = _routed_by_term(block)[np.repeat(np.arange(len(block.conj_query)), np.diff(block.pos_offsets))]
        uses = np.bincount(block.pos[wanted], minlength=len(block.dictionary))
        every = sorted_distinct(np.concatenate((posts.dictionary.hashes, block.dictionary.hashes)))
        objects = _summed(every, posts.dictionary.hashes, np.bincount(posts.ids, minlength=len(posts.dictionary)))
        uses = _summed(every, block.dictionary.hashes, uses)
        known = np.flatnonzero(objects + uses > 0)
        ranked = known[np.lexsort((every[known], -objects[known], -uses[known]))]
        kept = np.sort(ranked[: params.most])
        hashes = every[kept]
        unkeyed = cls(hashes, _slots(hashes), objects[kept], np.zeros(len(kept), np.int64))
        _, key = unkeyed.keys(block)
        return cls(hashes, unkeyed.slots, unkeyed.objects, np.bincount(key, minlength=len(kept)))

    def numbers(self, hashes: I64) -> I32:
        """Number of the term of each hash, -1 where absent."""
        return numbers_of(frozen(self.hashes, np.int64), frozen(self.slots, np.int32), frozen(hashes, np.int64))

    def keys(self, block: QueryBlock) -> tuple[I64, I64]:
        """Pairs (block row, term): where the conjuncts of a block are keyed, for keys of the vocabulary."""
        hashes = block.dictionary.hashes
        number = self.numbers(hashes)
        frequency = np.zeros(len(hashes), np.int64)
        frequency[number >= 0] = self.objects[number[number >= 0]]
        lists = block.pos_offsets, block.pos
        key = rarest_terms(*lists, hashes, frozen(frequency, np.int64))
        keyed = np.flatnonzero((key >= 0) & _routed_by_term(block))
        term = number[key[keyed]]
        return block.conj_query[keyed][term >= 0].astype(np.int64), term[term >= 0].astype(np.int64)

    def load(self, params: TermParams = DEFAULTS) -> F64:
        """Load of each term alone: PS2Stream Def. 1 with its objects and its queries.

        Ours: the product is taken per term, because a worker's index checks an object against the queries keyed at
        its terms only. An object is handled once per worker, not once per term: the sum over the terms of a worker
        overstates it where they occur together.
        """
        return steady_loads(self.objects, self.queries, params.costs)


def _routed_by_term(block: QueryBlock) -> npt.NDArray[np.bool_]:
    """Which conjuncts have a place by their terms: those of range and nearest queries."""
    routed: npt.NDArray[np.bool_] = block.kind[block.conj_query] != KIND_TOP_TERMS
    return routed


def _slots(hashes: I64) -> I32:
    slots = np.full(table_size(len(hashes)), -1, np.int32)
    fill_slots(frozen(hashes, np.int64), slots)
    return slots


def _summed(every: I64, hashes: I64, counts: npt.NDArray[Any]) -> I64:
    """Counts of terms added up by hash; ``every`` holds all hashes, ascending."""
    return np.bincount(np.searchsorted(every, hashes), counts, len(every)).astype(np.int64)
