"""Nearest search over one segment: microseconds per query against DuckDB on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.bench.duckdb_postings import DuckdbPostings
from sightline.bench.loads import two_sets
from sightline.bench.segments import Asked, Indexed, asked_of, indexed, searcher_over
from sightline.bench.summary import ENGINE, OURS, Board
from sightline.bench.timing import PROGRESS, per_query, rounded
from sightline.bench.workload import range_queries
from sightline.model.expression import all_of
from sightline.model.queries import NearestQuery
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.search.search import Searcher

KEYWORDS = (1, 2, 3)


def run(
    objects: int = 5_000_000,
    queries: int = 200,
    k: int = 10,
    seed: int = 7,
    dataset: Path | None = None,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure ``queries`` queries of one, two and three keywords (AND); ``metrics`` are over all of them.

    DuckDB looks through windows that grow until they hold the answer, or fetches a short list whole.

    Raises
    ------
    AssertionError
        The answers differ; rows and distances are compared, ties included.
    """
    if quick:
        objects, queries = min(objects, 50_000), min(queries, 20)
    posts = two_sets(objects, 20 * queries, seed, dataset)
    built = indexed(posts.objects)
    PROGRESS.info("loading DuckDB")
    duckdb = DuckdbPostings(built.objects)
    board = Board()
    with searcher_over(posts.objects) as (searcher, engine_rows):
        for count in KEYWORDS:
            PROGRESS.info("%d keywords", count)
            table = range_queries(posts.source, 2 * queries + 20, "Z", 1e-4, seed, posts.bounds, (count, count))
            asked = asked_of(table, built.segment, queries)
            contestants = _contestants(built, asked, duckdb, searcher, engine_rows, k)
            board.add(f"{count} kw", per_query(contestants, range(len(asked))))
    duckdb.close()
    return {
        "params": {
            "objects": len(posts.objects), "queries": queries, "k": k, "seed": seed,
            "dataset": None if dataset is None else str(dataset), "engine_rows": engine_rows,
        },
        "metrics": board.metrics() | rounded(built.figures),
        "loads": board.loads,
    }  # fmt: skip


def _contestants(
    built: Indexed, asked: list[Asked], duckdb: DuckdbPostings, searcher: Searcher, rows_searched: int, k: int
) -> dict[str, Callable[[int], object]]:
    """Who answers query i, after comparing what they answer."""
    reader, space = built.segment.index, Space()
    conjuncts = [[(query.terms, ())] for query in asked]
    at = [query.at for query in asked]

    def ours(i: int) -> Any:
        return reader.nearest(conjuncts[i], at[i], k, MIN_US, MAX_US, space)

    def theirs(i: int) -> Any:
        return duckdb.nearest(asked[i].terms, at[i], k, space)

    for i in range(len(asked)):
        (rows, distance), (other_rows, other_distance) = ours(i), theirs(i)
        order = np.lexsort((rows, distance))
        if not (np.array_equal(rows[order], other_rows) and np.array_equal(distance[order], other_distance)):
            message = f"DuckDB disagrees on query {i}: {other_rows.size} rows instead of {rows.size}"
            raise AssertionError(message)
    queries = [NearestQuery(all_of(query.words), query.at, k) for query in asked]
    if rows_searched == len(built.objects):
        for i, query in enumerate(queries):
            answered = np.rint(searcher.answer(query)[0]["distance_m"].to_numpy() * 1000)
            if not np.array_equal(answered, np.sort(ours(i)[1])[:k]):
                message = f"the engine disagrees on query {i}"
                raise AssertionError(message)
    return {OURS: ours, "duckdb": theirs, ENGINE: lambda i: searcher.answer(queries[i])}
