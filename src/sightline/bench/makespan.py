"""Seconds of the work stage, worker by worker, in one process: what a batch takes when every worker has a core.

A store is made whose routing is fitted to the history by the request that `fit` writes; its standing queries are
registered, the posts of the past go through it (they compile what is not compiled and shrink the radii of nearest
subscriptions), and then each round all posts that come afterwards, later each time. Worker after worker is timed; the
makespan is the slowest worker's time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sightline.bench.six_types import SixTypes
from sightline.bench.workload import HASH_SEED, STEP_US, table_of
from sightline.model.config import StoreConfig
from sightline.spark.session import ARROW_ROWS
from sightline.stages.batch import Batches
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.parcel import Parcel
from sightline.stages.flow.work import work
from sightline.stages.inline import execute_inline
from sightline.stages.registered.registry import Registry
from sightline.stages.routing.fitting import history_arrays
from sightline.store.store import Store

__all__ = ["COMPARED_COUNTERS", "Makespan", "makespan"]

COMPARED_COUNTERS = ("objects", "matches", "nearest_events", "reports")  # what no partitioning may change


class Makespan(NamedTuple):
    """Medians over the rounds, and what the rounds found together."""

    makespan_s: float  # the slowest worker
    work_s: float  # all workers together
    found: dict[str, int]


def makespan(partitioner: str, workers: int, world: SixTypes, rounds: int) -> Makespan:
    """Run the work stage of a partitioner on the posts of a data set."""
    with tempfile.TemporaryDirectory(prefix="sightline-bench-") as folder:
        config = StoreConfig(seed=HASH_SEED, partitioner=partitioner, workers=workers, ahead_us=None)
        batches = Batches(Store.create(Path(folder) / "store", config, durable=False))
        batches.epochs.ensure(partitioner, workers)
        registry = Registry(batches.store, batches.book)
        for table in world.tables:
            registry.subscribe_many(table, None, None)
        registry.fit(history_arrays(world.history))
        _run(batches, 0, table_of(world.history.objects))
        rows = table_of(world.objects)
        slowest: list[float] = []
        together: list[float] = []
        found: Counter[str] = Counter()
        for number in range(rounds):
            times, counters = _run(batches, number + 1, _later(rows, number * len(world.objects) * STEP_US))
            slowest.append(max(times))
            together.append(sum(times))
            found.update({name: counters.get(name, 0) for name in COMPARED_COUNTERS})
    return Makespan(statistics.median(slowest), statistics.median(together), dict(found))


def _run(batches: Batches, number: int, rows: pa.Table) -> tuple[list[float], dict[str, int]]:
    """One micro-batch to its commit: seconds of every worker, and what was counted."""
    times: list[float] = []
    parts = [rows.to_batches(ARROW_ROWS)]

    def timed(parcels: Iterable[Parcel], worker: int, job: Job) -> list[Parcel]:
        began = time.perf_counter()
        done = list(work(parcels, worker, job))
        times.append(time.perf_counter() - began)
        return done

    report = batches.process("bench", number, rows.schema, lambda job: execute_inline(parts, job, timed))
    if report is None:
        raise AssertionError(f"batch {number} was committed before")
    return times, report.counters


def _later(rows: pa.Table, by_us: int) -> pa.Table:
    column = rows.schema.get_field_index("ts")
    ts = rows["ts"].cast(pa.int64()).to_numpy() + np.int64(by_us)
    return rows.set_column(column, "ts", pa.array(ts).cast(rows.schema.field("ts").type))
