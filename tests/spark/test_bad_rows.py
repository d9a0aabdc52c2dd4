"""A bad row of every kind ends in rejects() with its reason and raw content; the good rows around it are loaded."""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sightline as sl

pytestmark = pytest.mark.spark
WORLD = sl.RangeQuery("", sl.Box(-180, -90, 180, 90))
TS = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
ISO = "2024-05-01T12:30:00"
GOOD: dict[str, Any] = {"id": "good", "lon": 1.5, "lat": 2.5, "ts": TS, "text": "flood"}
Load = Callable[..., sl.Engine]


@pytest.fixture
def load(tmp_path: Path, spark: SparkSession) -> Iterator[Load]:
    """Load sources one after the other into one store; returns its engine."""
    with sl.open(tmp_path / "store", spark, workers=2) as engine:

        def load(*sources: Any, **options: Any) -> sl.Engine:
            for source in sources:
                engine.load(source, **options)
            return engine

        yield load


def strings(values: list[bytes | None]) -> pa.Array:
    """A string column of any bytes; pa.array would check them."""
    return pa.array(values, pa.binary()).view(pa.string())


def rejected(engine: sl.Engine) -> dict[str, str]:
    """Raw content by reason; every reason once."""
    rows = engine.rejects().to_pylist()
    assert len({row["reason"] for row in rows}) == len(rows), rows
    assert engine.counters().get("rejects", 0) == len(rows)
    return {row["reason"]: row["raw"] for row in rows}


def ids(engine: sl.Engine) -> list[str]:
    return sorted(row["id"] for row in engine.search(WORLD).to_pylist())


def test_every_kind_of_the_semantics_page(load: Load) -> None:
    nan, inf = float("nan"), float("inf")
    broken: list[tuple[str, dict[str, Any]]] = [
        ("null id", {"id": None, "text": "mark-0"}),
        ("null text", {"id": "mark-1", "text": None}),
        ("null ts", {"id": "mark-2", "ts": None}),
        ("null coordinate", {"id": "mark-3", "lat": None}),
        ("non-finite coordinate", {"id": "mark-4", "lon": nan}),
        ("latitude out of range", {"id": "mark-5", "lat": 90.0000001}),
        ("longitude out of range", {"id": "mark-6", "lon": -180.5}),
        ("invalid UTF-8 in id", {"id": b"mark-7 \xff"}),
        ("invalid UTF-8 in text", {"id": "mark-8", "text": b"caf\xc3"}),
        ("future", {"id": "mark-9", "ts": datetime(2999, 1, 1, tzinfo=UTC)}),
    ]
    again = [
        ("non-finite coordinate", {"id": "mark-10", "lat": -inf}),
        ("null coordinate", {"id": "mark-11", "lon": None}),
    ]
    edges = [{"lon": -180.0, "lat": -90.0}, {"lon": 180.0, "lat": 90.0}, {"text": ""}]
    rows = [{**GOOD, **row} for row in [*edges, *(row for _, row in broken), *(row for _, row in again), {}]]

    def column(name: str) -> list[bytes | None]:
        return [row[name].encode() if isinstance(row[name], str) else row[name] for row in rows]

    table = pa.table(
        {
            "id": strings(column("id")),
            "lon": pa.array([row["lon"] for row in rows], pa.float64()),
            "lat": pa.array([row["lat"] for row in rows], pa.float64()),
            "ts": pa.array([row["ts"] for row in rows], pa.timestamp("us", tz="UTC")),
            "text": strings(column("text")),
            "note": [f"mark-{i - len(edges)}" for i in range(len(rows))],
        }
    )
    with pytest.warns(UserWarning, match="lon and lat swapped"):
        engine = load(table)
    assert ids(engine) == ["good"] * (len(edges) + 1)
    rejects = engine.rejects().to_pylist()
    found = sorted((row["reason"], int(json.loads(row["raw"])["note"].removeprefix("mark-"))) for row in rejects)
    assert found == sorted((reason, i) for i, (reason, _) in enumerate([*broken, *again]))
    raw = {row["reason"]: json.loads(row["raw"]) for row in rejects}
    assert raw["invalid UTF-8 in id"]["id"] == "mark-7 \\xff"
    assert raw["invalid UTF-8 in text"]["text"] == "caf\\xc3"
    assert raw["latitude out of range"]["lat"] == 90.0000001
    assert raw["null text"]["text"] is None
    assert len({row["batch"] for row in rejects}) == 1
    counters = engine.counters()
    assert counters["rejects: null coordinate"] == 2
    assert (counters["objects"], counters["rejects"]) == (len(edges) + 1, len(broken) + len(again))


