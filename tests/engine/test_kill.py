"""The driver is killed at random moments of a stream, and Spark's checkpoint is hurt as by a power cut.

Started again, the stream ends with the results of a calm run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.engine import stream_child
from tests.spark.conftest import QUICK_JVM
from tests.spark.power_cut import KINDS, hurt

import sightline as sl

pytestmark = pytest.mark.spark
FILES, ROWS, BAD = 12, 40, 2  # rows of a file, and how many of them are bad
KILLS = 3
START = datetime(2024, 5, 1, tzinfo=UTC)
WORLD = sl.Box(-180, -90, 180, 90)
WORDS = ["flood", "boat", "rescue", "calm", "#harbour"]


def tables(draw: random.Random) -> list[pa.Table]:
    """Tables that follow each other in time, ten minutes each; some rows come ten minutes late."""
    made = []
    for number in range(FILES):
        late = [timedelta(minutes=10) if draw.random() < 0.1 else timedelta(0) for _ in range(ROWS)]
        moments = [START + timedelta(minutes=10 * number, seconds=15 * row) - late[row] for row in range(ROWS)]
        made.append(
            pa.table(
                {
                    "id": pa.array([None if row < BAD else f"{number}-{row}" for row in range(ROWS)], pa.string()),
                    "lon": [draw.uniform(-20, 20) for _ in range(ROWS)],
                    "lat": [draw.uniform(-20, 20) for _ in range(ROWS)],
                    "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
                    "text": [" ".join(draw.choices(WORDS, k=3)) for _ in range(ROWS)],
                }
            )
        )
    return made


def write_stream(folder: Path, files: list[pa.Table]) -> None:
    folder.mkdir()
    for number, table in enumerate(files):
        path = folder / f"{number:02d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # the order Spark takes them in


def prepare(store: Path) -> None:
    """A store with subscriptions of every kind; one of each lives for an hour of the two."""
    with sl.open(store, workers=2, partitioner="grid", lateness="1min") as engine:
        for kind, query in {
            "range": sl.RangeQuery("flood OR calm", sl.Circle(0, 0, 1_500_000)),
            "nearest": sl.NearestQuery("boat", at=(3, 4), k=7),
            "top": sl.TopTermsQuery(WORLD, k=4, window="20min", every="7min"),
        }.items():
            engine.subscribe(query, id=kind)
            engine.subscribe(query, id=f"{kind}-hour", start=START, ttl="1h")
        engine.subscribe(sl.RangeQuery("", WORLD), id="all")
        engine.subscribe(sl.RangeQuery("boat", WORLD), id="gone")
        engine.unsubscribe("gone")


def everything(store: Path) -> dict[str, Any]:
    """All results tables; batches by their order, because merges take log versions as well."""
    with sl.open(store) as engine:
        batches = sorted(set(engine.matches("all")["batch"].to_pylist()))

        def rows(result: sl.Result) -> list[tuple[Any, ...]]:
            listed = [
                {**row, "batch": batches.index(row["batch"])} if row.get("batch") is not None else row
                for row in result.to_pylist()
            ]
            return sorted((tuple(row.values()) for row in listed), key=repr)

        found: dict[str, Any] = {"batches": len(batches)}
        for id_ in ("all", "range", "range-hour", "gone"):
            found[f"matches {id_}"] = rows(engine.matches(id_))
        for id_ in ("nearest", "nearest-hour"):
            found[f"state {id_}"] = engine.nearest(id_).to_pylist()
            found[f"events {id_}"] = rows(engine.nearest_events(id_))
        for id_ in ("top", "top-hour"):
            found[f"reports {id_}"] = engine.reports(id_).to_pylist()
        found["subscription events"] = rows(engine.subscription_events())
        found["rejects"] = rows(engine.rejects())
        found["search"] = engine.search(sl.RangeQuery("", WORLD)).to_pylist()
        found["terms"] = engine.search(sl.TopTermsQuery(WORLD, 10, last="1h")).to_pylist()
        counters = engine.counters()
        found["counters"] = {name: counters.get(name, 0) for name in ("objects", "matches", "rejects", "late")}
        return found


def commits(store: Path) -> int:
    return len(list((store / "log").glob("*[0-9].json")))


def run_to_the_end(store: Path, folder: Path, draw: random.Random, log: Path) -> list[int]:
    """Start the stream, kill it, again and again; returns how many commits each kill found."""
    command = [sys.executable, stream_child.__file__, str(store), str(folder), str(FILES * ROWS)]
    found: list[int] = []
    while True:
        with log.open("a") as output:
            child = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **QUICK_JVM})
        try:
            if len(found) == KILLS:
                assert child.wait(timeout=200) == 0, log.read_text()
                return found
            goal = commits(store) + draw.randrange(1, 4)
            deadline = time.monotonic() + 150
            while commits(store) < goal and child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.5))
            if child.poll() is not None:
                assert child.returncode == 0, log.read_text()
                return found
        finally:
            if child.poll() is None:
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
        found.append(commits(store))
        hurt(store / "runs" / "posts", [(draw.randrange(200), draw.choice(KINDS), draw.randrange(400)) for _ in "1234"])


def cut(store: Path) -> list[list[int]]:
    """Files of each committed batch.

    A kill between Spark's log of files and its log of offsets makes the next batch take two files, and so may a lost
    plan of a batch that was not committed: the cut is Spark's, and the calm run has to be given the same one.
    """
    batches: dict[int, set[int]] = {}
    with sl.open(store) as engine:
        for row in engine.matches("all").to_pylist():
            batches.setdefault(row["batch"], set()).add(int(row["object_id"].split("-")[0]))
    return [sorted(batches[batch]) for batch in sorted(batches)]


def test_nothing_is_lost_and_nothing_doubled(tmp_path: Path, spark: SparkSession) -> None:
    draw = random.Random(20240501)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    prepare(calm)
    prepare(killed)
    files = tables(draw)
    write_stream(tmp_path / "stream", files)
    kills = run_to_the_end(killed, tmp_path / "stream", draw, tmp_path / "log")
    assert len(kills) == KILLS, "the stream ended before it was killed often enough"
    batches = cut(killed)
    assert [file for batch in batches for file in batch] == list(range(FILES))
    write_stream(tmp_path / "same", [pa.concat_tables([files[file] for file in batch]) for batch in batches])
    stream_child.stream(calm, tmp_path / "same", FILES * ROWS, spark)

    want, got = everything(calm), everything(killed)
    assert want["counters"]["objects"] == FILES * (ROWS - BAD)
    assert want["counters"]["rejects"] == FILES * BAD
    assert [event for event in want["subscription events"] if "expired" in event] != []
    for name in want:
        assert bool(want[name]) == (name != "matches gone"), name
        assert got[name] == want[name], name
