"""Answers under way: what to ask each segment, when a segment cannot add anything any more, and how parts are merged.

An answer visits segments in any order, possibly from several threads; what it knows so far only ever lets it leave
out segments that cannot change it.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

import numpy as np
import pyarrow as pa

from sightline.flat.arrays import I64
from sightline.flat.columns import column_of, strings_of
from sightline.geo.bounds import pieces
from sightline.geo.contains import inside
from sightline.index.protocol import Conjunct
from sightline.model.config import StoreConfig
from sightline.model.queries import NearestQuery, RangeQuery, TopTermsQuery
from sightline.model.regions import Box, Circle
from sightline.model.space import Space
from sightline.stages.search.answer_rows import FoundRows
from sightline.stages.search.asked import AskedQuery
from sightline.stages.search.progress import Progress, SegmentRead
from sightline.stages.search.search_terms import COUNT_SCHEMA, NamedTerms, SegmentTerms, top_terms
from sightline.stages.search.search_view import Fate, OpenSegment

DISTANCE = pa.field("distance_m", pa.float64())
MANY_ROWS = 4096  # rows of one segment worth testing against a region in its own thread


class Kind(Protocol):
    """How queries of one kind are answered."""

    def order(self, progress: Progress) -> I64:
        """Segments to visit, the most promising first."""
        ...

    def settled(self, segment: int) -> int:
        """SEARCHED while a segment may change the answer, else why it cannot."""
        ...

    def visit(self, segment: int, opened: OpenSegment, conjuncts: list[Conjunct]) -> SegmentRead:
        """Ask one segment; ``found`` may be corrected by the merge."""
        ...

    def merge(self, progress: Progress) -> pa.Table:
        """The answer, once all segments were visited or left out."""
        ...


class Answer:
    """One query on its way through the segments of a view."""

    def __init__(self, asked: AskedQuery, progress: Progress, config: StoreConfig) -> None:
        self.asked, self.progress = asked, progress
        self.kind = _kind(asked, progress, config)

    def visit(self, segment: int) -> None:
        """Ask one segment unless it cannot add anything."""
        progress, began = self.progress, time.perf_counter()
        settled = self.kind.settled(segment)
        if settled != Fate.SEARCHED:
            progress.fate[segment] = settled
            return
        opened = progress.view.open(segment)
        conjuncts: list[Conjunct] = []
        if self.asked.words is not None:
            conjuncts, absent = self.asked.words.conjuncts(opened.segment.dictionary)
            if not conjuncts:
                progress.fate[segment], progress.absent[segment] = Fate.TERMS, absent
                return
        read = self.kind.visit(segment, opened, conjuncts)
        read.us = (time.perf_counter() - began) * 1e6
        progress.read[segment] = read


class RangeRows:
    """Objects of a region, newest first; with a limit, segments older than the newest so many are left out."""

    def __init__(self, query: RangeQuery, asked: AskedQuery, progress: Progress, space: Space) -> None:
        assert asked.boxes is not None
        self._query, self._boxes, self._view, self._space = query, asked.boxes, progress.view, space
        self._span = progress.span
        self._parts: dict[int, tuple[OpenSegment, I64, bool]] = {}  # the bool: tested against the region itself
        self._lock = threading.Lock()
        self._newest: I64 = np.empty(0, np.int64)  # the limit newest instants so far, the oldest of them first

    def order(self, progress: Progress) -> I64:
        open_ = np.flatnonzero(progress.fate == Fate.SEARCHED)
        if self._query.limit is None or len(open_) < 2:
            return open_
        return open_[np.argsort(self._view.high[open_])[::-1]]

    def settled(self, segment: int) -> int:
        # An object as new as the last of them may still come before it by its id.
        newest = self._newest
        return (
            Fate.OLDER if len(newest) == self._query.limit and self._view.high[segment] < newest[0] else Fate.SEARCHED
        )

    def visit(self, segment: int, opened: OpenSegment, conjuncts: list[Conjunct]) -> SegmentRead:
        rows, looked = opened.ask(lambda reader: reader.range(conjuncts, self._boxes, *self._span))
        limit, region = self._query.limit, self._query.region
        exact = isinstance(region, Box) or limit is not None or len(rows) > MANY_ROWS
        if exact and not isinstance(region, Box):
            rows = rows[inside(region, self._space, opened.segment.lon[rows], opened.segment.lat[rows])]
        found = len(rows)
        if limit is not None and found:
            ts = opened.segment.ts[rows]
            if found > limit:  # ties at the cut stay
                cut = np.partition(ts, found - limit)[found - limit]
                rows, ts = rows[ts >= cut], ts[ts >= cut]
            with self._lock:
                both = np.concatenate((self._newest, ts))
                self._newest = np.sort(both)[-limit:]
        self._parts[segment] = (opened, rows, exact)
        return SegmentRead(looked, found)

    def merge(self, progress: Progress) -> pa.Table:
        numbers = sorted(number for number, (_, rows, _) in self._parts.items() if len(rows))
        if not numbers:
            return progress.view.nothing
        parts = [self._parts[number] for number in numbers]
        found = FoundRows([opened for opened, _, _ in parts], [rows for _, rows, _ in parts])
        if not all(exact for _, _, exact in parts):  # small parts: the region is made ready once for all of them
            exact = np.array([exact for _, _, exact in parts])[found.part]
            at = np.flatnonzero(~exact)
            exact[at] = inside(self._query.region, self._space, found.numbers("lon")[at], found.numbers("lat")[at])
            found.keep(exact)
            for number, count in zip(numbers, found.counts, strict=True):
                progress.read[number].found = count
        newest_first = ~found.numbers("ts")  # descending, and no instant overflows
        return found.table(found.ordered([newest_first], self._query.limit), progress.view.columns)


class NearestRows:
    """The k nearest objects; segments that lie beyond k found ones are left out."""

    def __init__(self, query: NearestQuery, progress: Progress, space: Space) -> None:
        self._query, self._view, self._space, self._span = query, progress.view, space, progress.span
        self._parts: dict[int, tuple[OpenSegment, I64, I64]] = {}
        self._lock = threading.Lock()
        self._nearest: I64 = np.empty(0, np.int64)  # the k smallest distances so far, ascending
        self._radius: int | None = None  # for which `_meets` says what lies within it
        self._meets = np.ones(len(progress.view), np.bool_)

    def order(self, progress: Progress) -> I64:
        """By the distance of their boxes in degrees: only a guess, and enough to begin well."""
        open_ = np.flatnonzero(progress.fate == Fate.SEARCHED)
        if len(open_) < 2:
            return open_
        (lon, lat), (west, south, east, north) = self._query.at, self._view.bbox[open_].T
        apart = np.maximum(0, np.maximum(west - lon, lon - east)) + np.maximum(0, np.maximum(south - lat, lat - north))
        return open_[np.lexsort((-self._view.rows[open_], apart))]

    def settled(self, segment: int) -> int:
        nearest = self._nearest
        if len(nearest) == self._query.k:
            radius = int(nearest[-1])
            if self._radius is None or radius * 2 < self._radius:  # the circle's box takes 90 us
                circle = Circle(*self._query.at, radius / 1000.0)
                self._meets, self._radius = self._view.meets(pieces(circle, self._space)), radius
        return Fate.SEARCHED if self._meets[segment] else Fate.FARTHER

    def visit(self, segment: int, opened: OpenSegment, conjuncts: list[Conjunct]) -> SegmentRead:
        query = self._query
        (rows, distance), looked = opened.ask(
            lambda reader: reader.nearest(conjuncts, query.at, query.k, *self._span, self._space)
        )
        with self._lock:
            self._nearest = np.sort(np.concatenate((self._nearest, distance)))[: query.k]
        self._parts[segment] = (opened, rows, distance)
        return SegmentRead(looked, len(rows))

    def merge(self, progress: Progress) -> pa.Table:
        parts = [self._parts[number] for number in sorted(self._parts) if len(self._parts[number][1])]
        if not parts:
            return progress.view.nothing.append_column(DISTANCE, column_of(np.empty(0)))
        found = FoundRows([opened for opened, _, _ in parts], [rows for _, rows, _ in parts])
        distance = np.concatenate([some for _, _, some in parts])
        newest_first = ~found.numbers("ts")
        order = found.ordered([distance, newest_first], self._query.k)
        return found.table(order, progress.view.columns).append_column(DISTANCE, column_of(distance[order] / 1000))


class TopTermsRows:
    """The k terms in most objects of a region."""

    def __init__(self, query: TopTermsQuery, asked: AskedQuery, progress: Progress, config: StoreConfig) -> None:
        assert asked.boxes is not None
        self._query, self._boxes, self._config, self._span = query, asked.boxes, config, progress.span
        self._alone = int(np.count_nonzero(progress.fate == Fate.SEARCHED)) == 1
        self._parts: dict[int, tuple[SegmentTerms, NamedTerms]] = {}

    def order(self, progress: Progress) -> I64:
        return np.flatnonzero(progress.fate == Fate.SEARCHED)

    def settled(self, segment: int) -> int:
        return Fate.SEARCHED

    def visit(self, segment: int, opened: OpenSegment, conjuncts: list[Conjunct]) -> SegmentRead:
        part = SegmentTerms(opened, self._boxes, self._span, self._query.region, self._config, self._alone)
        named = part.top(self._query.k)
        self._parts[segment] = (part, named)
        return SegmentRead(part.looked, len(named.counts))

    def merge(self, progress: Progress) -> pa.Table:
        numbers = sorted(self._parts)
        parts, named = [self._parts[n][0] for n in numbers], [self._parts[n][1] for n in numbers]
        best = top_terms(parts, named, self._query.k)
        for number, part in zip(numbers, parts, strict=True):
            progress.read[number].candidates = part.looked
        columns = [
            strings_of([term for term, _ in best]),
            column_of(np.array([count for _, count in best], np.int64)),
        ]
        return pa.Table.from_arrays(columns, schema=COUNT_SCHEMA)


def _kind(asked: AskedQuery, progress: Progress, config: StoreConfig) -> Kind:
    query, space = asked.query, config.space
    if isinstance(query, RangeQuery):
        return RangeRows(query, asked, progress, space)
    if isinstance(query, NearestQuery):
        return NearestRows(query, progress, space)
    return TopTermsRows(query, asked, progress, config)
