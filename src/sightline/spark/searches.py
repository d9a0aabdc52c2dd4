"""Thousands of snapshot queries at once, as one Spark job over the queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from sightline.model.queries import Query, check_snapshot, check_space, query_from_dict
from sightline.stages.parcel import from_ipc, to_ipc
from sightline.stages.search import Searcher
from sightline.store.snapshot import SnapshotBuilder
from sightline.store.store import Store

Batches = Iterator[pa.RecordBatch]


def search_many(spark: SparkSession, store: Store, queries: Sequence[Query]) -> pa.Table:
    """Answers of all queries, in their order, with a leading int64 column ``query``; all see the same version.

    Queries of several kinds may be mixed: the table then has the columns of all, null where a kind has none.
    """
    for query in queries:
        check_snapshot(query)
        check_space(query, store.config.space)
    if not queries:
        return pa.table({"query": pa.array([], pa.int64())})
    parts = min(len(queries), spark.sparkContext.defaultParallelism * 4)
    said = [(number % parts, number, json.dumps(query.to_dict())) for number, query in enumerate(queries)]
    frame = spark.createDataFrame(said, "part int, query long, said string").repartitionById(parts, "part")
    pinned = replace(store.commits.refresh(), runs={}, gone={}, counters={})
    pinned = replace(pinned, files={"segment": pinned.files.get("segment", {})})
    answered = frame.mapInArrow(_stage(str(store.path), json.dumps(pinned.to_dict())), "blob binary").collect()
    joined = pa.concat_tables([from_ipc(bytes(row.blob)) for row in answered], promote_options="default")
    return joined.take(pa.array(np.argsort(joined["query"].to_numpy(), kind="stable")))


def _stage(path: str, pinned: str) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        searcher = Searcher(Store.open(path))
        snapshot = SnapshotBuilder.from_dict(json.loads(pinned)).freeze()
        for batch in batches:
            tables = []
            for number, said in zip(batch.column("query").to_pylist(), batch.column("said").to_pylist(), strict=True):
                table, _ = searcher.answer(query_from_dict(json.loads(said)), snapshot)
                tables.append(table.add_column(0, "query", pa.repeat(pa.scalar(number, pa.int64()), table.num_rows)))
            if tables:
                blob = to_ipc(pa.concat_tables(tables, promote_options="default"))
                yield pa.RecordBatch.from_pydict({"blob": pa.array([blob.to_pybytes()], pa.binary())})

    return run
