"""Every bad request, one by one: the class of the error, what its message says, and that nothing was half-applied."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import sightline as sl
from sightline.cli.app import app
from sightline.store import disk
from tests.stages.worlds import Deployment, table_of

WORLD = sl.Box(-180, -90, 180, 90)
ALL = sl.RangeQuery("", WORLD)
NAN = float("nan")
ROWS = [
    {"id": f"r{i}", "lon": float(i), "lat": 1.0, "ts_us": i * 1_000_000, "text": "flood boat" if i % 2 else "calm"}
    for i in range(12)
]


def posts(**changed: Any) -> pa.Table:
    """Two good rows, with some columns replaced, or dropped by None."""
    columns: dict[str, Any] = {
        "id": ["x", "y"],
        "lon": [1.0, 2.0],
        "lat": [1.0, 2.0],
        "ts": pa.array([datetime(2024, 5, 1, tzinfo=UTC)] * 2, pa.timestamp("us", tz="UTC")),
        "text": ["flood", "boat"],
    }
    return pa.table({name: values for name, values in {**columns, **changed}.items() if values is not None})


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """A store with a subscription of each kind and two commits, made without Spark."""
    made = Deployment(tmp_path / "store")
    made.registry.subscribe(sl.RangeQuery("flood", WORLD), "range", None, None, False)
    made.registry.subscribe(sl.NearestQuery("boat", (0, 0), 3), "nearest", None, None, False)
    made.registry.subscribe(sl.TopTermsQuery(WORLD, 3, window="4s", every="2s"), "top", None, None, False)
    made.feed(ROWS[:6])
    made.feed(ROWS[6:])
    return made


@pytest.fixture
def engine(deployment: Deployment) -> Iterator[sl.Engine]:
    with sl.open(deployment.folder) as engine:
        yield engine


def state(path: Path) -> dict[str, Any]:
    """Everything a user can read, by a reader that has nothing in memory yet."""
    with sl.open(path) as engine:
        return {
            "counters": engine.counters(),
            "subscriptions": engine.subscriptions().to_pylist(),
            "events": engine.subscription_events().to_pylist(),
            "rows": engine.search(ALL).to_pylist(),
            "matches": engine.matches("range").to_pylist(),
            "nearest": engine.nearest("nearest").to_pylist(),
            "reports": engine.reports("top").to_pylist(),
            "rejects": engine.rejects().to_pylist(),
            "log": sorted(file.name for file in (path / "log").iterdir()),
            "control": sorted(file.name for file in (path / "control").iterdir()),
        }


class Refusal:
    """Asserts a refusal of its class whose message has the value and what to do, and a store as before."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, kind: type[sl.SightlineError], request: Callable[[], Any], *said: str) -> sl.SightlineError:
        before = state(self.path)
        with pytest.raises(kind) as caught:
            request()
        error = caught.value
        assert type(error) is kind, type(error)
        assert error.value is not None
        assert repr(error.value) in str(error)
        assert error.allowed or error.hint
        for part in (error.allowed, error.hint, *said):
            assert part is None or part in str(error), part
        assert state(self.path) == before
        return error

    def command(self, *arguments: object, said: str = "") -> str:
        """The same from the shell: exit code 2 and one line."""
        before = state(self.path)
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="sightline")
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith("sightline: ")
        assert result.stderr.count("\n") == 1
        assert said in result.stderr
        assert state(self.path) == before
        return result.stderr


@pytest.fixture
def refused(deployment: Deployment) -> Refusal:
    return Refusal(deployment.folder)


@pytest.fixture
def loading(deployment: Deployment, spark: SparkSession) -> Iterator[sl.Engine]:
    """The store on a Spark session, for requests that reach the source."""
    with sl.open(deployment.folder, spark) as engine:
        yield engine


