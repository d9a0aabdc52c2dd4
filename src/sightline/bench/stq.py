"""Top terms of a region over one segment: microseconds per query against DuckDB on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.bench.duckdb_postings import DuckdbWords
from sightline.bench.loads import name_of_area, two_sets
from sightline.bench.segments import Asked, Indexed, asked_of, indexed, searcher_over
from sightline.bench.summary import ENGINE, OURS, Board
from sightline.bench.timing import PROGRESS, per_query, rounded
from sightline.bench.workload import range_queries
from sightline.index.objects.strings import StringColumn
from sightline.model.queries import TopTermsQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.search.search import Searcher

SIZES = (1e-6, 1e-4, 1e-3, 1e-2)
TUNED_ON = 3  # queries of each size on which DuckDB's table is chosen


def run(
    objects: int = 5_000_000,
    queries: int = 200,
    k: int = 10,
    seed: int = 7,
    dataset: Path | None = None,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure ``queries`` regions of every size; ``metrics`` are over all of them.

    Raises
    ------
    AssertionError
        The answers differ; terms, counts and order are compared.
    """
    if quick:
        objects, queries = min(objects, 50_000), min(queries, 20)
    posts = two_sets(objects, 20 * queries, seed, dataset)
    built = indexed(posts.objects)
    PROGRESS.info("loading DuckDB")
    duckdb = DuckdbWords(built.objects)
    board = Board()
    with searcher_over(posts.objects) as (searcher, engine_rows):
        for size in SIZES:
            PROGRESS.info(name_of_area(size))
            table = range_queries(posts.source, 2 * queries + 20, "Z", size, seed, posts.bounds, (1, 1))
            asked = asked_of(table, built.segment, queries)
            duckdb.tune([query.box.tolist() for query in asked[:TUNED_ON]])
            contestants = _contestants(built, asked, duckdb, searcher, engine_rows, k)
            times = per_query(contestants, range(len(asked)))
            board.add(name_of_area(size), times, duckdb_table=duckdb.statement)
    duckdb.close()
    metrics = board.metrics()
    metrics["p99_over_mean"] = round(metrics["p99_us"] / metrics["mean_us"], 2)
    return {
        "params": {
            "objects": len(posts.objects), "queries": queries, "k": k, "seed": seed,
            "dataset": None if dataset is None else str(dataset), "engine_rows": engine_rows,
        },
        "metrics": metrics | rounded(built.figures),
        "loads": board.loads,
    }  # fmt: skip


def _contestants(
    built: Indexed, asked: list[Asked], duckdb: DuckdbWords, searcher: Searcher, rows_searched: int, k: int
) -> dict[str, Callable[[int], object]]:
    """Who answers query i, after comparing what they answer."""
    boxes = [query.pieces for query in asked]
    regions = [Box(*query.box.tolist()) for query in asked]
    strings = StringColumn(built.segment.dictionary.strings())
    reader, space = built.segment.index, Space()

    def ours(i: int) -> list[tuple[str, int]]:
        terms, counts, _ = reader.top_terms(boxes[i], MIN_US, MAX_US, regions[i], space, k)
        if counts.size > k:  # an index may name more; strings decide between equal counts
            kept = counts >= np.sort(counts)[-k]
            terms, counts = terms[kept], counts[kept]
        named = zip(strings.strings(terms), counts.tolist(), strict=True)
        return sorted(named, key=lambda pair: (-pair[1], pair[0]))[:k]  # code points are in the order of UTF-8

    def theirs(i: int) -> list[tuple[str, int]]:
        return duckdb.top(asked[i].box.tolist(), k)

    for i in range(len(asked)):
        if ours(i) != theirs(i):
            message = f"DuckDB disagrees on region {i}: {theirs(i)} instead of {ours(i)}"
            raise AssertionError(message)
    queries = [TopTermsQuery(region, k) for region in regions]
    if rows_searched == len(built.objects):
        for i, query in enumerate(queries):
            table = searcher.answer(query)[0]
            if ours(i) != list(zip(table["term"].to_pylist(), table["count"].to_pylist(), strict=True)):
                message = f"the engine disagrees on region {i}"
                raise AssertionError(message)
    return {OURS: ours, "duckdb": theirs, ENGINE: lambda i: searcher.answer(queries[i])}
