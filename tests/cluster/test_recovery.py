"""An executor and a Python worker are killed inside of batches; the stream goes on and ends as on one calm machine."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cluster.conftest import Cluster
from tests.cluster.driver import search_many
from tests.cluster.driver_process import DriverProcess
from tests.cluster.processes import Process, wait_for
from tests.engine import stream_child
from tests.engine.test_kill import BAD, FILES, ROWS, commits, cut, everything, prepare, tables, write_stream

pytestmark = pytest.mark.cluster
STALLED_SECONDS = 3.0  # a batch that waits takes ten times as long as one that does not
SECONDS = 60
CRASHED = "Python worker exited unexpectedly (crashed)"


def open_plans(store: Path) -> list[str]:
    """Batches that have begun and not committed."""
    return sorted(path.name for path in (store / "plans").glob("*.plan.json"))


def stalled(store: Path) -> list[str]:
    """Wait until a batch stands still: its plan is open, and nothing is committed for a while."""
    deadline = time.monotonic() + SECONDS
    seen, since = (open_plans(store), commits(store)), time.monotonic()
    while time.monotonic() < deadline:
        now = (open_plans(store), commits(store))
        if now != seen or not now[0]:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > STALLED_SECONDS:
            return now[0]
        time.sleep(0.01)
    raise TimeoutError(f"no batch waits for the stopped processes: {seen}")


def kill_inside_a_batch(store: Path, victims: Callable[[], list[Process]]) -> list[Process]:
    """Kill processes while a batch needs them: stopped inside of a batch, they hold up that one or one of the next."""
    wait_for(lambda: open_plans(store) != [], SECONDS, "a batch that has begun")
    time.sleep(0.1)  # past its plan, into its job
    chosen = victims()
    for process in chosen:
        os.kill(process.pid, signal.SIGSTOP)
    batch, committed = stalled(store), commits(store)
    for process in chosen:
        os.kill(process.pid, signal.SIGKILL)
    assert (open_plans(store), commits(store)) == (batch, committed), f"the batch has ended without {chosen}"
    return chosen


def test_nothing_is_lost_and_nothing_doubled(
    cluster: Cluster, driver: DriverProcess, shared: Path, tmp_path: Path, spark: SparkSession
) -> None:
    calm, killed, rows = tmp_path / "calm", shared / "killed", FILES * ROWS
    prepare(calm)
    prepare(killed)
    files = tables(random.Random(20240501))
    write_stream(shared / "stream", files)
    standalone = cluster.standalone
    first, second = standalone.workers

    driver.tell("stream", store=killed, folder=shared / "stream", rows=rows)
    began = commits(killed)
    wait_for(lambda: commits(killed) > began + 2, SECONDS, "the first batches", sorted(cluster.logs.iterdir()))
    [executor] = kill_inside_a_batch(killed, lambda: [standalone.executors()[first]])
    found = commits(killed)
    wait_for(lambda: commits(killed) > found + 1, SECONDS, "batches after the executor was killed")
    workers = kill_inside_a_batch(killed, lambda: standalone.python_workers(second))
    assert driver.is_busy, "the stream ended before both were killed"
    assert driver.answer(seconds=2 * SECONDS) == rows

    assert executor.argument("--executor-id") in driver.ask("lost_executors")
    assert CRASHED in standalone.said_by_executors(second), f"no task missed {workers}"
    assert cut(killed) == [[number] for number in range(FILES)]

    stream_child.stream(calm, shared / "stream", rows, spark)
    want, got = everything(calm), everything(killed)
    assert want["counters"]["objects"] == FILES * (ROWS - BAD)
    assert want["counters"]["rejects"] == FILES * BAD
    assert want["counters"]["late"] > 0
    assert [event for event in want["subscription events"] if "expired" in event] != []
    for name in want:
        assert bool(want[name]) == (name != "matches gone"), name
        assert got[name] == want[name], name
    searched = search_many(spark, str(calm))
    assert {row["query"] for row in searched} == {"0", "1", "2", "3"}
    assert driver.ask("search_many", store=killed) == searched
