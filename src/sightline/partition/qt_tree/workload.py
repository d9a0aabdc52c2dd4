"""What a history says about queries: the inputs of SSTD's cost model (section 4.1.1) for any node of a tree.

How likely a query of each type reaches a node, the shares of the types, the numbers of keywords and the lifetimes come
from the quadtree J (:class:`~sightline.partition.statistics.distribution.Statistics`), and W(P) from Eq. 2 as
:mod:`~sightline.partition.cost.sstd` has it. Counts of earlier searches that come with the history are part of J.

Deviations (ours):

* Nodes below J's last level have the probabilities of the smallest cell that covers them, times the fraction of the
  known queries of that cell which reach the node (of its type, or of all where none of the type is known). Without the
  fraction no spatial split below that level would seem to help, and a city on the globe has all its nodes there: posts
  of Dresden got a text tree, which makes 5,910 comparisons per query instead of 770.
* M_srq and M_skq are those of the queries that reach the node, as in the paper; J has one for the whole space. The
  whole one is wrong where words depend on places, and far more where nearest queries look far because their keyword is
  rare: SKQs were expected to meet two to three times the objects they met. Of earlier searches only the whole one is
  known; it counts as much as they reach the node. *Assigning* an object to a textual child uses the whole one, so that
  routers carry one.
* A history's nearest queries are evaluated on its objects, of many an even sample that stands for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, U8, frozen, places_in
from sightline.index.protocol import NO_BOUND, ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, KIND_TOP_TERMS, QueryBlock
from sightline.model.space import Space
from sightline.partition.cost.sstd import CRQ, SKQ, CostModel, partition_workloads
from sightline.partition.history import History
from sightline.partition.qt_tree._kernels import AskedKeywords, Past, WeightedWords, mass_of, visitors
from sightline.partition.reach import nearest_pieces, nearest_reach
from sightline.partition.statistics.distribution import Statistics
from sightline.partition.statistics.keywords import KeywordMasses

__all__ = ["Reached", "TreeWorkload"]

EVALUATED = 2000  # nearest queries whose k-th distance is looked up


class Reached(NamedTuple):
    """Queries that reach a region."""

    p: F64  # [6] probability that one of each type does
    words: I32  # keywords of the known ones
    past: F64  # [2] share of the counted SRQs and SKQs


class _Queries(NamedTuple):
    """Queries that are known themselves: pieces of their regions and whose they are, ascending; and their types."""

    query: I32
    box: F64
    type: U8
    word_query: I32  # whose each of the ``words`` is
    words: WeightedWords


@dataclass(frozen=True, eq=False)
class TreeWorkload:
    """Queries of a history as Eq. 1 and 2 need them.

    A partition that got n objects in the history's span gets them at the rate of n over the span (E_P), so textual
    children share E_obj by their numbers of objects. Without any query every object weighs 1.
    """

    statistics: Statistics
    model: CostModel
    hashes: I64  # words with mass, ascending
    mass: F64  # [terms, 2] M_srq, M_skq of the whole space
    _known: _Queries
    _past: Past
    _searches: F64  # [2, cells] SRQs and SKQs that are counts only
    _cache: dict[tuple[float, ...], Reached] = field(default_factory=dict)

    @classmethod
    def of(cls, history: History, space: Space) -> Self:
        """Count a history."""
        known = Statistics.empty(space).with_objects(history.objects, history.span_us)
        blocks = []
        for block, asked in ((history.asked, True), (history.standing, False)):
            some, reach, scale = _evaluated(block, history.objects, space)
            known = known.merged(_scaled(Statistics.empty(space).added(some, asked=asked, reach_mm=reach), scale))
            blocks.append((some, reach, scale))
        return cls._made(known, history.statistics, blocks, space)

    @classmethod
    def unknown(cls, space: Space) -> Self:
        """No history."""
        return cls._made(Statistics.empty(space), None, [], space)

    @classmethod
    def _made(
        cls, known: Statistics, past: Statistics | None, blocks: Sequence[tuple[QueryBlock, I64, float]], space: Space
    ) -> Self:
        counted = Statistics.empty(space) if past is None else replace(past, objects=past.objects * 0, span_s=0.0)
        both = known.merged(counted)
        hashes = both.keywords.hashes
        weight = np.zeros((len(hashes), 2))
        place = places_in(hashes, counted.keywords.hashes)
        weight[place[place >= 0]] = counted.keywords.weights[:, place >= 0].T
        total = counted.keywords.weights.sum(axis=1) + counted.keywords.rest
        return cls(
            statistics=both,
            model=both.cost_model(),
            hashes=frozen(hashes, np.int64),
            mass=frozen(both.keywords.masses.T, np.float64),
            _known=_queries(blocks, hashes, space),
            _past=Past(frozen(weight, np.float64), frozen(total, np.float64)),
            _searches=counted.weights[: SKQ + 1],
        )

    @property
    def bounds(self) -> F64:
        """The space."""
        return frozen(self.statistics.space.bounds, np.float64)

    @property
    def asked(self) -> AskedKeywords:
        """Keywords of the whole space, as kernels take them."""
        return AskedKeywords(self.mass, self.model.srq_lengths, self.model.skq_lengths)

    def reached(self, region: F64) -> Reached:
        """Which queries reach a region."""
        key = tuple(region.tolist())
        if key not in self._cache:
            self._cache[key] = self._reached(frozen(region, np.float64))
        return self._cache[key]

    def _reached(self, region: F64) -> Reached:
        whole = bool((region == self.bounds).all())
        cells = np.zeros(1, np.int32) if whole else self.statistics.covering(region[None])
        p = self.statistics.probabilities(cells)[0]
        met = self._visitors(region)
        cell = self.statistics.pyramid.boxes_of(cells)[0]
        if not whole and region[2] - region[0] < 0.75 * (cell[2] - cell[0]):  # below the last level
            around, within = self._by_type(self._visitors(frozen(cell, np.float64))), self._by_type(met)
            of_all = within.sum() / around.sum() if around.any() else 1.0
            p = p * np.where(around > 0, within / np.maximum(around, 1), of_all)
        words = np.flatnonzero(met[self._known.word_query])
        share = self._searches[:, cells[0]] / np.maximum(self._searches[:, 0], np.finfo(np.float64).tiny)
        return Reached(frozen(p, np.float64), frozen(words, np.int32), frozen(share, np.float64))

    def _visitors(self, region: F64) -> npt.NDArray[np.bool_]:
        known = self._known
        return visitors(known.query, known.box, len(known.type), region, self.bounds)

    def _by_type(self, met: npt.NDArray[np.bool_]) -> I64:
        return np.bincount(self._known.type[met], minlength=6)

    def masses(self, has: U8, reached: Sequence[Reached]) -> F64:
        """H_srq and H_skq of each child by its keywords, [n, 2]; ``has`` is as ``words_of`` gives it."""
        listed = frozen(has, np.uint8)
        return np.array(
            [mass_of(listed, c, one.words, self._known.words, self._past, one.past) for c, one in enumerate(reached)]
        )

    def of_partitions(self, objects: npt.ArrayLike, h: F64, reached: Sequence[Reached]) -> list[float]:
        """W(P), Eq. 2, of partitions with so many objects, keyword masses H_srq and H_skq, and reach."""
        counts = np.asarray(objects, np.float64)
        rates = counts / (self.statistics.span_s or 1.0)
        p = np.array([one.p for one in reached])
        loads: list[float] = partition_workloads(self.model, p, counts, rates, h[:, 0], h[:, 1]).tolist()
        return loads


def _evaluated(block: QueryBlock, objects: ObjectColumns, space: Space) -> tuple[QueryBlock, I64, float]:
    """The block with at most ``EVALUATED`` nearest queries, how far each of those reaches, and how many it is for."""
    nearest = np.flatnonzero(block.kind == KIND_NEAREST)
    some = nearest[np.arange(min(len(nearest), EVALUATED)) * len(nearest) // max(min(len(nearest), EVALUATED), 1)]
    kept = block.take(np.union1d(np.flatnonzero(block.kind != KIND_NEAREST), some)) if len(some) else block
    reach = np.full(len(kept), NO_BOUND, np.int64)
    mine = np.flatnonzero(kept.kind == KIND_NEAREST)
    if len(mine) and len(objects):
        reach[mine] = nearest_reach(kept.take(mine), objects, space)
    return kept, reach, len(nearest) / len(some) if len(some) else 1.0


def _scaled(statistics: Statistics, scale: float) -> Statistics:
    """With every nearest query counted ``scale`` times."""
    if scale == 1.0:
        return statistics
    each = np.ones((6, 1))
    each[[SKQ, SKQ + CRQ]] = scale
    words = statistics.keywords
    return replace(
        statistics,
        weights=statistics.weights * each,
        lengths=statistics.lengths * each,
        durations=statistics.durations * each,
        seconds=statistics.seconds * each,
        keywords=KeywordMasses(words.hashes, words.weights * each[:2], words.rest * each[:2, 0]),
    )


def _queries(blocks: Sequence[tuple[QueryBlock, I64, float]], hashes: I64, space: Space) -> _Queries:
    """Regions, types and keywords of blocks of snapshot queries, then of continuous ones."""
    parts: list[tuple[npt.NDArray[np.generic], ...]] = [
        (np.zeros(0, np.int32), np.zeros((0, 4)), np.zeros(0, np.uint8), np.zeros(0, np.int32), np.zeros(0, np.int32),
         np.zeros(0, np.uint8), np.zeros(0))
    ]  # fmt: skip
    first = 0
    for number, (block, reach, scale) in enumerate(blocks):
        near = np.flatnonzero(block.kind == KIND_NEAREST)
        row, circle = nearest_pieces(block.at[near], reach[near], space)
        own = block.kind[block.piece_query] != KIND_NEAREST
        query = np.concatenate([block.piece_query[own], near[row]]) + first
        box = np.concatenate([block.piece_box[own], circle])
        size = np.diff(block.pos_offsets)
        share = 1.0 / np.bincount(block.conj_query, minlength=len(block))[block.conj_query]
        asker, kind = np.repeat(block.conj_query, size), np.repeat(block.kind[block.conj_query], size)
        weight = np.repeat(share, size) * np.where(kind == KIND_NEAREST, scale, 1.0)
        words = (kind != KIND_TOP_TERMS) & (number == 0)  # of snapshot queries only
        term = places_in(hashes, block.dictionary.hashes[block.pos])
        parts.append(
            (query, box, block.kind + np.uint8(CRQ * number), asker[words] + first, term[words], kind[words],
             weight[words])
        )  # fmt: skip
        first += len(block)
    query, box, kinds, word_query, term, kind, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _Queries(
        frozen(query, np.int32),
        frozen(box, np.float64),
        frozen(kinds, np.uint8),
        frozen(word_query, np.int32),
        WeightedWords(frozen(term, np.int32), frozen(kind, np.uint8), frozen(weight, np.float64)),
    )
