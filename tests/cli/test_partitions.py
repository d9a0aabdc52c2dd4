"""``partitions``, ``rebalance``, ``fit`` and the routes of ``explain``, over a store made without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.stages.worlds import SECOND, Deployment, table_of
from typer.testing import CliRunner

import sightline as sl
from sightline.bench import extras
from sightline.cli.app import app
from sightline.cli.partitions_map import boxes_to_draw

HERE, THERE = 32 * 64 + 32, 32 * 64 + 40  # the cells of (0, 0) and (50, 0)


def posts(first: int, count: int, lon: float) -> list[dict[str, Any]]:
    return [
        {"id": f"o{i}", "lon": lon, "lat": 0.0, "ts_us": i * SECOND, "text": "flood boat"}
        for i in range(first, first + count)
    ]


@pytest.fixture
def made(tmp_path: Path) -> Deployment:
    """Three posts in one cell, one in another, both of worker 0 of 2; a subscription to the first cell."""
    made = Deployment(tmp_path / "store", workers=2)
    made.registry.subscribe(sl.RangeQuery("flood", sl.Box(1, 1, 2, 2)), "here", None, None, False)
    made.feed([*posts(0, 3, 0.0), *posts(3, 1, 50.0)])
    return made


def sightline(*args: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*map(str, args)], prog_name="sightline", env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    if code:
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        return result.stderr
    return result.stdout


def test_as_json(made: Deployment) -> None:
    said = json.loads(sightline("partitions", made.folder, "--json"))
    assert (said["epoch"], said["partitioner"], said["subscriptions"], said["count"]) == (0, "grid", 1, 4096)
    assert [(row["worker"], row["leaves"], row["objects"], row["load"]) for row in said["workers"]] == [
        (0, 2048, 4, 7),
        (1, 2048, 0, 0),
    ]
    assert len(said["leaves"]) == 4096
    first, second, third = said["leaves"][:3]  # the heaviest first, then by number
    assert (first["leaf"], first["objects"], first["subscriptions"], first["load"]) == (HERE, 3, 1, 6)
    assert (second["leaf"], second["objects"], second["subscriptions"], second["load"]) == (THERE, 1, 0, 1)
    assert third["leaf"] == 0
    assert said["written"] == []


def test_for_people(made: Deployment) -> None:
    text = sightline("partitions", made.folder)
    assert "epoch 0 (opened): partitioner grid, 4,096 leaves, 2 workers, 1 subscriptions" in text
    assert "100.0%" in text
    assert "2,080" in text
    assert "0, 0, 5.625, 2.8125" in text
    assert "the 20 heaviest of 4,096 leaves" in text


def test_all_leaves(tmp_path: Path) -> None:
    made = Deployment(tmp_path / "store", partitioner="broadcast", workers=21)
    assert "the 20 heaviest of 21 leaves" in sightline("partitions", made.folder)
    assert sightline("partitions", made.folder, "--all").count("hash") == 21


def test_as_geojson(made: Deployment, tmp_path: Path) -> None:
    path = tmp_path / "leaves.geojson"
    assert f"wrote {path}" in sightline("partitions", made.folder, "--geojson", path)
    document = json.loads(path.read_text())
    assert document["type"] == "FeatureCollection"
    assert len(document["features"]) == 4096
    feature = document["features"][0]
    assert feature["id"] == HERE
    (ring,) = feature["geometry"]["coordinates"]
    assert ring == [[0, 0], [5.625, 0], [5.625, 2.8125], [0, 2.8125], [0, 0]]  # closed, counter-clockwise
    names = ["leaf", "split", "keywords", "objects", "subscriptions", "load", "worker"]
    assert feature["properties"] == dict(zip(names, [HERE, "cell", 0, 3, 1, 6, 0], strict=True))
    areas = [
        (ring[2][0] - ring[0][0]) * (ring[2][1] - ring[0][1])
        for ring in (one["geometry"]["coordinates"][0] for one in document["features"])
    ]
    assert sum(areas) == pytest.approx(360 * 180)


@pytest.mark.parametrize(
    ("partitioner", "workers", "count"),
    [("grid", 3, 4), ("broadcast", 2, 0), ("broadcast", 12, 2), ("broadcast", 30, 2)],
)
def test_as_a_picture(partitioner: str, workers: int, count: int, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = Deployment(tmp_path / "store", partitioner=partitioner, workers=workers)
    made.feed(posts(0, count, 0.0))
    path = tmp_path / "picture"
    assert json.loads(sightline("partitions", made.folder, "--png", path, "--json"))["written"] == [str(path)]
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_needs_its_extra(made: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(extras, "import_module", absent)
    said = sightline("partitions", made.folder, "--png", tmp_path / "a.png", "--geojson", tmp_path / "a.json", code=2)
    assert "sightline[bench]" in said
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_leaves_of_one_region_are_drawn_side_by_side() -> None:
    sides = {"west": [0.0, 10.0, 0.0, 0.0], "south": [0.0] * 4, "east": [9.0, 20.0, 9.0, 9.0], "north": [5.0] * 4}
    drawn = boxes_to_draw(pa.table(sides))
    assert drawn.tolist() == [[0, 0, 3, 5], [10, 0, 20, 5], [3, 0, 6, 5], [6, 0, 9, 5]]
    assert np.isfinite(drawn).all()


def test_a_file_that_cannot_be_written(made: Deployment, tmp_path: Path) -> None:
    said = sightline("partitions", made.folder, "--geojson", tmp_path / "no" / "leaves.geojson", code=2)
    assert "no/leaves.geojson" in said


@pytest.mark.parametrize("command", ["partitions", "rebalance", "fit"])
def test_no_store_and_help(command: str, tmp_path: Path) -> None:
    source = tmp_path / "posts.parquet"
    pq.write_table(table_of(posts(0, 2, 0.0)), source)
    rest = [source] if command == "fit" else []
    assert "missing" in sightline(command, tmp_path / "missing", *rest, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["posts.parquet"]
    text = sightline(command, "--help")
    assert "--json" in text
    assert "Example" in text


def test_no_epoch(tmp_path: Path) -> None:
    sl.open(tmp_path / "store").close()
    assert "no epoch" in sightline("partitions", tmp_path / "store", code=2)


def test_rebalance_reaches_the_next_batch(made: Deployment) -> None:
    assert json.loads(sightline("rebalance", made.folder, "--json")) == {"asked": "rebalance"}
    made.feed(posts(4, 1, 0.0))
    said = json.loads(sightline("partitions", made.folder, "--json"))
    assert (said["epoch"], said["why"]) == (1, "rebalance")
    assert sorted(row["objects"] for row in said["workers"]) == [1, 4]


def test_fit_reaches_the_next_batch(made: Deployment, tmp_path: Path) -> None:
    history, searches = tmp_path / "history.parquet", tmp_path / "searches.jsonl"
    table = table_of([*posts(0, 50, 0.0), *posts(50, 60, 50.0)])
    pq.write_table(table.rename_columns(["id", "lon", "lat", "ts", "said"]), history)
    asked = [sl.RangeQuery("flood", sl.Box(0, 0, 1, 1), "1h", limit=3), sl.TopTermsQuery(sl.Box(0, 0, 1, 1), 3)]
    searches.write_text("\n".join(json.dumps(query.to_dict()) for query in asked) + "\n\n")
    assert "text" in sightline("fit", made.folder, history, code=2)
    said = json.loads(sightline("fit", made.folder, history, "--queries", searches, "--column", "text=said", "--json"))
    assert said == {"asked": "fit", "rows": 110, "queries": 2}
    made.feed(posts(4, 2, 0.0))
    found = json.loads(sightline("partitions", made.folder, "--json"))
    assert (found["epoch"], found["why"]) == (1, "fitted")
    workers = {row["leaf"]: row["worker"] for row in found["leaves"]}
    assert workers[HERE] != workers[THERE]  # by the history, not by what came

    searches.write_text('{"kind": "range"')
    assert "line 1" in sightline("fit", made.folder, history, "--queries", searches, "--column", "text=said", code=2)
    assert "searches.jsonl" in sightline("fit", made.folder, searches, code=2)


def test_explain_says_where_a_query_goes(made: Deployment) -> None:
    said = json.loads(sightline("explain", made.folder, "flood", "--box", "1,1,2,2", "--last", "1h", "--json"))
    assert [leaf["leaf"] for leaf in said["routes"]["leaves"]] == [HERE]
    assert said["routes"]["workers"] == [0]
    text = sightline("explain", made.folder, "flood", "--box", "1,1,2,2")
    assert "visits 1 of 4,096 leaves, on workers 0; as a subscription it would stand on 0" in text
    assert "leaves: 1 because its region meets the leaf" in text
    near = sightline("explain", made.folder, "--near", "0,0")
    assert "leaves, 20 of them: 4,096 because any place may have one of the k nearest" in near
