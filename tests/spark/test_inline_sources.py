"""What an inline engine reads from a file is what Spark reads from it, to the type and the raw reject."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sightline as sl

EVERYTHING = sl.RangeQuery("", sl.Box(-180, -90, 180, 90))
GOOD = {"id": "1", "lon": 1.5, "lat": 2.5, "ts": "2024-05-01T12:30:00Z", "text": "flood"}


def write_parquet(folder: Path) -> Path:
    ts = datetime(2024, 5, 1, tzinfo=UTC)
    table = pa.table(
        {
            "id": pa.array(["a", "b", None, "d"]).dictionary_encode(),
            "lon": pa.array([1, 2, 3, 200], pa.int32()),
            "lat": pa.array([1.0, None, 3.0, 4.0], pa.float32()),
            "ts": pa.array([ts] * 4, pa.timestamp("ms", tz="Asia/Tokyo")),
            "text": pa.array(["flood", "boat", "x", "y"], pa.large_string()),
            "likes": pa.array([1, 2, 3, 4], pa.uint32()),
            "at": pa.array([ts] * 4, pa.timestamp("ns")),
            "tags": pa.array([["a"], [], None, ["b"]]),
            "user": pa.array([{"name": "ann"}, None, {"name": None}, {"name": "bo"}]),
        }
    )
    pq.write_table(table, folder / "posts.parquet")
    return folder / "posts.parquet"


def write_csv(folder: Path) -> Path:
    (folder / "posts.csv").write_bytes(
        b'id,lon,lat,ts,text,likes\n1,1.5,2.5,2024-05-01,flood,7\n2,1.5,2.5,2024-05-01,"two\nlines ""quoted""",\n'
        b"3,east,2.5,2024-05-01,no number,1\n4,1.5,2.5,yesterday,no ts,1\n5,,2.5,2024-05-01,no lon,1\n"
        b",1.5,2.5,2024-05-01,no id,1\n7,1.5,2.5,2024-05-01,,no text\n8,1.5,2.5\n9,1.5,2.5,2024-05-01,caf\xc3,1\n"
        b'10,1.5,95,2024-05-01,far,1\n11,1.5,2.5,2024-05-01,"",empty\n'
    )
    return folder / "posts.csv"


def write_json(folder: Path) -> Path:
    lines: list[bytes] = [
        json.dumps(GOOD).encode(),
        json.dumps({**GOOD, "id": 2, "likes": 7, "user": {"name": "ann", "age": 3}}).encode(),
        json.dumps({**GOOD, "id": "3", "lat": None}).encode(),
        json.dumps({**GOOD, "id": "4", "lat": 91, "likes": None}).encode(),
        json.dumps({**GOOD, "id": "5", "ts": "soon", "extra": [1, 2]}).encode(),
        b'{"id": "6", "lon": 1.5, "lat": ',
        b"no JSON at all",
        json.dumps({name: value for name, value in GOOD.items() if name != "text"}).encode(),
    ]
    (folder / "posts.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return folder / "posts.jsonl"


def write_geojson(folder: Path) -> Path:
    def feature(place: Any, **properties: Any) -> dict[str, Any]:
        return {"type": "Feature", "geometry": place, "properties": {**GOOD, **properties}}

    point = {"type": "Point", "coordinates": [1.5, 2.5]}
    line = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
    features = [feature(point), feature(line, id="2"), feature(None, id="3"), feature(point, id="4", likes=3)]
    (folder / "posts.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return folder / "posts.geojson"


@pytest.mark.spark
@pytest.mark.parametrize("write", [write_parquet, write_csv, write_json, write_geojson])
def test_the_same_objects_and_rejects_as_through_spark(tmp_path: Path, spark: SparkSession, write: Any) -> None:
    source = write(tmp_path)
    found = []
    for name, session in (("inline", "inline"), ("spark", spark)):
        with sl.open(tmp_path / name, session, workers=2) as engine, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine.load(source)
            rejects = sorted((row["reason"], row["raw"]) for row in engine.rejects())
            rows = engine.search(EVERYTHING)
            found.append((rows.schema, sorted(rows, key=str), [reason for reason, _ in rejects], rejects))
    ours, theirs = found
    assert ours[1] == theirs[1] != []
    assert ours[2] == theirs[2] != []
    assert ours[0] == theirs[0]
    assert ours[3] == theirs[3]
