"""Thousands of snapshot queries at once, as one Spark job over the queries.

Queries are cut into runs of neighbours, one task each; a task takes a few hundred at a time through the segments, so
that it maps and reads each segment once for all of them. Tables travel back packed, in the order of the queries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import SparkSession

from sightline.model.plugins import Origin, admit_all, admitted
from sightline.model.queries import Query, query_from_dict
from sightline.stages.exchange.parcel import from_ipc, to_ipc
from sightline.stages.search.asked import check_all
from sightline.stages.search.search import Searcher
from sightline.store.snapshot import Snapshot, SnapshotBuilder
from sightline.store.store import Store

TASK_QUERIES = 64  # fewer in a task only while cores are idle: each task reads the segments anew
TOGETHER = 256  # queries whose rows a task holds at once; a packed value must stay below 2 GB

Batches = Iterator[pa.RecordBatch]


def search_many(spark: SparkSession, store: Store, queries: Sequence[Query]) -> pa.Table:
    """Answers of all queries, in their order, with a leading int64 column ``query``; all see the same version.

    Queries of several kinds may be mixed: the table then has the columns of all, null where a kind has none. A bad
    query is refused before the job, with its place in the list.
    """
    check_all(queries, store.config)
    if not queries:
        return pa.table({"query": pa.array([], pa.int64())})
    cores = spark.sparkContext.defaultParallelism
    parts = min(len(queries), 4 * cores, max(cores, len(queries) // TASK_QUERIES))
    part_of = [number * parts // len(queries) for number in range(len(queries))]
    said = [(part_of[number], number, json.dumps(query.to_dict())) for number, query in enumerate(queries)]
    frame = spark.createDataFrame(said, "part int, query long, said string").repartitionById(parts, "part")

    def read(snapshot: Snapshot) -> pa.Table:
        segments = {"segment": snapshot.files.get("segment", {})}
        pinned = replace(snapshot, runs={}, positions={}, gone={}, counters={}, files=segments)
        stage = _stage(str(store.path), json.dumps(pinned.to_dict()), admitted())
        answered = frame.mapInArrow(stage, "first long, blob binary, missing string").collect()
        for row in answered:
            if row.missing is not None:  # swept since: again, on a newer version
                raise FileNotFoundError(2, "No such file or directory", row.missing)
        answered.sort(key=lambda row: row.first)
        return pa.concat_tables([from_ipc(bytes(row.blob)) for row in answered], promote_options="default")

    return store.read(read)


def _stage(path: str, pinned: str, plugins: list[Origin]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        admit_all(plugins)
        said = sorted(
            (number, text)
            for batch in batches
            for number, text in zip(batch.column("query").to_pylist(), batch.column("said").to_pylist(), strict=True)
        )
        if not said:
            return
        searcher = Searcher(Store.open(path), threads=1)  # the tasks are the threads
        snapshot = SnapshotBuilder.from_dict(json.loads(pinned)).freeze()
        for begin in range(0, len(said), TOGETHER):
            some = said[begin : begin + TOGETHER]
            try:
                tables = searcher.answer_many([query_from_dict(json.loads(text)) for _, text in some], snapshot)
            except FileNotFoundError as error:
                yield _answered(some[0][0], None, str(error.filename))
                return
            numbered = [
                table.add_column(0, "query", pa.repeat(pa.scalar(number, pa.int64()), table.num_rows))
                for (number, _), table in zip(some, tables, strict=True)
            ]
            yield _answered(
                some[0][0], bytes(to_ipc(pa.concat_tables(numbered, promote_options="default")).joined()), None
            )

    return run


def _answered(first: int, blob: bytes | None, missing: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([first], pa.int64()), pa.array([blob], pa.binary()), pa.array([missing], pa.string())],
        names=["first", "blob", "missing"],
    )
