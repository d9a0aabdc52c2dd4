"""The reference: every row of the segment is looked at, by NumPy, in the order the rows came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from sightline.flat.arrays import F64, I32, I64, Flag
from sightline.geo.contains import inside
from sightline.geo.distance import distance_mm
from sightline.index.objects.nearest import nearest_first
from sightline.index.objects.top_terms import top_from_counts
from sightline.index.protocol import Conjunct, ObjectColumns, TopTerms, Work
from sightline.model.regions import Region
from sightline.model.space import Space

__all__ = ["ScanObjects"]


class ScanObjects:
    """Reference of :class:`~sightline.index.protocol.ObjectIndex` and of its reader."""

    def __init__(self, lon: F64, lat: F64, ts: I64, offsets: I64, ids: I32, terms: int) -> None:
        self.lon, self.lat, self.ts, self.offsets, self.ids = lon, lat, ts, offsets, ids
        self._terms, self._work = terms, Work()

    @classmethod
    def build(cls, objects: ObjectColumns, bounds: tuple[float, float, float, float]) -> tuple[I64, dict[str, Any]]:
        """Rows stay where they are."""
        arrays = {
            "lon": objects.lon,
            "lat": objects.lat,
            "ts": objects.ts,
            "offsets": objects.terms.offsets,
            "ids": objects.terms.ids,
            "terms": np.array([len(objects.terms.dictionary)]),
        }
        return np.arange(len(objects), dtype=np.int64), arrays

    @classmethod
    def open(cls, arrays: Callable[[str], Any], rows: int) -> Self:
        """Reader over (mapped) arrays."""
        lon, lat, ts, offsets, ids = (np.asarray(arrays(name)) for name in ("lon", "lat", "ts", "offsets", "ids"))
        return cls(lon, lat, ts, offsets, ids, int(arrays("terms")[0]))

    @property
    def work(self) -> Work:
        """What the calls so far have cost."""
        return self._work

    def range(self, conjuncts: Sequence[Conjunct], pieces: F64, lo_us: int, hi_us: int) -> I64:
        """Rows inside any piece and the time that satisfy any conjunct."""
        self._work.candidates += len(self.lon)
        self._work.calls += 1
        placed = np.zeros(len(self.lon), np.bool_)
        for west, south, east, north in np.asarray(pieces):
            placed |= (self.lon >= west) & (self.lon <= east) & (self.lat >= south) & (self.lat <= north)
        worded = np.zeros(len(self.lon), np.bool_)
        for positive, negative in conjuncts:
            hit = np.ones(len(self.lon), np.bool_)
            for term in positive:
                hit &= self._has(term)
            for term in negative:
                hit &= ~self._has(term)
            worded |= hit
        return np.flatnonzero(placed & worded & (self.ts >= lo_us) & (self.ts <= hi_us))

    def nearest(
        self, conjuncts: Sequence[Conjunct], at: tuple[float, float], k: int, lo_us: int, hi_us: int, space: Space
    ) -> tuple[I64, I64]:
        """The k nearest rows and all ties at the k-th distance."""
        everywhere = np.array([[-np.inf, -np.inf, np.inf, np.inf]])
        rows = self.range(conjuncts, everywhere, lo_us, hi_us)
        return nearest_first(rows, distance_mm(space, *at, self.lon[rows], self.lat[rows]), k)

    def term_counts(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time per term."""
        rows = self.range([((), ())], pieces, lo_us, hi_us)
        rows = rows[inside(region, space, self.lon[rows], self.lat[rows])]
        chosen = np.zeros(len(self.lon), np.bool_)
        chosen[rows] = True
        counts: I64 = np.bincount(self.ids[np.repeat(chosen, np.diff(self.offsets))], minlength=self._terms)
        return counts

    def top_terms(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space, k: int) -> TopTerms:
        """The k most frequent terms and all ties."""
        return top_from_counts(self.term_counts(pieces, lo_us, hi_us, region, space), k)

    def counts_of(self, terms: I64, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time that have each term."""
        return self.term_counts(pieces, lo_us, hi_us, region, space)[np.asarray(terms, np.int64)]

    def _has(self, term: int) -> Flag:
        hits = np.zeros(len(self.ids) + 1, np.int64)
        np.cumsum(self.ids == term, out=hits[1:])
        flags: Flag = hits[self.offsets[1:]] > hits[self.offsets[:-1]]
        return flags
