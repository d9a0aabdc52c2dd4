"""Top terms of a region over one segment: microseconds per query against DuckDB on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.bench.duckdb_postings import DuckdbWords
from sightline.bench.loads import name_of_area
from sightline.bench.one_segment import SEARCHED_AREAS, OneSegment, one_segment
from sightline.bench.segments import SegmentQuery
from sightline.bench.summary import ENGINE, OURS
from sightline.bench.timing import PROGRESS, per_query
from sightline.index.objects.strings import StringColumn
from sightline.model.queries import TopTermsQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US

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
    with one_segment(objects, queries, seed, dataset, quick) as over:
        PROGRESS.info("loading DuckDB")
        duckdb = DuckdbWords(over.built.objects)
        for size in SEARCHED_AREAS:
            PROGRESS.info(name_of_area(size))
            asked = over.asked(size, 1)
            duckdb.tune([query.box.tolist() for query in asked[:TUNED_ON]])
            times = per_query(_contestants(over, asked, duckdb, k), range(len(asked)))
            over.board.add(name_of_area(size), times, duckdb_table=duckdb.statement)
        duckdb.close()
        result = over.result(k=k)
    metrics = result["metrics"]
    metrics["p99_over_mean"] = round(metrics["p99_us"] / metrics["mean_us"], 2)
    return result


def _contestants(
    over: OneSegment, asked: list[SegmentQuery], duckdb: DuckdbWords, k: int
) -> dict[str, Callable[[int], object]]:
    """Who answers query i, after comparing what they answer."""
    boxes = [query.pieces for query in asked]
    regions = [Box(*query.box.tolist()) for query in asked]
    strings = StringColumn(over.built.segment.dictionary.strings())
    reader, searcher, space = over.built.segment.index, over.searcher, Space()

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
    if over.whole:
        for i, query in enumerate(queries):
            table = searcher.answer(query)[0]
            if ours(i) != list(zip(table["term"].to_pylist(), table["count"].to_pylist(), strict=True)):
                message = f"the engine disagrees on region {i}"
                raise AssertionError(message)
    return {OURS: ours, "duckdb": theirs, ENGINE: lambda i: searcher.answer(queries[i])}
