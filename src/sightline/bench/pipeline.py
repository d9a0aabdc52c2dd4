"""End to end against the empty job: objects per second from files to committed segments and matches.

The same rows go through both, as micro-batches of a file stream, in one session. A first pass over all files is not
counted: the JVM compiles for about a minute, the k nearest are filled, and there are loads by which the leaves are
dealt anew (`rebalance`). Then each round streams all files once through the pipeline and once through the empty job,
with instants that go on where the round before ended; the first micro-batch of a stream is not counted (stream
start-up), and the figure is the median over the rounds. Instants are in the files, not computed: an expression with
another constant in every round would make the JVM compile the scan anew. Posts and range queries are those of
`bench crq`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sightline as sl
from sightline.bench.workload import AREA, DROP_TOP, FIRST_US, MIXES, Mix, posts, range_queries, table_of
from sightline.generate.queries import nearest_queries, top_terms_queries
from sightline.model.errors import BadConfig
from sightline.spark.empty_job import files_stream, run_empty
from sightline.stages.results.report import BatchReport

TOP_TERMS_AREA = (0.0001, 0.01)
POSTS_PER_S = 1000  # of event time
LEAST_SOURCE_ROWS = 200_000  # posts that subscriptions are made from, at least


def run(
    queries: int = 200_000,
    nearest: int = 10_000,
    top_terms: int = 100,
    mix: Mix = "N",
    batch_rows: int = 200_000,
    batches: int = 10,
    rounds: int = 5,
    workers: int | None = None,
    partitioner: str = "grid",
    seed: int = 7,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure; ``quick`` is one round of three small micro-batches with a tenth of the subscriptions."""
    if mix not in MIXES:
        raise BadConfig("unknown mix of keywords", value=mix, allowed=", ".join(MIXES))
    if quick:
        queries, nearest, top_terms = min(queries, 20_000), min(nearest, 1_000), min(top_terms, 10)
        batch_rows, batches, rounds = 50_000, 3, 1
    workers = workers or os.cpu_count() or 2
    folder = Path(tempfile.mkdtemp(prefix="sightline-bench-"))
    try:
        files = [folder / f"posts-{number}" for number in range(rounds + 1)]
        _write_posts(files, batch_rows, batches + 1, seed)
        tables = _subscriptions(queries, nearest, top_terms, mix, seed)
        ours, empty = [], []
        reports: list[BatchReport] = []
        with sl.open(folder / "store", workers=workers, partitioner=partitioner, ahead=None) as engine:
            began = time.perf_counter()
            for table in tables:
                engine.subscribe_many(table)
            registered = time.perf_counter() - began
            _ours(engine, files_stream(engine.spark, files[0]), "warm-up", batches + 1, [])
            engine.rebalance()
            before = engine.counters()
            for number in range(rounds):
                stream = files_stream(engine.spark, files[number + 1])
                ours.append(_ours(engine, stream, f"round-{number}", batches + 1, reports))
                empty.append(_rate(run_empty(stream, folder / f"empty-{number}", workers)))
            after, leaves = engine.counters(), engine.partitions().num_rows
        counted = {name: after[name] - before.get(name, 0) for name in after}
        speed, floor = statistics.median(ours), statistics.median(empty)
        phases = {
            name: round(statistics.median(report.seconds[name] for report in reports), 4) for name in reports[0].seconds
        }
        routing = statistics.median(report.routing_s for report in reports)
        return {
            "params": {
                "queries": queries,
                "nearest": nearest,
                "top_terms": top_terms,
                "mix": mix,
                "batch_rows": batch_rows,
                "batches": batches,
                "rounds": rounds,
                "workers": workers,
                "partitioner": partitioner,
                "leaves": leaves,
                "seed": seed,
                "area": AREA,
            },
            "metrics": {
                "ratio": round(speed / floor, 4),
                "objects_per_s": round(speed),
                "empty_objects_per_s": round(floor),
                "matches_per_object": round(counted.get("matches", 0) / counted["objects"], 4),
                "nearest_events_per_object": round(counted.get("nearest_events", 0) / counted["objects"], 4),
                "reports": counted.get("reports", 0),
                "register_s": round(registered, 2),
                **{f"{name}_s_per_batch": value for name, value in phases.items()},
                "routing_core_s_per_batch": round(routing, 4),
                "routing_share": round(routing / (os.cpu_count() or 1) / (batch_rows / speed), 4),
            },
            "rounds": {
                "objects_per_s": [round(rate) for rate in ours],
                "empty_objects_per_s": [round(rate) for rate in empty],
            },
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _subscriptions(queries: int, nearest: int, top_terms: int, mix: Mix, seed: int) -> list[pa.Table]:
    source = posts(max(queries, LEAST_SOURCE_ROWS), seed + 1)
    rows = table_of(source)
    drop_top = DROP_TOP if mix == "N" else 0
    tables = []
    if queries:
        boxes = range_queries(source, queries, mix, AREA, seed)
        tables.append(boxes.append_column("id", [pa.array(np.arange(queries)).cast(pa.string())]))
    if nearest:
        tables.append(nearest_queries(rows, nearest, k=(1, 10), seed=seed, drop_top=drop_top))
    if top_terms:
        tables.append(top_terms_queries(rows, top_terms, area=TOP_TERMS_AREA, window="10min", every="1min", seed=seed))
    return tables


def _write_posts(folders: list[Path], rows: int, count: int, seed: int) -> None:
    """The same posts in every folder, later in each; the first folder is for warming up."""
    table = table_of(posts(rows * count, seed))
    column = table.schema.get_field_index("ts")
    ts = FIRST_US + np.arange(rows * count) * (1_000_000 // POSTS_PER_S)
    for folder in folders:
        folder.mkdir()
        table = table.set_column(column, "ts", pa.array(ts).cast(table.schema.field("ts").type))
        for number in range(count):
            path = folder / f"{number:04d}.parquet"
            # Several row groups, so that the scan of one file is divided among the cores.
            pq.write_table(table.slice(number * rows, rows), path, row_group_size=max(1, rows // 8))
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # a file stream reads oldest first
        ts += rows * count * (1_000_000 // POSTS_PER_S)


def _ours(engine: sl.Engine, stream: Any, name: str, expected: int, reports: list[BatchReport]) -> float:
    done: list[tuple[float, int]] = []

    def note(report: BatchReport) -> None:
        done.append((time.perf_counter(), report.counters.get("objects", 0)))
        reports.append(report)

    handle = engine.run(stream, name=name, on_batch=note)
    while len(done) < expected and handle.is_active:
        time.sleep(0.005)
    handle.stop()
    error = handle.exception()
    if error is not None:
        raise error
    return _rate(done)


def _rate(done: list[tuple[float, int]]) -> float:
    """Rows per second from the end of the first micro-batch to the end of the last."""
    return sum(rows for _, rows in done[1:]) / (done[-1][0] - done[0][0])
