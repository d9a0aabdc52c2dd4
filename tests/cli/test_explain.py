"""``sightline explain`` over a store made without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.stages.worlds import SECOND, Deployment
from typer.testing import CliRunner

from sightline.cli.app import app


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three segments: one has no boats, one lies elsewhere."""
    made = Deployment(tmp_path / "store", workers=1)
    for i, (text, lon) in enumerate((("flood boat", 0.0), ("flood", 0.0), ("flood boat", 50.0))):
        made.feed(
            [{"id": f"o{i}{j}", "lon": lon, "lat": 0.0, "ts_us": (10 * i + j) * SECOND, "text": text} for j in range(4)]
        )
    return tmp_path / "store"


def explained(*args: object) -> str:
    result = CliRunner().invoke(app, ["explain", *map(str, args)], prog_name="sightline", catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_as_json(store: Path) -> None:
    said: dict[str, Any] = json.loads(explained(store, "boat", "--box", "-1,-1,1,1", "--json"))
    assert said["query"]["keywords"] == "boat"
    assert (said["version"], said["rows"], said["segments"], said["searched"]) == (4, 4, 3, 1)
    assert said["pruned"] == {"terms": 1, "place": 1}
    assert [one.get("why") for one in said["detail"]] == [None, "no object has 'boat'", "lies within 50, 0, 50, 0"]
    assert said["detail"][0]["found"] == 4
    assert said["candidates"] == said["detail"][0]["candidates"]
    assert set(said["microseconds"]) == {"plan", "segments", "merge"}


def test_for_people(store: Path) -> None:
    text = explained(store, "boat", "--box", "-1,-1,1,1")
    assert "4 rows of version 4: 1 of 3 segments read" in text
    assert "left out: 1 by terms, 1 by place" in text
    assert "no object has 'boat'" in text
    assert "lies within 50, 0, 50, 0" in text
    assert "thread" in text


@pytest.mark.parametrize(
    ("args", "rows", "pruned"),
    [
        (["--near", "50,0", "-k", "2"], 2, {"place": 2}),
        (["--top", "3", "--last", "2s"], 2, {"time": 2}),
        (["--limit", "3"], 3, {"time": 2}),
        (["nothing"], 0, {"terms": 3}),
    ],
)
def test_every_kind(store: Path, args: list[str], rows: int, pruned: dict[str, int]) -> None:
    said = json.loads(explained(store, *args, "--json"))
    assert (said["rows"], said["pruned"]) == (rows, pruned)
