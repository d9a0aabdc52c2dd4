"""Paths as Spark is given them: its default file system, working folders and strange names make no difference."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sightline as sl
from sightline.spark import sources
from sightline.spark.paths import to_read, to_write

WORLD = sl.Box(-180, -90, 180, 90)
SCHEMA = "id string, lon double, lat double, ts string, text string"
ROWS = [(str(i), 1.0, 1.0, "2026-01-01T00:00:00Z", "flood") for i in range(5)]
NAMES = ("id", "lon", "lat", "ts", "text")
TABLE = pa.table(dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))
STRANGE = ["with space", "per%20cent", "[brackets]", "{a,b}", "st*r?", "ha#sh", "colon:", "Ünïcode", "back\\slash"]


def write(folder: Path, kind: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"posts.{kind}"
    if kind == "parquet":
        pq.write_table(TABLE, path)
    elif kind == "csv":
        path.write_text("\n".join(["id,lon,lat,ts,text", *(",".join(map(str, row)) for row in ROWS)]))
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in TABLE.to_pylist()))
    else:
        features = [
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 1]}, "properties": row}
            for row in TABLE.select(["id", "ts", "text"]).to_pylist()
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


@pytest.mark.parametrize("name", ["plain", *STRANGE])
def test_paths_are_named_with_their_scheme(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert to_write(name) == f"file://{tmp_path}/{name}", "nothing is encoded"
    assert to_read(Path(name)).replace("\\", "") == to_write(name).replace("\\", "")


@pytest.fixture
def elsewhere(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose default file system is one that nobody answers for, as on a Hadoop cluster that is down."""
    other = spark.newSession()
    other.conf.set("fs.defaultFS", "hdfs://127.0.0.1:1")
    other.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 65_536)
    yield other
    spark.createDataFrame([(1,)], "one int")  # the active session again, which later tests get


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "geojson", "table", "DataFrame"])
def test_the_default_file_system_does_not_matter(tmp_path: Path, elsewhere: SparkSession, kind: str) -> None:
    with sl.open(tmp_path / "store", elsewhere, workers=2) as engine:
        if kind == "table":
            loaded = engine.load(TABLE)
        elif kind == "DataFrame":
            loaded = engine.load(elsewhere.createDataFrame(ROWS, SCHEMA))
        else:
            loaded = engine.load(write(tmp_path / "in", kind))
        assert loaded["objects"] == len(ROWS)
        assert engine.search(sl.RangeQuery("flood", WORLD)).num_rows == len(ROWS)


@pytest.mark.spark
def test_streams_do_not_meet_the_default_file_system_either(tmp_path: Path, elsewhere: SparkSession) -> None:
    write(tmp_path / "in", "parquet")
    stream = elsewhere.readStream.schema(SCHEMA).parquet(f"file://{tmp_path}/in")
    with sl.open(tmp_path / "store", elsewhere, workers=2) as engine:
        run = engine.run(stream, name="posts")
        assert run._query is not None
        run._query.processAllAvailable()
        run.stop()
        assert run.exception() is None
        assert engine.counters()["objects"] == len(ROWS)
    assert (tmp_path / "store" / "runs" / "posts" / "metadata").is_file()


@pytest.mark.spark
def test_a_relative_store_stays_where_it_was_opened(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers have working folders of their own, and the caller may change his."""
    (tmp_path / "there").mkdir()
    write(tmp_path, "csv")
    monkeypatch.chdir(tmp_path)
    with sl.open("store/", spark, workers=2) as engine:
        assert engine.path == tmp_path / "store"
        assert engine.load("posts.csv")["objects"] == len(ROWS)
        monkeypatch.chdir(tmp_path / "there")
        assert engine.load(TABLE)["objects"] == len(ROWS)
        assert engine.search(sl.RangeQuery("flood", WORLD)).num_rows == 2 * len(ROWS)
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.spark
@pytest.mark.parametrize("name", ["[a] {b,c} per%20cent", "st*r? ha#sh ü"])
def test_strange_names_are_taken_literally(tmp_path: Path, spark: SparkSession, name: str) -> None:
    folder = tmp_path / name
    files = [write(folder / "in", kind) for kind in ("parquet", "csv", "jsonl")]
    with sl.open(folder / "store", spark, workers=2) as engine:
        for source in (*files, TABLE, spark.createDataFrame(ROWS, SCHEMA)):
            assert engine.load(source)["objects"] == len(ROWS)
        run = engine.run(spark.readStream.schema(SCHEMA).parquet(to_read(folder / "in" / "posts.parquet")), name="s")
        assert run._query is not None
        run._query.processAllAvailable()
        run.stop()
        assert engine.counters()["objects"] == 6 * len(ROWS)


@pytest.mark.spark
def test_staged_rows_that_the_driver_does_not_find_are_an_error(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on executors with a private folder under the store's path: Spark says that all was written."""
    monkeypatch.setattr(sources, "to_write", lambda path: to_write(tmp_path / "private" / Path(path).name))
    with sl.open(tmp_path / "store", spark, workers=2) as engine:
        with pytest.raises(sl.StoreNotShared, match="of 5 staged rows the driver finds 0"):
            engine.load(spark.createDataFrame(ROWS, SCHEMA))
        assert engine.counters() == {}
        assert engine.load(spark.createDataFrame([], SCHEMA))["objects"] == 0, "no rows, none expected"