def test_csv(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "posts.csv"
    path.write_bytes(
        b"tweet_id,lon,lat,when,text,likes\n"
        b'1,1.5,2.5,2024-05-01T12:30:00Z,"flood, here",7\n'
        b'2,1.5,2.5,2024-05-01T14:30:00+02:00,"two\nlines ""quoted""",\n'
        b"3,1.5,2.5,2024-05-01 12:30:00.25,zone-less,1\n"
        b"4,east,2.5,2024-05-01,no number,1\n"
        b"5,1.5,2.5,yesterday,no instant,1\n"
        b"6,1.5,,2024-05-01,no lat,1\n"
        b"7,1.5,2.5,,no ts,1\n"
        b",1.5,2.5,2024-05-01,no id,1\n"
        b"9,1.5,2.5,2024-05-01,,no text\n"
        b"10,inf,2.5,2024-05-01,no place,1\n"
        b"11,1.5,2.5\n"
        b"12,1.5,2.5,2024-05-01,caf\xc3,1\n"
    )
    engine = load(path, columns={"id": "tweet_id", "ts": "when"})
    found = {row["id"]: row for row in engine.search(WORLD).to_pylist()}
    assert sorted(found) == ["1", "2", "3"]
    assert found["1"]["ts"] == found["2"]["ts"] == TS
    assert found["3"]["ts"] == TS.replace(microsecond=250_000)
    assert found["2"]["text"] == 'two\nlines "quoted"'
    assert [found[id_]["likes"] for id_ in "123"] == ["7", None, "1"]
    raw = rejected(engine)
    assert set(raw) == {
        "undecodable coordinate", "undecodable ts", "null coordinate", "null ts", "null id", "null text",
        "non-finite coordinate", "undecodable record", "invalid UTF-8 in text",
    }  # fmt: skip
    assert "11,1.5,2.5" in raw["undecodable record"]
    assert json.loads(raw["undecodable ts"])["ts"] == "yesterday"
    assert json.loads(raw["undecodable coordinate"])["lon"] == "east"


def test_json_lines(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "posts.jsonl"
    good = {"id": 1, "lon": 1.5, "lat": 2, "ts": f"{ISO}Z", "text": "flood", "user": {"name": "ann"}}
    lines: list[bytes] = [
        json.dumps(good).encode(),
        json.dumps({**good, "id": 2, "ts": f"{ISO}.0000019"}).encode(),
        b'{"id": 3, "lon": 1.5, "lat": ',
        b"not JSON at all, whose lines have their own reason twice",
        json.dumps({**good, "id": 4, "lat": None}).encode(),
        json.dumps({k: v for k, v in good.items() if k != "text"}).encode(),
        json.dumps({**good, "id": 5, "lat": 91}).encode(),
        json.dumps({**good, "id": 6, "ts": "soon"}).encode(),
        b'{"id": 7, "lon": 1.5, "lat": 2, "ts": "2024-05-01", "text": "caf\xc3"}',
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lat 91 is more than 1 % of these rows
        engine = load(path)
    found = {row["id"]: row for row in engine.search(WORLD).to_pylist()}
    assert sorted(found) == ["1", "2"]
    assert found["2"]["ts"] == TS.replace(microsecond=1)
    assert found["1"]["user"] == {"name": "ann"}
    rejects = engine.rejects().to_pylist()
    reasons = sorted(row["reason"] for row in rejects)
    assert len(rejects) == len(lines) - 2, reasons
    assert {"latitude out of range", "null coordinate", "null text", "undecodable record", "undecodable ts"} <= set(
        reasons
    )
    undecodable = [row["raw"] for row in rejects if row["reason"] == "undecodable record"]
    assert lines[2].decode() in undecodable
    assert lines[3].decode() in undecodable


def test_geojson(load: Load, tmp_path: Path) -> None:
    def feature(id_: Any, geometry: Any, **properties: Any) -> dict[str, Any]:
        return {
            "type": "Feature",
            "id": id_,
            "geometry": geometry,
            "properties": {"ts": ISO, "text": "flood", **properties},
        }

    point = {"type": "Point", "coordinates": [1.5, 2.5]}
    features = [
        feature("good", point, likes=3),
        feature("line", {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}),
        feature("nowhere", None),
        feature("far", {"type": "Point", "coordinates": [181, 0]}),
        feature(None, point),
        feature("when", point, ts=None),
        feature("flat", {"type": "Point", "coordinates": []}),
        feature("odd", {"type": "Point", "coordinates": ["east", 2]}),
    ]
    path = tmp_path / "posts.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    engine = load(path)
    (row,) = engine.search(WORLD).to_pylist()
    assert (row["id"], row["lon"], row["lat"], row["ts"], row["likes"]) == ("good", 1.5, 2.5, TS, 3)
    rejects = engine.rejects().to_pylist()
    found = sorted((str(json.loads(row["raw"])["id"]), row["reason"]) for row in rejects)
    assert found == [
        ("None", "null id"), ("far", "longitude out of range"), ("flat", "undecodable record"),
        ("line", "undecodable record"), ("nowhere", "null coordinate"), ("odd", "undecodable record"),
        ("when", "null ts"),
    ]  # fmt: skip
    assert features[1] in [json.loads(row["raw"]) for row in rejects]


def point(lon: float, lat: float) -> bytes:
    return struct.pack("<BIdd", 1, 1, lon, lat)


def test_wkb_points_and_nanoseconds(load: Load, tmp_path: Path) -> None:
    """A point column instead of lon and lat, under its own name; nanoseconds are floored, before 1970 too."""
    line = struct.pack("<BIIdddd", 1, 2, 2, 0, 0, 1, 1)
    path = tmp_path / "places.parquet"
    table = pa.table(
        {
            "id": ["after", "before", "null", "line", "junk", "empty", "far"],
            "place": pa.array(
                [point(1, 2), point(3, 4), None, line, b"junk", point(float("nan"), float("nan")), point(0, 91)],
                pa.binary(),
            ),
            "ts": pa.array([1_999, -1, 0, 0, 0, 0, 0], pa.timestamp("ns", tz="UTC")),
            "text": ["flood"] * 7,
        }
    )
    pq.write_table(table, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = load(path, columns={"geometry": "place"})
    found = {row["id"]: row for row in engine.search(WORLD).to_pylist()}
    assert {id_: (row["lon"], row["lat"], row["ts"].timestamp()) for id_, row in found.items()} == {
        "after": (1, 2, 0.000001),
        "before": (3, 4, -0.000001),
    }
    rejects = engine.rejects().to_pylist()
    assert sorted((json.loads(row["raw"])["id"], row["reason"]) for row in rejects) == [
        ("empty", "non-finite coordinate"), ("far", "latitude out of range"), ("junk", "undecodable coordinate"),
        ("line", "undecodable coordinate"), ("null", "null coordinate"),
    ]  # fmt: skip


def good_rows(count: int, **payload: Any) -> pa.Table:
    rows = pa.Table.from_pylist([GOOD] * count)
    rows = rows.set_column(3, "ts", rows["ts"].cast(pa.timestamp("us", tz="UTC")))
    for name, values in payload.items():
        rows = rows.append_column(name, values)
    return rows


def test_payload_comes_goes_and_keeps_its_type(load: Load) -> None:
    first = good_rows(1, likes=pa.array([1], pa.int32()))
    second = good_rows(
        1, place=pa.array([["a", "b"]], pa.list_(pa.string())), lang=pa.array(["en"]).dictionary_encode()
    )
    engine = load(first, second)
    rows = [(row["likes"], row["place"], row["lang"]) for row in engine.search(WORLD).to_pylist()]
    assert sorted(rows, key=repr) == [(1, None, None), (None, ["a", "b"], "en")]

    before = engine.counters(), engine.search(WORLD).to_pylist()
    for wrong, value in (
        (good_rows(1, likes=pa.array(["many"])), "string"),
        (good_rows(1, score=pa.array([1.5])), "score"),
        (good_rows(1, _hidden=pa.array([1.5])), "_hidden"),
    ):
        with pytest.raises(sl.BadSource) as error:
            engine.load(wrong)
        assert error.value.value == value
        assert error.value.allowed
        assert error.value.hint
        assert (engine.counters(), engine.search(WORLD).to_pylist()) == before
    load(good_rows(1, likes=pa.array([2], pa.int32())))
    assert engine.counters()["objects"] == 3


@contextmanager
def zone(spark: SparkSession, name: str) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_zone_less_is_utc_whatever_the_zone_of_the_session(load: Load, spark: SparkSession, tmp_path: Path) -> None:
    """TIMESTAMP is an instant; NTZ and zone-less strings are UTC."""
    naive = pa.array([TS.replace(tzinfo=None)], pa.timestamp("us"))
    plain = pa.table({"id": ["arrow"], "lon": [1.5], "lat": [2.5], "ts": naive, "text": ["flood"]})
    (tmp_path / "csv.csv").write_text(f"id,lon,lat,ts,text\ncsv,1.5,2.5,{ISO},flood\n")
    (tmp_path / "json.jsonl").write_text(json.dumps({**GOOD, "id": "json", "ts": ISO}) + "\n")
    pq.write_table(good_rows(1).set_column(0, "id", pa.array(["instant"])), tmp_path / "instant.parquet")
    with zone(spark, "America/New_York"):
        frame = spark.sql("select * from values ('ntz', timestamp_ntz'2024-05-01 12:30:00') as t(id, ts)").selectExpr(
            "id", "1.5D lon", "2.5D lat", "ts", "'flood' text", "timestamp'2024-05-01 08:30:00' seen"
        )
        zoned = frame.selectExpr("'zoned' id", "lon", "lat", "timestamp'2024-05-01 08:30:00' ts", "text", "seen")
        sources = [plain, tmp_path / "csv.csv", tmp_path / "json.jsonl", tmp_path / "instant.parquet", frame, zoned]
        engine = load(*sources)
    rows = engine.search(WORLD).to_pylist()
    assert {row["id"]: row["ts"] for row in rows} == dict.fromkeys(
        ["arrow", "csv", "json", "instant", "ntz", "zoned"], TS
    )
    assert {row["seen"] for row in rows} == {None, TS}
    assert engine.rejects().num_rows == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_instants_beyond_the_years_there_are(load: Load, unit: str) -> None:
    ts = pa.array([0, 2**62, -(2**62), None], pa.timestamp(unit, tz="UTC"))
    engine = load(pa.table({"id": list("abcd"), "lon": [0.0] * 4, "lat": [0.0] * 4, "ts": ts, "text": ["flood"] * 4}))
    assert [row["id"] for row in engine.search(WORLD).to_pylist()] == ["a"]
    reasons = {json.loads(row["raw"])["id"]: row["reason"] for row in engine.rejects().to_pylist()}
    outside = "ts outside the years 1 to 9999"
    assert reasons == {"b": outside, "c": outside, "d": "null ts"}


def test_names_of_columns_in_any_case(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "posts.csv"
    path.write_text("ID,Lon,LAT,Ts,TEXT,Likes\n1,1.5,2.5,2024-05-01,flood,7\n")
    assert load(path).search(WORLD).to_pylist()[0] == {
        "id": "1", "lon": 1.5, "lat": 2.5, "ts": TS.replace(hour=0, minute=0, second=0), "text": "flood", "Likes": "7",
    }  # fmt: skip
