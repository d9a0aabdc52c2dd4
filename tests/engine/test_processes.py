"""One pipeline writes; other processes read, subscribe, drop, rebalance, and are refused to write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.engine import reader_child, stream_child

import sightline as sl

pytestmark = pytest.mark.spark
START = datetime(2024, 5, 1, tzinfo=UTC)
WORLD = sl.Box(-180, -90, 180, 90)
FILE_ROWS = 25


@dataclass
class Pipeline:
    """A stream over a folder: a file put there is a batch."""

    engine: sl.Engine
    folder: Path
    run: Any
    files: int = 0

    def put(self, wait: bool = True) -> list[str]:
        """Add a file; returns the ids of its rows, when they are committed."""
        names = [f"{self.files}-{row}" for row in range(FILE_ROWS)]
        table = pa.table(
            {
                "id": names,
                "lon": [float(row * 7 - 90) for row in range(FILE_ROWS)],
                "lat": [float(row - 12) for row in range(FILE_ROWS)],
                "ts": pa.array(
                    [START + timedelta(minutes=self.files, seconds=row) for row in range(FILE_ROWS)],
                    pa.timestamp("us", tz="UTC"),
                ),
                "text": ["flood boat" if row % 2 else "calm" for row in range(FILE_ROWS)],
            }
        )
        staged = self.folder.parent / "staged.parquet"
        pq.write_table(table, staged)
        staged.rename(self.folder / f"{self.files:03d}.parquet")
        self.files += 1
        if wait:
            until(lambda: self.engine.counters().get("objects", 0) >= self.files * FILE_ROWS, self.run)
        return names


def until(holds: Callable[[], bool], run: Any) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert run.is_active, run.exception()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def pipeline(tmp_path: Path, spark: SparkSession) -> Iterator[Pipeline]:
    folder = tmp_path / "stream"
    folder.mkdir()
    source = spark.readStream.schema(stream_child.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    with sl.open(tmp_path / "store", spark, workers=2) as engine:
        engine.subscribe(sl.RangeQuery("", WORLD), id="all")
        engine.subscribe(sl.NearestQuery("", at=(0, 0), k=5), id="nearest")
        made = Pipeline(engine, folder, engine.run(source, name="posts"))
        made.put()
        yield made


def elsewhere(store: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines in another process, with ``engine`` open on the store."""
    program = f"import sightline as sl\nwith sl.open({str(store)!r}) as engine:\n    {code}\n"
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ}
    )


def done(process: subprocess.CompletedProcess[str]) -> str:
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_readers_see_whole_batches_once_while_a_pipeline_writes(pipeline: Pipeline, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    command = [sys.executable, reader_child.__file__, str(pipeline.engine.path), str(stop)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        for _ in range(6):
            pipeline.put()
        # Some readers may still be starting: give them something to see.
        time.sleep(1)
        pipeline.put()
        stop.touch()
        for reader in readers:
            stdout, stderr = reader.communicate(timeout=120)
            assert reader.returncode == 0, stderr
            seen = json.loads(stdout)
            assert seen == sorted(seen), "a reader went back in time"
            assert all(
                count % FILE_ROWS == 0 for rows, matches, _, objects in seen for count in (rows, matches, objects)
            )
            assert seen[-1] == [8 * FILE_ROWS, 8 * FILE_ROWS, 5, 8 * FILE_ROWS]
    finally:
        for reader in readers:
            if reader.poll() is None:
                reader.kill()
                reader.wait()


def test_control_from_another_process_takes_effect(pipeline: Pipeline) -> None:
    engine, store = pipeline.engine, pipeline.engine.path
    workers = engine.partitions()["worker"].to_pylist()
    assert len(set(workers)) == 2
    done(elsewhere(store, "engine.subscribe(sl.RangeQuery('flood', sl.Box(-180, -90, 180, 90)), id='wet')"))
    second = pipeline.put()
    flooded = [name for row, name in enumerate(second) if row % 2]
    assert sorted(engine.matches("wet")["object_id"].to_pylist()) == sorted(flooded)

    done(elsewhere(store, "engine.unsubscribe('wet'); engine.rebalance()"))
    pipeline.put()
    assert sorted(engine.matches("wet")["object_id"].to_pylist()) == sorted(flooded)
    events = [(e["subscription_id"], e["event"]) for e in engine.subscription_events().to_pylist()]
    assert events == [("all", "registered"), ("nearest", "registered"), ("wet", "registered"), ("wet", "dropped")]
    counted = engine.partitions().to_pylist()
    assert [row["worker"] for row in counted] != workers
    loads = [sum(row["objects"] for row in counted if row["worker"] == worker) for worker in (0, 1)]
    assert sum(loads) == 3 * FILE_ROWS
    assert min(loads) > 0

    pipeline.put()
    assert engine.matches("all").num_rows == engine.search(sl.RangeQuery("", WORLD)).num_rows == 4 * FILE_ROWS
    said = done(elsewhere(store, "print(engine.matches('all').num_rows, engine.nearest('nearest').num_rows)"))
    assert said.split() == [str(4 * FILE_ROWS), "5"]


def test_a_second_pipeline_is_refused(pipeline: Pipeline, spark: SparkSession) -> None:
    store = pipeline.engine.path
    other = elsewhere(store, "engine.load('nothing.parquet')")
    assert other.returncode == 1
    line = other.stderr.strip().splitlines()[-1]
    assert "StoreBusy" in line
    assert f"pid {os.getpid()}" in line
    assert "need no lock" in line
    with sl.open(store, spark) as second, pytest.raises(sl.StoreBusy) as error:
        second.run(pa.table({"id": ["x"]}), name="other")
    assert str(store) in str(error.value)
    command = [sys.executable, "-m", "sightline.cli", "load", str(store), __file__]
    shell = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert shell.returncode == 1
    assert shell.stderr.count("\n") == 1
    pipeline.put()  # the first one goes on
    pipeline.run.stop()
    assert pipeline.engine.search(sl.RangeQuery("", WORLD)).num_rows == 2 * FILE_ROWS
    with sl.open(store, spark) as second, pytest.raises(sl.BadSource):  # the store is free again
        second.load(pa.table({"id": ["x"]}))


def test_a_handle_says_what_the_documentation_says(pipeline: Pipeline) -> None:
    run = pipeline.run
    assert run.status.keys() == {"message", "is_in_batch", "is_active"}
    assert run.status["message"] == "running"
    until(lambda: run.last_progress is not None, run)
    progress = run.last_progress
    always = {"run", "batch", "version", "seconds", "routing_s"}
    counted = {"objects": FILE_ROWS, "matches": FILE_ROWS, "nearest_events": 5}
    assert always | set(counted) <= progress.keys()
    assert progress["run"] == run.id
    assert (progress["batch"], progress["version"]) == (0, pipeline.engine.version)
    assert progress["seconds"].keys() == {"plan", "job", "commit"}
    assert {name: progress[name] for name in counted} == counted
    run.stop()
    assert run.status == {"message": "ended", "is_in_batch": False, "is_active": False}
