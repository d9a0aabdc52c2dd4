"""The reference: every object against every query, by NumPy, without any index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from sightline.flat.arrays import I32, I64, Flag
from sightline.flat.records import FlatRecord
from sightline.geo.contains import inside_pairs
from sightline.geo.distance import pair_distance_mm
from sightline.index.protocol import MatchPairs, NearestBounds, NearestPairs, ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space

__all__ = ["ScanNearest", "ScanStanding"]


@dataclass(frozen=True, eq=False)
class _Scan(FlatRecord):
    """Keeps the block as it is."""

    block: QueryBlock
    space: Space

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """Nothing to build."""
        return cls(block, space)

    def _keyword_pairs(self, objects: ObjectColumns) -> Iterator[tuple[int, I64]]:
        """Object row, and the rows of the queries whose keywords it satisfies."""
        block, terms = self.block, objects.terms
        remap = block.dictionary.lookup(terms.dictionary)
        has: Flag = np.zeros(len(block.dictionary), np.bool_)
        for i in range(len(objects)):
            mapped = remap[terms.ids[terms.offsets[i] : terms.offsets[i + 1]]]
            mapped = mapped[mapped >= 0]
            has[mapped] = True
            lacks = _list_sums(block.pos_offsets, ~has[block.pos])
            breaks = _list_sums(block.neg_offsets, has[block.neg])
            has[mapped] = False
            yield i, np.unique(block.conj_query[(lacks == 0) & (breaks == 0)]).astype(np.int64)


class ScanStanding(_Scan):
    """Reference of :class:`~sightline.index.protocol.StandingIndex`."""

    def match(self, objects: ObjectColumns) -> MatchPairs:
        """All pairs, each once."""
        rows: list[I32] = [np.empty(0, np.int32)]
        queries: list[I32] = [np.empty(0, np.int32)]
        for i, found in self._keyword_pairs(objects):
            lon, lat = np.full(found.size, objects.lon[i]), np.full(found.size, objects.lat[i])
            found = found[inside_pairs(self.block.regions, self.space, found, lon, lat)]
            rows.append(np.full(found.size, i, np.int32))
            queries.append(found.astype(np.int32))
        return MatchPairs(np.concatenate(rows), np.concatenate(queries), len(objects) * len(self.block.conj_query))


class ScanNearest(_Scan):
    """Reference of :class:`~sightline.index.protocol.NearestIndex`."""

    def candidates(self, objects: ObjectColumns, bounds: NearestBounds) -> NearestPairs:
        """All pairs within the radius and lifetime of their query."""
        rows: list[I32] = [np.empty(0, np.int32)]
        queries: list[I32] = [np.empty(0, np.int32)]
        distances: list[I64] = [np.empty(0, np.int64)]
        for i, found in self._keyword_pairs(objects):
            at = self.block.at[found]
            lon, lat = np.full(found.size, objects.lon[i]), np.full(found.size, objects.lat[i])
            distance = pair_distance_mm(self.space, at[:, 0], at[:, 1], lon, lat)
            near = distance <= bounds.radius_mm[found]
            near &= (objects.ts[i] >= bounds.start[found]) & (objects.ts[i] < bounds.end[found])
            rows.append(np.full(int(near.sum()), i, np.int32))
            queries.append(found[near].astype(np.int32))
            distances.append(distance[near])
        return NearestPairs(
            np.concatenate(rows),
            np.concatenate(queries),
            np.concatenate(distances),
            len(objects) * len(self.block.conj_query),
        )


def _list_sums(offsets: I64, flags: Flag) -> I64:
    """Number of set flags in each list."""
    sums = np.zeros(flags.size + 1, np.int64)
    np.cumsum(flags, out=sums[1:])
    return sums[offsets[1:]] - sums[offsets[:-1]]
