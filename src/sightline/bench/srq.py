"""Range search over one segment: microseconds per query, ids included, against DuckDB and tantivy on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sightline.bench.duckdb_postings import DuckdbPostings
from sightline.bench.loads import name_of_area, two_sets
from sightline.bench.segments import Asked, Indexed, asked_of, indexed, rows_of, same_rows, searcher_over
from sightline.bench.summary import ENGINE, OURS, Board
from sightline.bench.tantivy_documents import TantivyDocuments
from sightline.bench.timing import PROGRESS, per_query, rounded
from sightline.bench.workload import range_queries
from sightline.model.expression import all_of
from sightline.model.queries import RangeQuery
from sightline.model.regions import Box
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.search.search import Searcher

SIZES = (1e-6, 1e-4, 1e-3, 1e-2)
KEYWORDS = (1, 2, 3)


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
    if quick:
        objects, queries = min(objects, 50_000), min(queries, 20)
    posts = two_sets(objects, 20 * queries, seed, dataset)
    built = indexed(posts.objects)
    PROGRESS.info("loading DuckDB and tantivy")
    duckdb, tantivy = DuckdbPostings(built.objects), TantivyDocuments(built.objects)
    board = Board()
    with searcher_over(posts.objects) as (searcher, engine_rows):
        for size in SIZES:
            for count in KEYWORDS:
                name = f"{name_of_area(size)} {count} kw"
                PROGRESS.info(name)
                table = range_queries(posts.source, 2 * queries + 20, "Z", size, seed, posts.bounds, (count, count))
                asked = asked_of(table, built.segment, queries)
                contestants, results = _contestants(built, asked, duckdb, tantivy)
                contestants[ENGINE] = _engine(searcher, asked, built, engine_rows)
                board.add(name, per_query(contestants, range(len(asked))), results=results)
    duckdb.close()
    return {
        "params": {
            "objects": len(posts.objects), "queries": queries, "seed": seed,
            "dataset": None if dataset is None else str(dataset), "engine_rows": engine_rows,
        },
        "metrics": board.metrics() | rounded(built.figures),
        "loads": board.loads,
    }  # fmt: skip


def _contestants(
    built: Indexed, asked: list[Asked], duckdb: DuckdbPostings, tantivy: TantivyDocuments
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


def _engine(searcher: Searcher, asked: list[Asked], built: Indexed, rows: int) -> Callable[[int], object]:
    """The same queries through the engine; answers are compared where the store has all posts."""
    queries = [RangeQuery(all_of(query.words), Box(*query.box.tolist())) for query in asked]
    if rows == len(built.objects):
        for i, query in enumerate(asked):
            found = built.segment.index.range([(query.terms, ())], query.pieces, MIN_US, MAX_US)
            same_rows("the engine", i, rows_of(built.segment.rows(found)), rows_of(searcher.answer(queries[i])[0]))
    return lambda i: searcher.answer(queries[i])
