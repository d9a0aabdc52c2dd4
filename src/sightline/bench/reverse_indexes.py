"""Two more things a user would try for standing range queries: tantivy upside down, and a tree of rectangles.

Both are asked post by post from Python, which is the only way they offer.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
from shapely import STRtree, box, points

from sightline.bench.extras import extra
from sightline.bench.flat_queries import FlatObjects, FlatQueries
from sightline.bench.workload import Bounds
from sightline.flat.arrays import I64

__all__ = ["RectangleTree", "TantivyReverse", "pairs_of"]

_GRID = 64
_TERMS = 1 << 24
_FIRST_LIMIT = 256  # tantivy makes room for as many hits as it may return


class TantivyReverse:
    """Queries as documents: one integer term per cell and rarest keyword; posts are asked as any-of terms.

    Box and remaining keywords of the hits are verified in NumPy. Asking by keyword and four ranges over fast fields
    instead was two to five times slower when both were tried.
    """

    def __init__(self, queries: FlatQueries, bounds: Bounds) -> None:
        self._tantivy = tantivy = extra("tantivy")
        self._queries, self._bounds = queries, bounds
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("key", indexed=True)
        builder.add_integer_field("num", fast=True)
        self._schema = builder.build()
        index = tantivy.Index(self._schema)
        writer = index.writer(heap_size=256_000_000, num_threads=1)
        x0, x1 = self._cells(queries.west, 0), self._cells(queries.east, 0)
        y0, y1 = self._cells(queries.south, 1), self._cells(queries.north, 1)
        spans = zip(x0.tolist(), x1.tolist(), y0.tolist(), y1.tolist(), queries.words[:, 0].tolist(), strict=True)
        for num, (left, right, bottom, top, word) in enumerate(spans):
            document = tantivy.Document(num=num)
            for x in range(left, right + 1):
                for y in range(bottom, top + 1):
                    document.add_integer("key", (x * _GRID + y) * _TERMS + word)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def ask(self, objects: FlatObjects, i: int) -> I64:
        """Queries that one post matches."""
        tantivy, queries = self._tantivy, self._queries
        lon, lat, words = objects.lon[i], objects.lat[i], objects.row(i)
        cell = int(self._cells(objects.lon[i : i + 1], 0)[0]) * _GRID + int(self._cells(objects.lat[i : i + 1], 1)[0])
        asked = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "key", cell * _TERMS + word, "basic"))
            for word in words.tolist()
        ]
        if not asked:
            return np.empty(0, np.int64)
        any_of, limit = tantivy.Query.boolean_query(asked), _FIRST_LIMIT
        hits = self._searcher.search(any_of, limit=limit, count=False).hits
        while len(hits) == limit:
            limit *= 16
            hits = self._searcher.search(any_of, limit=limit, count=False).hits
        if not hits:
            return np.empty(0, np.int64)
        found = np.array(self._searcher.fast_field_values("num", [address for _, address in hits]), np.int64)
        inside = (queries.west[found] <= lon) & (lon <= queries.east[found])
        found = found[inside & (queries.south[found] <= lat) & (lat <= queries.north[found])]
        have = np.append(words, -1)
        rest = queries.words[found, 1:]
        matched: I64 = found[np.isin(rest, have).all(axis=1)]
        return matched

    def _cells(self, values: Any, axis: int) -> I64:
        low, high = self._bounds[axis], self._bounds[axis + 2]
        cells: I64 = np.clip(np.floor((values - low) * (_GRID / (high - low))), 0, _GRID - 1).astype(np.int64)
        return cells


class RectangleTree:
    """shapely's STRtree of the regions, and one set of words per query."""

    def __init__(self, queries: FlatQueries) -> None:
        self._tree = STRtree(box(queries.west, queries.south, queries.east, queries.north))
        self._words = [frozenset(words) - {-1} for words in queries.words.tolist()]

    def ask(self, objects: FlatObjects, i: int) -> I64:
        """Queries that one post matches."""
        have = set(objects.row(i).tolist())
        met = self._tree.query(points(objects.lon[i], objects.lat[i])).tolist()
        return np.array([query for query in met if self._words[query] <= have], np.int64)


def pairs_of(contestant: TantivyReverse | RectangleTree, objects: FlatObjects, sample: I64) -> tuple[list[int], I64]:
    """Pairs of some posts."""
    rows: list[int] = []
    found = [np.empty(0, np.int64)]
    for i in sample.tolist():
        queries = contestant.ask(objects, i)
        rows.extend(repeat(i, queries.size))
        found.append(queries)
    return rows, np.concatenate(found)
