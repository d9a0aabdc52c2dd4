"""End to end against the empty job: objects per second from files to committed segments and matches.

The same rows go through both, as micro-batches of a file stream, in one session. Each round streams the files once
through the pipeline and once through the empty job; the first micro-batch of a stream is not counted (stream start-up,
caches), and the figure is the median over the rounds.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import sightline as sl
from sightline.generate.posts import PostGenerator
from sightline.generate.queries import range_queries
from sightline.spark.empty_job import files_stream, run_empty
from sightline.stages.batch import BatchReport

DROP_TOP = 100  # the most frequent words are no keywords: mix N
AREA = 0.0001  # of the space: 0.01 %


def run(
    queries: int = 200_000,
    batch_rows: int = 200_000,
    batches: int = 10,
    rounds: int = 5,
    workers: int | None = None,
    seed: int = 7,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure; ``quick`` is one round of three small micro-batches with a tenth of the queries."""
    if quick:
        queries, batch_rows, batches, rounds = min(queries, 20_000), 50_000, 3, 1
    workers = workers or os.cpu_count() or 2
    folder = Path(tempfile.mkdtemp(prefix="sightline-bench-"))
    try:
        files = folder / "posts"
        _write_posts(files, batch_rows, batches + 1, seed)
        table = range_queries(
            PostGenerator(seed + 1).table(max(queries, 1000)), queries, area=AREA, seed=seed, drop_top=DROP_TOP
        )
        ours, empty = [], []
        seconds: list[dict[str, float]] = []
        with sl.open(folder / "store", workers=workers, ahead=None) as engine:
            began = time.perf_counter()
            if queries:
                engine.subscribe_many(table)
            registered = time.perf_counter() - began
            for number in range(rounds):
                ours.append(_ours(engine, files, f"round-{number}", batches + 1, seconds))
                empty.append(_rate(run_empty(files_stream(engine.spark, files), folder / f"empty-{number}", workers)))
            totals = engine.counters()
        speed, floor = statistics.median(ours), statistics.median(empty)
        phases = {name: round(statistics.median(report[name] for report in seconds), 4) for name in seconds[0]}
        return {
            "params": {
                "queries": queries,
                "batch_rows": batch_rows,
                "batches": batches,
                "rounds": rounds,
                "workers": workers,
                "seed": seed,
                "drop_top": DROP_TOP,
                "area": AREA,
            },
            "metrics": {
                "ratio": round(speed / floor, 4),
                "objects_per_s": round(speed),
                "empty_objects_per_s": round(floor),
                "matches_per_object": round(totals.get("matches", 0) / totals["objects"], 4),
                "register_s": round(registered, 2),
                **{f"{name}_s_per_batch": value for name, value in phases.items()},
            },
            "rounds": {
                "objects_per_s": [round(rate) for rate in ours],
                "empty_objects_per_s": [round(rate) for rate in empty],
            },
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_posts(folder: Path, rows: int, count: int, seed: int) -> None:
    folder.mkdir()
    generator = PostGenerator(seed)
    for number in range(count):
        path = folder / f"{number:04d}.parquet"
        # Several row groups, so that the scan of one file is divided among the cores.
        pq.write_table(generator.table(rows, number * rows), path, row_group_size=max(1, rows // 8))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # a file stream reads oldest first


def _ours(engine: sl.Engine, files: Path, name: str, expected: int, seconds: list[dict[str, float]]) -> float:
    done: list[tuple[float, int]] = []

    def note(report: BatchReport) -> None:
        done.append((time.perf_counter(), report.counters.get("objects", 0)))
        seconds.append(report.seconds)

    handle = engine.run(files_stream(engine.spark, files), name=name, on_batch=note)
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
