"""The k nearest objects of many queries as flat arrays, driven batch by batch without files.

Objects are numbered by the caller; of equal distances the smaller number is nearer. What is kept after some objects
does not depend on how they were cut into batches, nor on the index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64, frozen
from sightline.index.protocol import NO_BOUND, NearestBounds, NearestIndex, ObjectColumns
from sightline.index.standing.balls import _kernels
from sightline.index.standing.block import QueryBlock

__all__ = ["NearestState", "Update"]


class Update(NamedTuple):
    """What a batch did: the queries it changed (ascending), objects that entered, pairs offered, entries looked at."""

    changed: I64
    entered: int
    offered: int
    checked: int


class NearestState:
    """The k nearest of every query of a block: distance and number, nearest first."""

    def __init__(self, block: QueryBlock) -> None:
        n = len(block)
        self._k, self._start, self._end = block.k, block.start, block.end
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(block.k, out=offsets[1:])
        self.offsets = frozen(offsets, np.int64)
        self.distance_mm: I64 = np.empty(int(offsets[-1]), np.int64)
        self.number: I64 = np.empty(int(offsets[-1]), np.int64)
        self.count: I32 = np.zeros(n, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of the state."""
        return self.offsets.nbytes + self.distance_mm.nbytes + self.number.nbytes + self.count.nbytes

    def bounds(self) -> NearestBounds:
        """What the next batch must look for: the distance of the k-th, without bound while there are fewer."""
        full = self.count == self._k
        radius = np.full(len(self.count), NO_BOUND, np.int64)
        radius[full] = self.distance_mm[self.offsets[1:][full] - 1]
        return NearestBounds(radius, self._k, self._start, self._end)

    def update(self, index: NearestIndex, objects: ObjectColumns, first_number: int = 0) -> Update:
        """Show a batch to an index over the same block and keep what is nearest; rows are numbered from the first."""
        found = index.candidates(objects, self.bounds())
        changed = np.zeros(len(self.count), np.bool_)
        entered = _kernels.keep_nearest(
            frozen(found.object, np.int32),
            frozen(found.query, np.int32),
            frozen(found.distance_mm, np.int64),
            first_number,
            self.offsets,
            self.distance_mm,
            self.number,
            self.count,
            changed,
        )
        return Update(np.flatnonzero(changed), entered, len(found.object), found.checked)

    def of(self, query: int) -> list[tuple[int, int]]:
        """(distance_mm, number) of one query's objects, nearest first."""
        first = int(self.offsets[query])
        kept = slice(first, first + int(self.count[query]))
        return list(zip(self.distance_mm[kept].tolist(), self.number[kept].tolist(), strict=True))
