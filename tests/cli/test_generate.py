"""Files of synthetic posts and queries."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sightline.cli import generate
from sightline.cli.app import app


def made(*args: str) -> dict[str, object]:
    result = CliRunner().invoke(app, ["generate", *args, "--json"])
    assert result.exit_code == 0, result.stderr
    document: dict[str, object] = json.loads(result.stdout)
    return document


def test_the_same_seed_gives_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = (tmp_path / f"{name}.parquet" for name in ("one", "two", "three"))
    made(str(one), "--rows", "2500", "--seed", "3")
    monkeypatch.setattr(generate, "WRITTEN_ROWS", 999)
    made(str(two), "--rows", "2500", "--seed", "3")
    made(str(three), "--rows", "2500", "--seed", "4")
    tables = [pq.read_table(path) for path in (one, two, three)]
    assert tables[0].num_rows == 2500
    assert {"id", "lon", "lat", "ts", "text"} <= set(tables[0].column_names)
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_text_formats_hold_the_same_rows(tmp_path: Path, suffix: str) -> None:
    made(str(tmp_path / "posts.parquet"), "--rows", "300")
    document = made(str(tmp_path / f"posts{suffix}"), "--rows", "300")
    assert document["rows"] == 300
    path = tmp_path / f"posts{suffix}"
    if suffix == ".csv":
        texts = pacsv.read_csv(path, parse_options=pacsv.ParseOptions(newlines_in_values=True))["text"].to_pylist()
    else:
        texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert texts == pq.read_table(tmp_path / "posts.parquet")["text"].to_pylist()


def test_queries(tmp_path: Path) -> None:
    document = made(str(tmp_path / "queries.parquet"), "--queries", "50")
    assert (document["what"], document["rows"]) == ("queries", 50)
    table = pq.read_table(tmp_path / "queries.parquet")
    assert table.num_rows == 50
    assert {"keywords", "west", "south", "east", "north"} <= set(table.column_names)


def test_an_interrupted_command_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(generate.PostGenerator, "table", interrupted)
    result = CliRunner().invoke(app, ["generate", str(tmp_path / "posts.parquet")])
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []
