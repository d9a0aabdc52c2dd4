"""Every bad request, one by one: the class of the error, what its message says, and that nothing was half-applied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.refusal import ALL, WORLD, Refusal, posts
from typer.testing import CliRunner

import sightline as sl
from sightline.cli.app import app

NAN = float("nan")


@pytest.mark.spark
def test_unknown_column(loading: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    refused(sl.BadSource, lambda: loading.load(posts(lon=None)), "'lon'", 'columns={"lon"')
    refused(
        sl.BadSource, lambda: loading.load(posts(), columns={"id": "tweet_id"}), "tweet_id", "id, lat, lon, text, ts"
    )
    refused(sl.BadSource, lambda: loading.load(posts(), columns={"colour": "id"}), "colour", "id, lon, lat, ts, text")
    refused(sl.BadSource, lambda: loading.run(posts(), columns={"geometry": "where"}), "where")
    table = pa.table({"keyword": ["flood"], "west": [0.0]})
    refused(sl.BadQuery, lambda: loading.subscribe_many(table))
    pq.write_table(posts(), tmp_path / "posts.parquet")
    refused.command("load", loading.path, tmp_path / "posts.parquet", "--column", "id=tweet_id", said="tweet_id")
    refused.command("load", loading.path, tmp_path / "posts.parquet", "--column", "id", said="NAME=VALUE")


@pytest.mark.spark
def test_wrong_type(loading: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    for name, values, allowed in (
        ("lon", ["1", "2"], "double"),
        ("lat", [True, False], "double"),
        ("ts", [1, 2], "timestamp"),
        ("ts", pa.array([1, 2], pa.date32()), "timestamp"),
        ("id", [1, 2], "string"),
        ("text", [["flood"], ["boat"]], "string"),
        ("text", pa.array([b"flood", b"boat"], pa.binary()), "string"),
    ):
        refused(sl.BadSource, lambda name=name, values=values: loading.load(posts(**{name: values})), name, allowed)
    refused(sl.BadSource, lambda: loading.load(posts(lon=None, lat=None, geometry=["POINT (1 2)"] * 2)), "WKB")
    refused(sl.BadSource, lambda: loading.load([1, 2, 3]), "list", "pyarrow.Table")
    refused(sl.BadSource, lambda: loading.load(loading.spark.readStream.format("rate").load()), "run")
    pq.write_table(posts(ts=[1, 2]), tmp_path / "posts.parquet")
    refused.command("load", loading.path, tmp_path / "posts.parquet", said="timestamp")
    stream = (
        loading.spark.readStream.format("rate")
        .load()
        .selectExpr("value id", "1D lon", "1D lat", "timestamp ts", "'' text")
    )
    refused(sl.BadSource, lambda: loading.run(stream), "bigint", "string")


def test_wrong_type_in_a_query(engine: sl.Engine, refused: Refusal) -> None:
    refused(sl.BadExpression, lambda: engine.search(sl.RangeQuery(5, WORLD)), "5")  # type: ignore[arg-type]
    refused(sl.BadExpression, lambda: engine.search(sl.RangeQuery(["flood", 5], WORLD)), "5")  # type: ignore[list-item]
    refused(sl.BadQuery, lambda: engine.search(sl.RangeQuery("flood", (0, 0, 1, 1))), "Box")  # type: ignore[arg-type]
    refused(sl.BadQuery, lambda: engine.search("flood"), "RangeQuery")  # type: ignore[arg-type]
    refused(sl.BadQuery, lambda: engine.subscribe("flood"), "RangeQuery")  # type: ignore[arg-type]
    refused(sl.BadQuery, lambda: engine.search(sl.NearestQuery("", (0, 0), "3")), "'3'")  # type: ignore[arg-type]
    refused(sl.BadQuery, lambda: engine.search(sl.NearestQuery("", "here", 3)), "here")  # type: ignore[arg-type]
    refused(sl.BadQuery, lambda: sl.Box("0", 0, 1, 1), "'0'")  # type: ignore[arg-type]
    refused(sl.BadQuery, lambda: engine.subscribe(ALL, id=7), "7")  # type: ignore[arg-type]
    refused(sl.BadConfig, lambda: sl.open(engine.path, workers="two"), "'two'")  # type: ignore[arg-type]
    refused.command("search", engine.path, "--near", "here,there", said="LON,LAT")
    refused.command("search", engine.path, "--query", "[]", said="JSON object")
    refused.command("search", engine.path, "--query", '{"kind": "near"}', said="nearest")


def test_south_above_north(engine: sl.Engine, refused: Refusal) -> None:
    refused(
        sl.BadQuery, lambda: engine.search(sl.RangeQuery("", sl.Box(0, 10, 5, -10))), "south <= north", "west, south"
    )
    refused(sl.BadQuery, lambda: engine.subscribe(sl.RangeQuery("", sl.Box(0, 10, 5, -10))))
    table = pa.table({"keywords": [["flood"]], "west": [0.0], "south": [10.0], "east": [5.0], "north": [-10.0]})
    refused(sl.BadQuery, lambda: engine.subscribe_many(table))
    refused.command("search", engine.path, "--box", "0,10,5,-10", said="south <= north")
    refused.command("subscribe", engine.path, "--box", "0,10,5,-10", said="south <= north")


def test_off_the_globe(engine: sl.Engine, refused: Refusal) -> None:
    """Only the store knows that its coordinates are degrees."""
    for query in (
        sl.RangeQuery("", sl.Box(0, 0, 500, 1)),
        sl.RangeQuery("", sl.Circle(0, 95, 1)),
        sl.TopTermsQuery(sl.Polygon([(0, 0), (1, 0), (1, 95)]), 3),
        sl.NearestQuery("", (181, 0), 3),
    ):
        refused(sl.BadQuery, lambda query=query: engine.search(query), "out of range")
        refused(
            sl.BadQuery, lambda query=query: engine.search_many([ALL, query]), "query 1 of the list", "out of range"
        )
        refused(sl.BadQuery, lambda query=query: engine.explain(query), "out of range")
        if not isinstance(query, sl.TopTermsQuery):
            refused(sl.BadQuery, lambda query=query: engine.subscribe(query), "out of range")
            refused(sl.BadQuery, lambda query=query: engine.subscribe_many([query] * 70), "out of range")
    refused.command("search", engine.path, "--box", "0,10,500,20", said="out of range")
    refused.command("subscribe", engine.path, "--near", "0,95", "-k", 3, said="out of range")


def test_not_a_number(engine: sl.Engine, refused: Refusal) -> None:
    for place in (lambda: sl.Box(NAN, 0, 1, 1), lambda: sl.Circle(0, 0, NAN), lambda: sl.Circle(0, float("inf"), 5),
                  lambda: sl.Polygon([(0, 0), (1, NAN), (1, 1)])):  # fmt: skip
        refused(sl.BadQuery, place)
    refused(sl.BadQuery, lambda: engine.search(sl.NearestQuery("", (NAN, 0), 3)), "nan")
    table = pa.table({"keywords": [["flood"]], "west": [NAN], "south": [0.0], "east": [5.0], "north": [10.0]})
    refused(sl.BadQuery, lambda: engine.subscribe_many(table))
    refused.command("search", engine.path, "--box", "0,nan,5,10", said="nan")
    refused.command("search", engine.path, "--near", "nan,0", said="nan")


@pytest.mark.parametrize("k", [0, -1, True, 2.5, None])
def test_k_below_one(engine: sl.Engine, refused: Refusal, k: Any) -> None:
    if k is not None:
        refused(sl.BadQuery, lambda: engine.search(sl.NearestQuery("", (0, 0), k)), "k")
        refused(sl.BadQuery, lambda: engine.search(sl.TopTermsQuery(WORLD, k)), "k")
    else:
        refused.command("search", engine.path, "--near", "0,0", "-k", 0, said="k")
        refused.command("subscribe", engine.path, "--top", -3, "--window", "1h", "--every", "1h", said="k")
        table = pa.table({"keywords": [["flood"]], "lon": [0.0], "lat": [10.0], "k": [0]})
        refused(sl.BadQuery, lambda: engine.subscribe_many(table))


def test_an_empty_expression_where_it_means_nothing(engine: sl.Engine, refused: Refusal) -> None:
    refused(sl.BadExpression, lambda: sl.any_of([]))
    refused(sl.BadExpression, lambda: sl.any_of(["flood", ""]))
    refused(sl.BadExpression, lambda: engine.search(sl.RangeQuery("flood AND ...", WORLD)), "position 10")
    refused(sl.BadExpression, lambda: engine.subscribe(sl.RangeQuery("()", WORLD)), "position")
    refused(sl.BadExpression, lambda: engine.subscribe(sl.RangeQuery("flood AND", WORLD)))
    refused(sl.BadExpression, lambda: engine.subscribe(sl.RangeQuery("x AND NOT x", WORLD)))
    refused(sl.BadExpression, lambda: engine.subscribe(sl.RangeQuery('"flood rescue"', WORLD)))
    refused.command("search", engine.path, "!!!", said="without terms")
    refused.command("search", engine.path, "flood", "--top", 3, said="--top")


def test_stop_words_of_the_store_leave_nothing(tmp_path: Path) -> None:
    with sl.open(tmp_path / "store", text=sl.TextConfig(stop_words=("the",))) as engine:
        for request in (engine.search, engine.subscribe):
            with pytest.raises(sl.BadExpression, match="stop words"):
                request(sl.RangeQuery("the", WORLD))
        assert engine.subscriptions().num_rows == 0


@pytest.mark.parametrize(
    ("source", "position"), [("flood AND (boat OR rescue", 25), ("flood) boat", 5), ("((a OR b) c", 11)]
)
def test_unbalanced_parenthesis(engine: sl.Engine, refused: Refusal, source: str, position: int) -> None:
    error = refused(sl.BadExpression, lambda: engine.search(sl.RangeQuery(source, WORLD)), f"position {position}")
    assert isinstance(error, sl.BadExpression)
    assert error.position == position
    refused.command("subscribe", engine.path, source, "--box", "0,0,1,1", said=f"position {position}")


@pytest.mark.parametrize("source", ["NOT flood", "NOT", "boat OR NOT flood", "NOT (a b)"])
def test_not_alone(engine: sl.Engine, refused: Refusal, source: str) -> None:
    refused(sl.BadExpression, lambda: engine.subscribe(sl.RangeQuery(source, WORLD)))
    refused.command("search", engine.path, source)


def test_unknown_plug_in(engine: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    refused(sl.UnknownPlugin, lambda: sl.open(engine.path, partitioner="gird"), "'gird'", "broadcast", "grid")
    refused(sl.UnknownPlugin, lambda: sl.open(engine.path, balance="often"), "'often'", "never")
    refused(sl.UnknownPlugin, lambda: sl.open(tmp_path / "new", partitioner="gird"))
    (tmp_path / "posts.csv").write_text("id,lon,lat,ts,text\n")
    refused.command("load", engine.path, tmp_path / "posts.csv", "--partitioner", "gird", said="broadcast")
    refused.command("load", tmp_path / "new", tmp_path / "posts.csv", "--partitioner", "gird", said="broadcast")
    assert not (tmp_path / "new").exists()


def test_a_duration_in_parsecs(engine: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    far = "3 parsecs"
    refused(sl.BadQuery, lambda: engine.search(sl.RangeQuery("", WORLD, last=far)), far, "72h")
    refused(sl.BadQuery, lambda: sl.TopTermsQuery(WORLD, 3, window=far, every="1h"), far)
    refused(sl.BadQuery, lambda: engine.subscribe(ALL, ttl=far), far)
    refused(sl.BadConfig, lambda: sl.open(engine.path, lateness=far), far)
    refused(sl.BadConfig, lambda: sl.open(engine.path, ahead=far), far)
    refused(sl.BadConfig, lambda: sl.open(tmp_path / "new", lateness=far), far)
    refused(sl.BadConfig, lambda: engine.run(posts(), trigger=far), far)
    assert not (tmp_path / "new").exists()
    refused.command("search", engine.path, "--last", far, said=far)
    refused.command("subscribe", engine.path, "flood", "--ttl", far, said=far)


@pytest.mark.spark
def test_a_path_that_does_not_exist(loading: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    missing = tmp_path / "missing.parquet"
    refused(sl.BadSource, lambda: loading.load(missing), "missing.parquet", ".parquet, .csv")
    refused(sl.BadSource, lambda: loading.run(str(missing)), "missing.parquet")
    refused.command("load", loading.path, missing, said="missing.parquet")
    refused.command("run", loading.path, missing, said="missing.parquet")
    refused.command("subscribe", loading.path, "--table", missing, said="missing.parquet")
    refused.command("load", tmp_path / "new", missing, said="missing.parquet")
    for command in (["search"], ["subscriptions"], ["subscribe"], ["unsubscribe", "x"], ["watch", "x", "--once"]):
        refused.command(command[0], tmp_path / "new", *command[1:], said="no store")
    assert not (tmp_path / "new").exists()


@pytest.mark.spark
def test_an_empty_file(loading: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    for name in ("posts.parquet", "posts.csv", "posts.jsonl", "posts.geojson"):
        path = tmp_path / name
        path.touch()
        refused(sl.BadSource, lambda path=path: loading.load(path), name)
        refused.command("load", loading.path, path, said=name)
    (tmp_path / "folder").mkdir()
    refused(sl.BadSource, lambda: loading.load(tmp_path / "folder"), "no data files")
    for name, content in {
        "junk.parquet": "PAR?",
        "junk.geojson": "{",
        "none.geojson": '{"type": "FeatureCollection", "features": []}',
        "junk.jsonl": "no record\n",
        "posts.docx": "words",
        "no-header.csv": "\n",
    }.items():
        (tmp_path / name).write_text(content)
        refused(sl.BadSource, lambda name=name: loading.load(tmp_path / name), name)


def test_a_store_of_a_newer_format(engine: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(engine.path, newer)
    identity = newer / "store.json"
    identity.write_text(json.dumps({**json.loads(identity.read_text()), "format": 99}))
    before = {file: file.read_bytes() for file in newer.rglob("*") if file.is_file()}
    refused(sl.IncompatibleStore, lambda: sl.open(newer), "99", "up to 1", "upgrade")
    refused(sl.IncompatibleStore, lambda: sl.open(newer, workers=7))
    refused.command("search", newer, said="upgrade")
    refused.command("subscribe", newer, "flood", said="upgrade")
    assert {file: file.read_bytes() for file in newer.rglob("*") if file.is_file()} == before


def test_another_meaning_of_a_store(engine: sl.Engine, refused: Refusal) -> None:
    refused(sl.IncompatibleStore, lambda: sl.open(engine.path, space=sl.Space.planar((0, 0, 1, 1))), "space")
    refused(sl.IncompatibleStore, lambda: sl.open(engine.path, text=sl.TextConfig(stop_words=("the",))), "text")
    refused(sl.IncompatibleStore, lambda: sl.open(engine.path, text=sl.TextConfig(stop_words=("the",)), workers=7))


def test_a_folder_of_something_else(engine: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "cat.jpg").write_bytes(b"meow")
    refused(sl.NotAStore, lambda: sl.open(photos), "photos", "cat.jpg")
    refused(sl.NotAStore, lambda: sl.open(photos / "cat.jpg"))
    (tmp_path / "posts.csv").write_text("id,lon,lat,ts,text\n")
    refused.command("search", photos, said="photos")
    refused.command("load", photos, tmp_path / "posts.csv", said="photos")
    assert [file.name for file in photos.iterdir()] == ["cat.jpg"]
    assert (photos / "cat.jpg").read_bytes() == b"meow"


def test_subscribing_twice_with_one_id(engine: sl.Engine, refused: Refusal) -> None:
    query = sl.RangeQuery("boat", WORLD)
    refused(sl.DuplicateSubscription, lambda: engine.subscribe(query, id="range"), "'range'", "replace=True")
    columns = {"west": [0.0] * 2, "south": [0.0] * 2, "east": [1.0] * 2, "north": [1.0] * 2, "keywords": [["a"], ["b"]]}
    refused(
        sl.DuplicateSubscription, lambda: engine.subscribe_many(pa.table({"id": ["new", "range"], **columns})), "range"
    )
    refused(sl.DuplicateSubscription, lambda: engine.subscribe_many(pa.table({"id": ["new", "new"], **columns})), "new")
    refused.command("subscribe", engine.path, "boat", "--id", "range", said="replace")
    engine.subscribe(query, id="range", replace=True)
    engine.unsubscribe("range")
    engine.subscribe(query, id="range")  # free again


def test_unsubscribing_an_unknown_id(engine: sl.Engine, refused: Refusal) -> None:
    refused(sl.UnknownSubscription, lambda: engine.unsubscribe("nobody"), "'nobody'", "subscriptions()")
    refused(sl.UnknownSubscription, lambda: engine.unsubscribe(["range", "nobody"]), "nobody")
    for read in (engine.matches, engine.nearest, engine.nearest_events, engine.reports):
        refused(sl.UnknownSubscription, lambda read=read: read("nobody"), "nobody")
    refused.command("unsubscribe", engine.path, "nobody", said="nobody")
    refused.command("watch", engine.path, "nobody", "--once", said="nobody")
    engine.unsubscribe("range")
    with pytest.raises(sl.UnknownSubscription):
        engine.unsubscribe("range")


@pytest.mark.spark
def test_a_frame_that_fails_when_it_is_read(loading: sl.Engine, refused: Refusal) -> None:
    frame = loading.spark.sql(
        "select 'x' id, 1D lon, 1D lat, timestamp'2024-05-01' ts, cast(raise_error('no such user') as string) text"
    )
    refused(sl.RunFailed, lambda: loading.load(frame), "no such user")
    assert list((loading.path / "staging").iterdir()) == []


def test_a_path_that_is_none() -> None:
    for path in (None, 5, b"store", "\x00", ""):
        with pytest.raises(sl.BadConfig, match="not a path"):
            sl.open(path)  # type: ignore[arg-type]


def test_a_history_that_is_none(engine: sl.Engine, refused: Refusal) -> None:
    for objects in ("posts.csv", 5, [1], {"a": 1}, pa.schema([])):
        refused(sl.BadSource, lambda objects=objects: engine.fit(objects), "pyarrow.Table")
    with pytest.raises(sl.BadSource, match="cannot fit"):
        engine.fit(None)  # type: ignore[arg-type]
    for queries in (["flood"], "flood"):
        refused(sl.BadQuery, lambda queries=queries: engine.fit(posts(), queries), "RangeQuery")
    refused(sl.BadQuery, lambda: engine.fit(posts(), 5), "not a set of queries")


@pytest.mark.parametrize("since", ["x", 2.5, True])
def test_a_batch_that_is_no_number(engine: sl.Engine, refused: Refusal, since: Any) -> None:
    refused(sl.BadQuery, lambda: engine.matches("range", since_batch=since), "since_batch")
    refused(sl.BadQuery, lambda: engine.nearest_events("nearest", since_batch=since), "since_batch")
    refused(sl.BadQuery, lambda: engine.reports("top", since_batch=since), "since_batch")


@pytest.mark.parametrize("name", [5, "x" * 101, "", "a/b", "..", ".hidden", "\x00", "\ud800"])
def test_a_bad_name_of_a_run(engine: sl.Engine, refused: Refusal, name: Any) -> None:
    refused(sl.BadConfig, lambda: engine.run(posts(), name=name), "letters")


def test_more_workers_than_anybody_has(engine: sl.Engine, refused: Refusal) -> None:
    refused(sl.BadConfig, lambda: sl.open(engine.path, workers=10**9), "at most 4096")


def test_a_closed_engine(engine: sl.Engine) -> None:
    other = sl.open(engine.path)
    other.close()
    other.close()
    assert other.path == engine.path
    for request in (
        lambda: other.search(ALL), lambda: other.subscribe(ALL), lambda: other.matches("range"), other.counters,
        other.subscriptions, other.rebalance, lambda: other.load(posts()), lambda: other.run(posts()), other.partitions,
        lambda: other.explain(ALL), other.rejects, lambda: other.unsubscribe("range"), lambda: other.fit(posts()),
    ):  # fmt: skip
        with pytest.raises(sl.EngineClosed, match="open the store again"):
            request()


def test_messages_have_an_end(engine: sl.Engine, refused: Refusal) -> None:
    words = " OR ".join(f"word{i}" for i in range(100_000))
    for source in (words, words + " AND", "東" * 100_000 + ")", words.replace("1", "\U0001f30a")):
        with pytest.raises(sl.BadExpression) as caught:
            engine.search(sl.RangeQuery(source, WORLD))
        assert len(str(caught.value).encode()) <= 2_000
        assert caught.value.value == source


def test_lower_case_operators_are_warned_of(engine: sl.Engine) -> None:
    doubted = sl.RangeQuery("flood or boat", WORLD)
    said = "the operator is OR"
    for request in (lambda: engine.search(doubted), lambda: engine.subscribe_many([doubted])):
        with pytest.warns(UserWarning, match=said):
            request()
    assert said in engine.explain(doubted)["doubts"][0]
    assert "doubts" not in engine.explain(sl.RangeQuery("flood OR boat", WORLD))
    with pytest.warns(UserWarning, match=said):
        assert said in engine.search(doubted).explain["doubts"][0]
    result = CliRunner().invoke(app, ["search", str(engine.path), "flood or boat", "--json"], prog_name="sightline")
    assert result.stderr.startswith("sightline: warning: lower-case 'or'")
    assert result.stderr.count("\n") == 1


@pytest.mark.spark
def test_columns_that_spark_cannot_take(loading: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    two = ["x", "y"]
    for table, said in (
        (posts(at=pa.array([0, 1], pa.time64("us"))), "time of day"),
        (posts(ts=pa.array([0, 1], pa.time64("us"))), "time of day"),
        (posts(**{"a`b": two}), "backtick"),
        (posts(Text=two), "['text', 'Text']"),
        (posts(likes=[1, 2], Likes=[1, 2]), "Likes"),
        (pa.Table.from_arrays([*posts().columns, pa.array(two)], [*posts().column_names, "text"]), "text"),
        (posts(text=pa.nulls(2)), "'null'"),
    ):
        refused(sl.BadSource, lambda table=table: loading.load(table), said)
        if len(set(table.column_names)) == table.num_columns:
            pq.write_table(table, tmp_path / "posts.parquet")
            refused(sl.BadSource, lambda: loading.load(tmp_path / "posts.parquet"), said)


def test_a_gap_in_what_is_kept_is_warned_of(engine: sl.Engine) -> None:
    with pytest.warns(UserWarning, match="no longer kept"), sl.open(engine.path, keep_objects=False):
        pass
    with sl.open(engine.path, keep_objects=False):
        pass
    with pytest.warns(UserWarning, match="kept from now on"), sl.open(engine.path, keep_objects=True):
        pass
