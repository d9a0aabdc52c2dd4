"""A power cut takes what Spark had not synced: started again, a stream has every row once, or is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.engine.stream_child import stream

import sightline as sl
from sightline.runs.checkpoint_files import write_text
from sightline.spark import starter
from sightline.store import CommitLog

pytestmark = pytest.mark.spark
ROWS = 10  # of a file
WORLD = sl.Box(-180, -90, 180, 90)


def put(folder: Path, first: int, files: int) -> None:
    """Add files to a stream, each of them a batch."""
    folder.mkdir(exist_ok=True)
    for number in range(first, first + files):
        table = pa.table(
            {
                "id": [f"{number}-{row}" for row in range(ROWS)],
                "lon": [1.0] * ROWS,
                "lat": [1.0] * ROWS,
                "ts": pa.array([number * 60_000_000 + row for row in range(ROWS)], pa.timestamp("us", tz="UTC")),
                "text": ["flood"] * ROWS,
            }
        )
        pq.write_table(table, folder.parent / "next.parquet")
        path = folder / f"{number:02d}.parquet"
        (folder.parent / "next.parquet").rename(path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def streamed(tmp_path: Path, files: int, spark: SparkSession) -> tuple[Path, Path]:
    """A store with a subscription that has seen these files of a stream, and the folder to put more of them into."""
    store, folder = tmp_path / "store", tmp_path / "stream"
    with sl.open(store, workers=2) as engine:
        engine.subscribe(sl.RangeQuery("flood", WORLD), id="all")
    put(folder, 0, files)
    stream(store, folder, files * ROWS, spark)
    return store, folder


def ids(store: Path) -> list[str]:
    with sl.open(store) as engine:
        found = engine.search(sl.RangeQuery("flood", WORLD))["id"].to_pylist()
        assert sorted(engine.matches("all")["object_id"].to_pylist()) == sorted(found)
        return sorted(found)


def expected(files: int) -> list[str]:
    return sorted(f"{number}-{row}" for number in range(files) for row in range(ROWS))


def check_goes_on(store: Path, folder: Path, first: int, spark: SparkSession) -> None:
    """With two more files the stream has every row once."""
    put(folder, first, 2)
    stream(store, folder, (first + 2) * ROWS, spark)
    assert ids(store) == expected(first + 2)


def lose_the_last_batch(run: Path) -> None:
    """Both of its files; the case in which Spark plans the batch anew, with more rows."""
    last = max(int(path.name) for path in (run / "offsets").glob("[0-9]*"))
    for part in ("offsets", "commits"):
        (run / part / str(last)).unlink(missing_ok=True)  # Spark may not have come to its commit
        (run / part / f".{last}.crc").unlink(missing_ok=True)


def empty_the_last_offsets(run: Path) -> None:
    last = max(int(path.name) for path in (run / "offsets").glob("[0-9]*"))
    (run / "offsets" / str(last)).write_bytes(b"")


def plan_without_its_source(run: Path) -> None:
    """The next batch was planned; of its files only the offsets are left."""
    offsets = (run / "offsets" / "2").read_text()
    write_text(run / "offsets" / "3", offsets.replace('"logOffset":2', '"logOffset":3'))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "the last batch lost": lose_the_last_batch,
    "the last offsets empty": empty_the_last_offsets,
    "an entry of the source lost": lambda run: (run / "sources" / "0" / "1").unlink(),
    "the id lost": lambda run: (run / "metadata").unlink(),
    "the id empty": lambda run: (run / "metadata").write_bytes(b""),
    "all commits lost": lambda run: shutil.rmtree(run / "commits"),
    "a commit torn": lambda run: (run / "commits" / "1").write_bytes(b"v1\n{"),
    "a checksum torn": lambda run: (run / "offsets" / ".2.crc").write_bytes(b"crc\0\0\0\2\0torn"),
    "a plan without its source": plan_without_its_source,
    "the folder lost": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_spark_lost_is_in_the_log(tmp_path: Path, spark: SparkSession, damage: str) -> None:
    store, folder = streamed(tmp_path, 3, spark)
    DAMAGES[damage](store / "runs" / "posts")
    check_goes_on(store, folder, 3, spark)


def test_a_folder_that_is_gone_is_rebuilt_from_a_folded_log(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a compaction of the file source's log, and a checkpoint of ours: only the last of each run is kept."""
    monkeypatch.setitem(CommitLog.__init__.__kwdefaults__, "checkpoint_every", 5)
    store, folder = streamed(tmp_path, 12, spark)
    with sl.open(store) as engine:
        (position,) = engine._store.commits.snapshot().positions.values()
        assert position.carried == {"0/9.compact", "0/10", "0/11"}
    assert list((store / "log").glob("*.checkpoint.json")) != []
    shutil.rmtree(store / "runs")
    check_goes_on(store, folder, 12, spark)


def test_other_rows_under_a_committed_number_are_refused(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of defence, for a checkpoint that changes after it was repaired."""
    store, folder = streamed(tmp_path, 2, spark)
    lose_the_last_batch(store / "runs" / "posts")
    put(folder, 2, 1)
    with monkeypatch.context() as patch:
        patch.setattr(starter, "repair", lambda *_: [])
        source = spark.readStream.schema("id string, lon double, lat double, ts timestamp, text string").parquet(
            str(folder)
        )
        with sl.open(store, spark) as engine:
            run = engine.run(source, name="posts")
            with pytest.raises(sl.RunFailed, match=r"planned batch 1 anew, which is committed, with other rows"):
                run.await_termination(60)
    assert ids(store) == expected(2)
    stream(store, folder, 3 * ROWS, spark)
    assert ids(store) == expected(3)


@pytest.mark.parametrize("damage", ["lost", "torn", "folder lost"])
def test_a_one_shot_run_is_not_loaded_twice(tmp_path: Path, spark: SparkSession, damage: str) -> None:
    put(tmp_path / "files", 0, 1)
    file = tmp_path / "files" / "00.parquet"
    with sl.open(tmp_path / "store", spark, workers=2) as engine:
        engine.run(file, name="archive").await_termination()
    kept = tmp_path / "store" / "runs" / "archive" / "id"
    first = json.loads(kept.read_text())["id"]
    if damage == "lost":
        kept.unlink()
    elif damage == "torn":
        kept.write_text(kept.read_text()[:9])
    else:
        shutil.rmtree(tmp_path / "store" / "runs")
    with sl.open(tmp_path / "store", spark) as engine:
        if damage == "torn":
            assert engine.load(file)["objects"] == ROWS, "a torn file of one run does not stop a load"
        run = engine.run(file, name="archive")
        run.await_termination()
        assert run.id == first
        assert engine.counters()["objects"] == (2 if damage == "torn" else 1) * ROWS
    assert json.loads(kept.read_text())["id"] == first


def test_a_stream_begins_again_under_another_name(tmp_path: Path, spark: SparkSession) -> None:
    """How the documentation says that it is done on purpose."""
    store, folder = tmp_path / "store", tmp_path / "stream"
    put(folder, 0, 2)
    source = spark.readStream.schema("id string, lon double, lat double, ts timestamp, text string").parquet(
        str(folder)
    )
    with sl.open(store, spark, workers=2) as engine:
        for times, name in enumerate(("posts", "posts", "posts-again"), start=1):
            run = engine.run(source, name=name)
            while run.is_active and engine.counters().get("objects", 0) < min(times, 2) * ROWS:
                run.await_termination(0.05)
            run._query.processAllAvailable()  # type: ignore[union-attr]
            run.stop()
        assert engine.counters()["objects"] == 4 * ROWS
