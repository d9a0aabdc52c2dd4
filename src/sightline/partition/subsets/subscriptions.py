"""Subscriptions as the cost models see them: a place, keywords in O_init's numbers, a rectangle around a ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.space import Space
from sightline.partition.cost.dkm_sks import QueryWords, subscription_costs
from sightline.partition.reach import nearest_pieces
from sightline.partition.sample import ObjectSample
from sightline.partition.subsets._kernels import TermTally, count_terms

__all__ = ["SubscriptionCosts", "Subscriptions", "weights"]


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """The queries of a block against O_init.

    Deviations (ours). The paper has nearest queries with OR only. A range query has its region where a nearest one has
    its ball B(s), and exists where its region's first piece has its centre. A rectangle does not cross the
    antimeridian: a ball or region that does gets all longitudes. A ball that fewer than k objects fill is the whole
    space. Rectangles are clipped to the space.
    """

    block: QueryBlock
    sample: ObjectSample
    space: Space
    words: QueryWords
    at: F64  # [n, 2] where each exists

    @classmethod
    def of(cls, block: QueryBlock, sample: ObjectSample, space: Space) -> Self:
        """The queries of a block, of any kind."""
        first = _clipped(block.piece_box[offsets_of(block.piece_query, len(block))[:-1]], space)
        centre = np.column_stack([(first[:, 0] + first[:, 2]) / 2.0, (first[:, 1] + first[:, 3]) / 2.0])
        at = np.where(block.kind[:, None] == KIND_NEAREST, block.at, centre)
        return cls(block, sample, space, sample.words(block), at)

    def __len__(self) -> int:
        return len(self.block)

    def regions(self) -> F64:
        """The rectangle around each query's region; the whole space for a nearest query."""
        return _clipped(_enclosing(self.block.piece_query, self.block.piece_box, len(self)), self.space)

    def rectangles(self) -> F64:
        """The rectangle R around each ball B(s), or region."""
        boxes = self.regions()
        rows = np.flatnonzero(self.block.kind == KIND_NEAREST)
        at, k = self.at[rows], self.block.k[rows]
        reach, _ = self.sample.reach_mm(self.words, rows, at, k)
        boxes[rows] = _clipped(_enclosing(*nearest_pieces(at, reach, self.space), len(rows)), self.space)
        return boxes

    def objects_in_region(self) -> I64:
        """Objects of O_init in the pieces of each region; all of them for a nearest query."""
        found = self.sample.counts_in(self.block.piece_box)
        held = np.bincount(self.block.piece_query, found, minlength=len(self)).astype(np.int64)
        return np.where(self.block.kind == KIND_NEAREST, len(self.sample), held)


class SubscriptionCosts:
    """Expected matches inside a rectangle (Eq. 5), remembering per term what was counted for the latest one."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        terms = len(subscriptions.sample.hashes)
        self._tally = TermTally(np.zeros(terms, np.int64), np.full(terms, -1, np.int64))
        self.rectangles = 0  # how many were asked for

    def within(self, rows: I64, box: F64) -> F64:
        """C(s) times |O_init| of the given queries for one rectangle."""
        words, sample = self._subscriptions.words, self._subscriptions.sample
        mark = self.rectangles
        self.rectangles += 1
        rows, box = frozen(rows, np.int64), frozen(box, np.float64)
        inside = count_terms(words, sample.places, sample.postings, rows, box, self._tally, mark)
        return subscription_costs(words, rows, self._tally.held, inside)


def _enclosing(owner: I32, boxes: F64, n: int) -> F64:
    """The rectangle around the boxes of each of n owners, which ascend and have one or more."""
    if n == 0:
        return np.empty((0, 4))
    first = offsets_of(owner, n)[:-1]
    low = np.minimum.reduceat(boxes[:, :2], first, axis=0)
    return np.column_stack([low, np.maximum.reduceat(boxes[:, 2:], first, axis=0)])


def _clipped(boxes: F64, space: Space) -> F64:
    west, south, east, north = space.bounds
    return np.clip(boxes, (west, south, west, south), (east, north, east, north))


#: What a subscription weighs at least, in objects of O_init. Greedy dealing would otherwise give everything that
#: O_init never matched to a single worker, because it adds nothing to that worker's load (ours).
UNSEEN = 0.5


def weights(costs: F64, size: npt.ArrayLike = 1) -> F64:
    """What subscriptions, or subsets of so many, weigh when they are dealt."""
    return np.maximum(costs, UNSEEN * np.asarray(size))
