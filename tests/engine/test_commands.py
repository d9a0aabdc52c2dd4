"""Commands that look at a store, or make one, without a pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engine.refusal import ALL, Refusal
from typer.testing import CliRunner

import sightline as sl
from sightline.cli import doctor_checks
from sightline.cli.app import app
from sightline.model.config import Indexes
from sightline.store.kinds import FileKind
from sightline.store.store import Store


def sightline(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="sightline")
    assert result.exit_code == code, result.output + result.stderr
    return result.output if code == 0 else result.stderr


def test_a_store_is_made_with_every_option_and_can_be_subscribed_to(tmp_path: Path) -> None:
    store = tmp_path / "store"
    said = sightline("init", store, "--workers", 8, "--partitioner", "qt-tree", "--index", "range=gi2", "--lateness",
                     "10min", "--ahead", "none", "--no-objects", "--planar", "0,0,1000,500", "--stop-words", "the,a",
                     "--stemmer", "english",
                     "--balance", "never", "--json")  # fmt: skip
    assert json.loads(said) == {"store": str(store)}
    config = Store.open(store).config
    assert (config.workers, config.partitioner, config.lateness_us, config.ahead_us) == (
        8,
        "qt-tree",
        600_000_000,
        None,
    )
    assert (config.keep_objects, config.indexes) == (False, Indexes(range="gi2"))
    assert config.space == sl.Space.planar((0, 0, 1000, 500))
    assert config.text == sl.TextConfig(stop_words=("the", "a"), stemmer="english")
    sightline("subscribe", store, "flood", "--box", "0,0,900,400", "--id", "all")
    assert "all" in sightline("subscriptions", store)
    assert "already" in sightline("init", store, code=2)


@pytest.mark.parametrize(
    "options", [["--planar", "0,0,1"], ["--planar", "a,b,c,d"], ["--partitioner", "hexagons"], ["--index", "range"],
                ["--workers", "5000"], ["--lateness", "soon"], ["--balance", "sometimes"]],
)  # fmt: skip
def test_a_bad_option_makes_no_store(tmp_path: Path, options: list[str]) -> None:
    sightline("init", tmp_path / "store", *options, code=2)
    assert not (tmp_path / "store").exists()


def test_rejects(engine: sl.Engine, deployment: Any) -> None:
    good = {"id": "a", "lon": 0.0, "lat": 0.0, "ts_us": 0, "text": "x"}
    deployment.feed([{**good, "lat": 91.0}, {**good, "id": None}, {**good, "id": None}])
    said = json.loads(sightline("rejects", engine.path, "--json"))
    assert (said["count"], said["reasons"]) == (3, {"null id": 2, "latitude out of range": 1})
    only = json.loads(sightline("rejects", engine.path, "--reason", "null id", "--limit", 1, "--json"))
    assert (only["count"], len(only["rejects"])) == (2, 1)
    assert "latitude out of range" in sightline("rejects", engine.path)


def test_watch_all(engine: sl.Engine, refused: Refusal) -> None:
    lines = [json.loads(line) for line in sightline("watch", engine.path, "--all", "--once", "--json").splitlines()]
    assert {line["subscription_id"] for line in lines} == {"range", "nearest", "top"}
    alone = [
        json.loads(line)
        for line in sightline("watch", engine.path, "range", "nearest", "top", "--once", "--json").splitlines()
    ]
    assert sorted(map(str, lines)) == sorted(map(str, alone))
    engine.subscribe(ALL, id="later")
    refused.command("watch", engine.path, said="--all")
    refused.command("watch", engine.path, "range", "--all", said="--all")


def test_polygons_of_the_command_line(engine: sl.Engine, refused: Refusal, tmp_path: Path) -> None:
    polygon = sl.Polygon([(0.5, 0), (3.5, 0), (3.5, 2), (0.5, 2)])
    expected = [row["id"] for row in engine.search(sl.RangeQuery("flood", polygon))]
    assert expected == ["r3", "r1"]
    geometry = {"type": "Polygon", "coordinates": [[list(point) for point in polygon.ring]]}
    feature = {"type": "Feature", "geometry": geometry, "properties": {}}
    for number, document in enumerate((geometry, feature, {"type": "FeatureCollection", "features": [feature]})):
        file = tmp_path / f"{number}.geojson"
        file.write_text(json.dumps(document))
        found = json.loads(sightline("search", engine.path, "flood", "--geojson", file, "--json"))
        assert [row["id"] for row in found["rows"]] == expected
    typed = json.loads(sightline("search", engine.path, "flood", "--polygon", "0.5,0 3.5,0 3.5,2 0.5,2", "--json"))
    assert [row["id"] for row in typed["rows"]] == expected
    (tmp_path / "many.geojson").write_text(json.dumps({"type": "MultiPolygon", "coordinates": []}))
    refused.command("search", engine.path, "--geojson", tmp_path / "many.geojson", said="MultiPolygon")
    refused.command("search", engine.path, "--geojson", tmp_path / "none.geojson", said="none.geojson")
    refused.command("search", engine.path, "--polygon", "0,0 1,1", said="three different points")
    refused.command("search", engine.path, "--polygon", "0,0 1", said="LON,LAT")
    refused.command("search", engine.path, "--box", "0,0,1,1", "--polygon", "0,0 1,0 1,1", said="--geojson")


def test_a_plane_is_searched_whole(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with sl.open(store, "inline", space=sl.Space.planar((0, 0, 1000, 500)), ahead=None) as engine:
        rows = {"id": ["a"], "lon": [900.0], "lat": [400.0], "ts": ["2024-05-01"], "text": ["flood"]}
        engine.load(pa.table(rows))
        assert engine.space.bounds == (0, 0, 1000, 500)
    assert len(json.loads(sightline("search", store, "flood", "--json"))["rows"]) == 1


def checked(store: Path, monkeypatch: pytest.MonkeyPatch, code: int = 0) -> dict[str, str]:
    """What doctor says of a store; its questions about the machine are not asked."""
    for name in ("java", "worker_python", "packages", "memory", "kernel_cache", "demo_extra", "kafka"):
        monkeypatch.setattr(doctor_checks, name, lambda name=name: doctor_checks.Check(name, "ok", ""))
    result = CliRunner().invoke(app, ["doctor", str(store), "--json"], prog_name="sightline")
    assert result.exit_code == code, result.output
    said = json.loads(result.output)["checks"][-1]
    assert said["name"] == "store"
    return said


def test_doctor_looks_at_every_file_of_a_store(
    engine: sl.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(engine.path, monkeypatch)["state"] == "ok"
    assert checked(tmp_path / "nowhere", monkeypatch)["state"] == "note"
    names = [entry.name for entry in Store.open(engine.path).commits.refresh().entries(FileKind.SEGMENT)]
    cut, lost = (engine.path / "data" / name for name in names[:2])
    cut.write_bytes(cut.read_bytes()[:100])
    lost.unlink()
    found = checked(engine.path, monkeypatch, code=1)["found"]
    assert cut.name in found
    assert f"{lost.name} is missing" in found
    entry = sorted((engine.path / "log").glob("*.json"))[0]
    entry.write_bytes(b"{")
    assert entry.name in checked(engine.path, monkeypatch, code=1)["found"]
