"""A sample of objects as flat arrays: places for counting, posting lists for keywords, positions for distances.

DkM-SKS calls them O_init (section 3): objects of a history that stand for those to come. Its cost models count in
them, and what kNN queries reach is found in them for every partitioner that wants to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self

import numpy as np

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of, places_in, sorted_distinct
from sightline.flat.records import FlatRecord, frozen_fields
from sightline.geo.distance import EARTH_RADIUS_M
from sightline.index.protocol import NO_BOUND, ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.partition.cost.dkm_sks import QueryWords
from sightline.partition.sample_kernels import (
    Places,
    SamplePostings,
    block_size,
    counts_in,
    kth_squared,
)
from sightline.text.dictionary import TermDictionary

__all__ = ["ObjectSample"]


@dataclass(frozen=True, eq=False)
class ObjectSample(FlatRecord):
    """Objects ordered by latitude; terms are known by their hashes, ascending."""

    geographic: bool
    places: Places
    hashes: I64
    postings: Annotated[SamplePostings, "post_"]

    def __len__(self) -> int:
        return int(self.places.lat.shape[0])

    @classmethod
    def empty(cls, geographic: bool) -> Self:
        """No objects: nothing is known."""
        none = np.empty(0, np.int64)
        return cls._made(geographic, np.empty(0), np.empty(0), none, none)

    @classmethod
    def of(cls, objects: ObjectColumns, geographic: bool) -> Self:
        """The objects of a history."""
        order = np.lexsort((objects.lon, objects.lat))
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        terms = objects.terms
        hashes = sorted_distinct(terms.dictionary.hashes.astype(np.int64))
        term = np.searchsorted(hashes, terms.dictionary.hashes)[terms.ids[terms.offsets[0] : terms.offsets[-1]]]
        holder = np.repeat(number, np.diff(terms.offsets))
        # Terms that share a hash are one here, and an object has it once.
        pairs = sorted_distinct(term * max(1, len(order)) + holder)
        return cls._made(geographic, objects.lon[order], objects.lat[order], hashes, pairs)

    @classmethod
    def _made(cls, geographic: bool, lon: F64, lat: F64, hashes: I64, pairs: I64) -> Self:
        n = len(lat)
        by_lon = np.argsort(lon, kind="stable")
        rank = np.empty(n, np.int64)
        rank[by_lon] = np.arange(n)
        block = block_size(n)
        side = -(-n // block)
        cells = np.bincount(np.arange(n) // block * side + rank // block, minlength=side * side).reshape(side, side)
        below = np.zeros((side + 1, side + 1), np.int32)
        below[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
        places = Places(lon, lat, lon[by_lon], by_lon.astype(np.int32), below)
        postings = SamplePostings(offsets_of(pairs // max(1, n), len(hashes)), (pairs % max(1, n)).astype(np.int32))
        return cls(geographic, places, hashes, postings)

    def numbers(self, dictionary: TermDictionary) -> I32:
        """This sample's number of each term, -1 where no object has it."""
        return places_in(self.hashes, dictionary.hashes).astype(np.int32)

    def counts_in(self, boxes: F64) -> I64:
        """|O_R| for each of many closed rectangles."""
        return counts_in(self.places, frozen(boxes, np.float64))

    def words(self, block: QueryBlock) -> QueryWords:
        """The keywords of the queries of a block in this sample's numbers."""
        number = self.numbers(block.dictionary)
        lists = block.pos_offsets, number[block.pos], block.neg_offsets, number[block.neg]
        return frozen_fields(QueryWords, (offsets_of(block.conj_query, len(block)), *lists))

    def reach_mm(self, words: QueryWords, rows: I64, at: F64, k: I32) -> tuple[I64, int]:
        """Distance of the k-th nearest match of the queries ``rows`` at ``at``: whole thousandths, rounded up;
        :data:`NO_BOUND` below k matches. Also the number of objects looked at."""
        query = frozen(positions(at[:, 0], at[:, 1], self.geographic), np.float64)
        arguments = self.positions, self.postings, words, frozen(rows, np.int64), query, frozen(k, np.int32)
        squared, looked = kth_squared(*arguments)
        found = np.isfinite(squared)
        distance = np.sqrt(squared[found])
        if self.geographic:
            distance = 2.0 * EARTH_RADIUS_M * np.arcsin(np.minimum(distance / 2.0, 1.0))
        out = np.full(len(rows), NO_BOUND, np.int64)
        out[found] = np.ceil(1000.0 * distance).astype(np.int64)
        return out, looked

    @cached_property
    def positions(self) -> F64:
        """Where the objects are, in the space of straight distances."""
        return frozen(positions(self.places.lon, self.places.lat, self.geographic), np.float64)


def positions(lon: F64, lat: F64, geographic: bool) -> F64:
    """Points whose straight distance grows with the distance of the space, the third coordinate with the latitude.

    On the globe they are on the unit sphere (straight distance = chord); a plane stands upright in the first and third.
    """
    if not geographic:
        return np.column_stack([lon, np.zeros(len(lon)), lat])
    x, y = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
