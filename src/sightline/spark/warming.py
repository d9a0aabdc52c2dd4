"""Kernels are compiled before the first batch: by the driver, and on a cluster once on every host that executes.

Without that, the first batch on a new host takes most of a minute, while its processes compile the same kernels side by
side and nobody says why. Executors that join later compile at their first task, one process of a host at a time.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import cache

import pyarrow as pa
from pyspark.sql import SparkSession

from sightline.jit import warmed_mark
from sightline.spark.handover import is_one_machine

SAY_EVERY_S = 5.0
progress = logging.getLogger("sightline.progress")
Batches = Iterator[pa.RecordBatch]


def warm_everywhere(spark: SparkSession, kernels: tuple[str, ...]) -> None:
    """Compile what this partitioner and these indexes need, here and on the hosts of the executors at the same time."""
    from sightline.stages.warm import warm

    with ThreadPoolExecutor(1, "sightline-warming") as pool:
        hosts = None if is_one_machine(spark) else pool.submit(_warm_hosts, spark, kernels)
        if not warmed_mark(kernels).exists():
            progress.info("compiling kernels, once per version and user: up to a minute or two")
        if warm(kernels):
            progress.info("compiled the kernels of the driver")
        if hosts is not None:
            _follow(hosts, spark)


@cache
def warm_process(kernels: tuple[str, ...]) -> bool:
    """Once per worker process: make sure that this host has its kernels; True if they were compiled now."""
    if warmed_mark(kernels).exists():
        return False
    from sightline.stages.warm import warm  # not above: it needs the driver's half of the code, which a worker does not

    return warm(kernels)


def _warm_hosts(spark: SparkSession, kernels: tuple[str, ...]) -> dict[str, bool]:
    """A task per core of the cluster: the first of a host compiles, the others wait for it. Host -> compiled now."""
    tasks = max(2, spark.sparkContext.defaultParallelism)
    stage = _stage(kernels)
    found: dict[str, bool] = {}
    for row in spark.range(0, tasks, 1, tasks).mapInArrow(stage, "host string, compiled boolean").collect():
        found[row.host] = found.get(row.host, False) or row.compiled
    return found


def _stage(kernels: tuple[str, ...]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        for _ in batches:
            pass
        compiled = warm_process(kernels)
        yield pa.RecordBatch.from_pydict({"host": [socket.gethostname()], "compiled": [compiled]})

    return run


def _follow(hosts: Future[dict[str, bool]], spark: SparkSession) -> None:
    """Say how far the executors are, until they are done."""
    began = time.monotonic()
    while True:
        try:
            found = hosts.result(SAY_EVERY_S)
        except NotYet:
            tracker = spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = sum(stage.numTasks for stage in stages if stage)
            done = sum(stage.numCompletedTasks for stage in stages if stage)
            seconds = time.monotonic() - began
            progress.info("compiling kernels on the executors: %d of %d tasks done, %.0f s", done, tasks, seconds)
            continue
        compiled = sorted(host for host, now in found.items() if now)
        if compiled:
            progress.info("compiled kernels on %d of %d hosts: %s", len(compiled), len(found), ", ".join(compiled))
        return