@pytest.mark.spark
def test_unknown_column(loading: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    refused(sl.BadSource, lambda: loading.load(posts(lon=None)), "'lon'", 'columns={"lon"')
    refused(sl.BadSource, lambda: loading.load(posts(), columns={"id": "tweet_id"}), "tweet_id", "id, lat, lon, text, ts")
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
    stream = loading.spark.readStream.format("rate").load().selectExpr("value id", "1D lon", "1D lat", "timestamp ts", "'' text")
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
    refused(sl.BadQuery, lambda: engine.search(sl.RangeQuery("", sl.Box(0, 10, 5, -10))), "south <= north", "west, south")
    refused(sl.BadQuery, lambda: engine.subscribe(sl.RangeQuery("", sl.Box(0, 10, 5, -10))))
    table = pa.table({"keywords": [["flood"]], "west": [0.0], "south": [10.0], "east": [5.0], "north": [-10.0]})
    refused(sl.BadQuery, lambda: engine.subscribe_many(table))
    refused.command("search", engine.path, "--box", "0,10,5,-10", said="south <= north")
    refused.command("subscribe", engine.path, "--box", "0,10,5,-10", said="south <= north")


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


@pytest.mark.parametrize(("source", "position"), [("flood AND (boat OR rescue", 25), ("flood) boat", 5), ("((a OR b) c", 11)])
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
    for name, content in (("junk.parquet", "PAR?"), ("junk.geojson", "{"), ("none.geojson", '{"type": "FeatureCollection", "features": []}'),
                          ("junk.jsonl", "no record\n"), ("posts.docx", "words"), ("no-header.csv", "\n")):  # fmt: skip
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
    refused(sl.DuplicateSubscription, lambda: engine.subscribe_many(pa.table({"id": ["new", "range"], **columns})), "range")
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


class FullDisk:
    """From the n-th write on there is no space."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes_left: int) -> None:
        self.left = writes_left
        self._write = disk._write_all
        monkeypatch.setattr(disk, "_write_all", self)

    def __call__(self, fd: int, buffer: bytes | memoryview) -> int:
        if self.left <= 0:
            os.write(fd, memoryview(buffer)[:1])  # a file is cut short, not missing
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return self._write(fd, buffer)


BATCH = [{**row, "ts_us": row["ts_us"] + 20_000_000} for row in ROWS]


def test_disk_full_at_every_write_of_a_batch(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the space ends, the commit does not happen; with space again, the same batch commits once."""
    before = state(deployment.folder)
    for writes in range(0, 2000, 7):
        with monkeypatch.context() as patch:
            FullDisk(patch, writes)
            try:
                deployment.feed(BATCH)
            except sl.StoreFull as error:
                assert isinstance(error, OSError)
                assert error.errno == errno.ENOSPC
                assert error.value
                assert "free some space" in str(error)
            else:
                break
        assert state(deployment.folder) == before
        if writes % 3 == 0:
            deployment.reopen()  # as a new process would
    assert writes > 100
    after = state(deployment.folder)
    assert after["counters"]["objects"] == 24
    assert len(after["rows"]) == 24
    assert len(after["matches"]) == 12


def test_disk_full_while_subscribing(engine: sl.Engine, refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"keywords": [["a"]], "west": [0.0], "south": [0.0], "east": [1.0], "north": [1.0]})
    with monkeypatch.context() as patch:
        FullDisk(patch, 0)
        refused(sl.StoreFull, lambda: engine.subscribe(ALL, id="late"), "free some space")
        refused(sl.StoreFull, lambda: engine.subscribe_many(table))
        refused(sl.StoreFull, lambda: engine.unsubscribe("range"))
        refused(sl.StoreFull, lambda: engine.rebalance())
        refused(sl.StoreFull, lambda: sl.open(engine.path, workers=7))
    engine.subscribe(ALL, id="late")


@pytest.mark.spark
def test_disk_full_while_committing_a_load(loading: sl.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks had space, the driver has none: the load fails, and goes through when it is tried again."""
    loading.load(table_of(ROWS[:1]))
    before = state(loading.path)
    real = disk.put_new

    def put_new(path: Path, data: bytes, *, durable: bool) -> bool:
        if path.parent.name == "log":
            FullDisk(monkeypatch, 0)
        return real(path, data, durable=durable)

    with monkeypatch.context() as patch:
        patch.setattr("sightline.store.log_store.put_new", put_new)
        with pytest.raises(sl.StoreFull):
            loading.load(table_of(BATCH))
    monkeypatch.undo()
    assert state(loading.path) == before
    assert loading.load(table_of(BATCH))["objects"] == 12
    assert state(loading.path)["counters"]["objects"] == 25
