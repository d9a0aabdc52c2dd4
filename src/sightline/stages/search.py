"""Search: snapshot queries in the caller's process, over the committed segments.

A query sees every batch committed when it begins. Segments are pruned by time, place and terms before they are mapped;
what remains is asked by its index and the answers are put in the order of the semantics page.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.geo.bounds import pieces
from sightline.geo.contains import inside
from sightline.index.objects.segment import Segment
from sightline.index.protocol import Conjunct
from sightline.model.expression import Expression
from sightline.model.queries import (
    NearestQuery,
    Query,
    RangeQuery,
    TopTermsQuery,
    check_snapshot,
    check_space,
    time_bounds,
)
from sightline.model.regions import Box
from sightline.stages import schema as payload
from sightline.stages.mapped import FILES
from sightline.stages.read import INSTANT
from sightline.store.files import FileEntry
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store
from sightline.text.dictionary import TermDictionary

OBJECTS = pa.schema(
    [("id", pa.string()), ("lon", pa.float64()), ("lat", pa.float64()), ("ts", INSTANT), ("text", pa.string())]
)
TERMS = pa.schema([("term", pa.string()), ("count", pa.int64())])
TIES = [("id", "ascending"), ("lon", "ascending"), ("lat", "ascending"), ("text", "ascending")]
Rows = npt.NDArray[np.int64]


@dataclass
class Explain:
    """How an answer came about."""

    version: int = 0
    segments: list[dict[str, Any]] = field(default_factory=list)  # name, rows, and pruned (why) or candidates, found
    seconds: float = 0.0

    @property
    def searched(self) -> int:
        return sum("pruned" not in segment for segment in self.segments)

    @property
    def candidates(self) -> int:
        return sum(segment.get("candidates", 0) for segment in self.segments)

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "seconds": self.seconds,
            "segments": len(self.segments),
            "searched": self.searched,
            "candidates": self.candidates,
            "detail": self.segments,
        }


class Searcher:
    """Answers snapshot queries over a store; safe for threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def answer(self, query: Query, pinned: Snapshot | None = None) -> tuple[pa.Table, Explain]:
        """The answer to one query and how it came about; over everything committed, or over a pinned snapshot."""
        began = time.perf_counter()

        def read(snapshot: Snapshot) -> tuple[pa.Table, Explain]:
            explain = Explain(version=snapshot.version)
            return self._answer(query, snapshot, explain), explain

        table, explain = self._store.read(read) if pinned is None else read(pinned)
        explain.seconds = time.perf_counter() - began
        return table, explain

    def _answer(self, query: Query, snapshot: Snapshot, explain: Explain) -> pa.Table:
        check_snapshot(query)
        check_space(query, self._store.config.space)
        columns = pa.unify_schemas([OBJECTS, payload.decode(snapshot.schema)])
        if snapshot.high_us is None:
            low, high = 1, 0
        else:
            low, high = time_bounds(query, snapshot.high_us)
        if isinstance(query, RangeQuery):
            return self._range(query, snapshot, (low, high), columns, explain)
        if isinstance(query, NearestQuery):
            return self._nearest(query, snapshot, (low, high), columns, explain)
        return self._top_terms(query, snapshot, (low, high), explain)

    def _range(
        self, query: RangeQuery, snapshot: Snapshot, span: tuple[int, int], columns: pa.Schema, explain: Explain
    ) -> pa.Table:
        space = self._store.config.space
        boxes = pieces(query.region, space)
        parts = []
        for segment, conjuncts, said in self._segments(snapshot, span, boxes, query.keywords, explain):
            rows = segment.index.range(conjuncts, boxes, *span)
            if not isinstance(query.region, Box):
                rows = rows[inside(query.region, space, segment.lon[rows], segment.lat[rows])]
            said["found"] = len(rows)
            if query.limit is not None and len(rows) > query.limit:
                rows = _newest(rows, segment.ts[rows], query.limit)
            parts.append(segment.rows(rows))
        found = _together(parts, columns)
        order = pc.sort_indices(found, sort_keys=[("ts", "descending"), *TIES])
        return found.take(order if query.limit is None else order[: query.limit])

    def _nearest(
        self, query: NearestQuery, snapshot: Snapshot, span: tuple[int, int], columns: pa.Schema, explain: Explain
    ) -> pa.Table:
        space = self._store.config.space
        parts = []
        for segment, conjuncts, said in self._segments(snapshot, span, None, query.keywords, explain):
            rows, distance = segment.index.nearest(conjuncts, query.at, query.k, *span, space)
            said["found"] = len(rows)
            parts.append(segment.rows(rows).append_column("distance_m", pa.array(distance / 1000)))
        found = _together(parts, columns.append(pa.field("distance_m", pa.float64())))
        order = pc.sort_indices(found, sort_keys=[("distance_m", "ascending"), ("ts", "descending"), *TIES])
        return found.take(order[: query.k])

    def _top_terms(self, query: TopTermsQuery, snapshot: Snapshot, span: tuple[int, int], explain: Explain) -> pa.Table:
        space = self._store.config.space
        boxes = pieces(query.region, space)
        parts = [TERMS.empty_table()]
        for segment, _, said in self._segments(snapshot, span, boxes, None, explain):
            counts = segment.index.term_counts(boxes, *span, query.region, space)
            ids = np.flatnonzero(counts)
            said["found"] = len(ids)
            terms = segment.dictionary.strings().take(pa.array(ids)).cast(pa.string())
            parts.append(pa.table([terms, pa.array(counts[ids])], schema=TERMS))
        # Terms are added up as strings: two that share a hash stay two.
        total = pa.concat_tables(parts).group_by("term").aggregate([("count", "sum")]).rename_columns(["term", "count"])
        order = pc.sort_indices(total, sort_keys=[("count", "descending"), ("term", "ascending")])
        return total.take(order[: query.k]).cast(TERMS)

    def _segments(
        self,
        snapshot: Snapshot,
        span: tuple[int, int],
        boxes: npt.NDArray[np.float64] | None,
        keywords: Expression | None,
        explain: Explain,
    ) -> Iterator[tuple[Segment, list[Conjunct], dict[str, Any]]]:
        """Segments that may hold an answer, with the query's conjuncts in their term ids."""
        config = self._store.config
        asked = [] if keywords is None else list(keywords.dnf(config.text).conjuncts)
        words = sorted({word for conjunct in asked for word in (*conjunct.positive, *conjunct.negative)})
        dictionary = TermDictionary.from_strings(words, config.seed, config.hash_bits)
        for entry in snapshot.entries("segment"):
            said: dict[str, Any] = {"name": entry.name, "rows": entry.rows}
            explain.segments.append(said)
            why = _pruned(entry, span, boxes)
            if why is not None:
                said["pruned"] = why
                continue
            segment = FILES.get(str(self._store.path), entry.name, "segment", Segment.from_file)
            ids = dict(zip(words, segment.dictionary.lookup(dictionary).tolist(), strict=True))
            conjuncts: list[Conjunct] = []
            for conjunct in asked:
                positive = [ids[word] for word in conjunct.positive]
                if -1 not in positive:
                    conjuncts.append((positive, [ids[word] for word in conjunct.negative if ids[word] >= 0]))
            if asked and not conjuncts:
                said["pruned"] = "terms"
                continue
            before = segment.index.work.candidates
            yield segment, conjuncts, said
            said["candidates"] = segment.index.work.candidates - before


def _pruned(entry: FileEntry, span: tuple[int, int], boxes: npt.NDArray[np.float64] | None) -> str | None:
    if entry.high < span[0] or entry.low > span[1]:
        return "time"
    if boxes is not None:
        west, south, east, north = entry.meta["bbox"]
        meets = (boxes[:, 0] <= east) & (boxes[:, 2] >= west) & (boxes[:, 1] <= north) & (boxes[:, 3] >= south)
        if not meets.any():
            return "place"
    return None


def _newest(rows: Rows, ts: npt.NDArray[np.int64], limit: int) -> Rows:
    """Rows that can be among the `limit` newest: every tie on ts at the cut stays."""
    kept: Rows = rows[ts >= np.partition(ts, len(ts) - limit)[len(ts) - limit]]
    return kept


def _together(parts: list[pa.Table], columns: pa.Schema) -> pa.Table:
    joined = pa.concat_tables([columns.empty_table(), *parts], promote_options="default")
    return joined.select(columns.names)
