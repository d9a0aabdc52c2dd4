"""Range search over one segment: microseconds per query, ids included, against DuckDB and tantivy on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from sightline.bench.duckdb_postings import DuckdbPostings
from sightline.bench.loads import name_of_area
from sightline.bench.one_segment import SEARCHED_AREAS, SEARCHED_KEYWORDS, OneSegment, one_segment
from sightline.bench.segments import IndexedPosts, SegmentQuery, rows_of, same_rows
from sightline.bench.summary import ENGINE, OURS
from sightline.bench.tantivy_documents import TantivyDocuments
from sightline.bench.timing import PROGRESS, per_query
from sightline.model.expression import all_of
from sightline.model.queries import RangeQuery
from sightline.model.regions import Box
from sightline.model.time import MAX_US, MIN_US


def run(
    objects: int = 5_000_000, queries: int = 200, seed: int = 7, dataset: Path | None = None, quick: bool = False
) -> dict[str, Any]:
    """Measure ``queries`` queries of every region size and number of keywords; ``metrics`` are over all of them.

    Times are the least of three repeats per query, contestants in turn; rows become ids in the same way for all of
    them. ``engine_mean_us`` is the same queries through the search of a store, which returns whole rows in the order
    of the semantics; the store has the first million posts at most.

    Raises
    ------
    AssertionError
        A contestant's rows differ.
    """
    with one_segment(objects, queries, seed, dataset, quick) as over:
        PROGRESS.info("loading DuckDB and tantivy")
        duckdb, tantivy = DuckdbPostings(over.built.objects), TantivyDocuments(over.built.objects)
        for size, count in product(SEARCHED_AREAS, SEARCHED_KEYWORDS):
            name = f"{name_of_area(size)} {count} kw"
            PROGRESS.info(name)
            asked = over.asked(size, count)
            contestants, results = _contestants(over.built, asked, duckdb, tantivy)
            contestants[ENGINE] = _engine(over, asked)
            over.board.add(name, per_query(contestants, range(len(asked))), results=results)
        duckdb.close()
        return over.result()


def _contestants(
    built: IndexedPosts, asked: list[SegmentQuery], duckdb: DuckdbPostings, tantivy: TantivyDocuments
) -> tuple[dict[str, Callable[[int], object]], float]:
    """Who answers query i, after comparing what they answer; and the mean number of rows."""
    reader, ids = built.segment.index, built.ids
    boxes = [query.pieces for query in asked]
    conjuncts = [[(query.terms, ())] for query in asked]
    results = 0
    for i, query in enumerate(asked):
        expected = reader.range(conjuncts[i], boxes[i], MIN_US, MAX_US)
        same_rows("DuckDB", i, expected, duckdb.range(query.terms, query.box))
        same_rows("tantivy", i, expected, tantivy.range(query.terms, query.box))
        results += expected.size
    return {
        OURS: lambda i: ids.take(reader.range(conjuncts[i], boxes[i], MIN_US, MAX_US)),
        "duckdb": lambda i: ids.take(duckdb.range(asked[i].terms, asked[i].box)),
        "tantivy": lambda i: ids.take(tantivy.range(asked[i].terms, asked[i].box)),
    }, results / len(asked)


def _engine(over: OneSegment, asked: list[SegmentQuery]) -> Callable[[int], object]:
    """The same queries through the engine; answers are compared where the store has all posts."""
    queries = [RangeQuery(all_of(query.words), Box(*query.box.tolist())) for query in asked]
    segment, searcher = over.built.segment, over.searcher
    if over.whole:
        for i, query in enumerate(asked):
            found = segment.index.range([(query.terms, ())], query.pieces, MIN_US, MAX_US)
            same_rows("the engine", i, rows_of(segment.rows(found)), rows_of(searcher.answer(queries[i])[0]))
    return lambda i: searcher.answer(queries[i])
