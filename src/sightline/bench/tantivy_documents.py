"""Posts as documents of tantivy: what a user of a text search library would do for range queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.bench.extras import extra
from sightline.flat.arrays import F64, I64
from sightline.index.protocol import ObjectColumns

__all__ = ["TantivyDocuments"]

_FIRST_LIMIT = 1024  # tantivy makes room for as many hits as it may return
_HEAP = 256_000_000


class TantivyDocuments:
    """Words as integer terms, places as fast fields; a query is its terms and two ranges, all hits wanted."""

    def __init__(self, objects: ObjectColumns, path: Path | None = None) -> None:
        self._tantivy = tantivy = extra("tantivy")
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("word", indexed=True)
        builder.add_integer_field("num", fast=True)
        builder.add_float_field("lon", fast=True)
        builder.add_float_field("lat", fast=True)
        self._schema = builder.build()
        index = tantivy.Index(self._schema, None if path is None else str(path))
        writer = index.writer(heap_size=_HEAP, num_threads=1)
        ends, words = objects.terms.offsets.tolist(), objects.terms.ids
        places = zip(objects.lon.tolist(), objects.lat.tolist(), strict=True)
        for num, (lon, lat) in enumerate(places):
            terms = words[ends[num] : ends[num + 1]].tolist()
            writer.add_document(tantivy.Document(num=num, word=terms, lon=lon, lat=lat))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def range(self, words: Sequence[int], box: Sequence[float] | F64) -> I64:
        """Rows in a box that have all words, in no order."""
        query = self._query(words, box)
        limit = _FIRST_LIMIT
        hits = self._searcher.search(query, limit=limit, count=False).hits
        while len(hits) == limit:
            limit *= 16
            hits = self._searcher.search(query, limit=limit, count=False).hits
        return np.array(self._searcher.fast_field_values("num", [address for _, address in hits]), np.int64)

    def _query(self, words: Sequence[int], box: Sequence[float] | F64) -> Any:
        tantivy, schema = self._tantivy, self._schema
        west, south, east, north = map(float, box)
        kind = tantivy.FieldType.Float
        parts = [tantivy.Query.term_query(schema, "word", int(word), "basic") for word in words]
        parts.append(tantivy.Query.range_query(schema, "lon", kind, west, east))
        parts.append(tantivy.Query.range_query(schema, "lat", kind, south, north))
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in parts])
