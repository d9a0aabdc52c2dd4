"""Nearest search over one segment: microseconds per query against DuckDB on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.bench.duckdb_postings import DuckdbPostings
from sightline.bench.one_segment import SEARCHED_KEYWORDS, OneSegment, one_segment
from sightline.bench.segments import SegmentQuery
from sightline.bench.summary import ENGINE, OURS
from sightline.bench.timing import PROGRESS, per_query
from sightline.model.expression import all_of
from sightline.model.queries import NearestQuery
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US


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
    with one_segment(objects, queries, seed, dataset, quick) as over:
        PROGRESS.info("loading DuckDB")
        duckdb = DuckdbPostings(over.built.objects)
        for count in SEARCHED_KEYWORDS:
            PROGRESS.info("%d keywords", count)
            asked = over.asked(1e-4, count)
            over.board.add(f"{count} kw", per_query(_contestants(over, asked, duckdb, k), range(len(asked))))
        duckdb.close()
        return over.result(k=k)


def _contestants(
    over: OneSegment, asked: list[SegmentQuery], duckdb: DuckdbPostings, k: int
) -> dict[str, Callable[[int], object]]:
    """Who answers query i, after comparing what they answer."""
    reader, searcher, space = over.built.segment.index, over.searcher, Space()
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
    if over.whole:
        for i, query in enumerate(queries):
            answered = np.rint(searcher.answer(query)[0]["distance_m"].to_numpy() * 1000)
            if not np.array_equal(answered, np.sort(ours(i)[1])[:k]):
                message = f"the engine disagrees on query {i}"
                raise AssertionError(message)
    return {OURS: ours, "duckdb": theirs, ENGINE: lambda i: searcher.answer(queries[i])}
