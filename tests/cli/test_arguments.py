"""Wrong arguments: exit code 2, one line on stderr, nothing on stdout, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sightline.cli.app import app

COMMANDS = (
    *("demo", "generate", "load", "run", "subscribe", "unsubscribe"),
    *("subscriptions", "watch", "search", "explain", "doctor", "bench"),
    *("partitions", "rebalance", "fit"),
)


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args), prog_name="sightline")
    return result.exit_code, result.stdout, result.stderr


def refuse(*args: str) -> str:
    """The one line a bad request ends with."""
    code, stdout, stderr = run(*args)
    assert code == 2, stderr
    assert stdout == ""
    assert stderr.endswith("\n")
    assert stderr.count("\n") == 1
    assert stderr.startswith("sightline: ")
    return stderr


def test_every_command_explains_itself() -> None:
    code, stdout, _ = run("--help")
    assert code == 0
    for command in COMMANDS:
        assert command in stdout
        code, text, _ = run(command, "--help")
        assert code == 0
        assert "--json" in text, command
        assert "Example" in text, command


def test_no_command_prints_the_help() -> None:
    code, stdout, _ = run()
    assert code == 0
    assert "search" in stdout


def test_version() -> None:
    assert run("--version")[1].startswith("sightline 0.")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nonsense"], "nonsense"),
        (["search"], "STORE"),
        (["demo", "--seconds", "soon"], "--seconds"),
        (["demo", "--seconds", "0"], "--seconds"),
        (["generate", "posts.parquet", "--rows", "0"], "--rows"),
        (["generate", "posts.xls"], ".parquet"),
        (["generate", "posts.parquet", "--locations", "moon"], "moon"),
        (["generate", "no/such/folder/posts.parquet"], "no/such/folder"),
        (["bench", "quantum"], "tokenise, crq"),
        (["bench", "tokenise", "--queries", "5"], "queries"),
        (["load", "store", "posts.csv", "--column", "id"], "NAME=VALUE"),
        (["run", "store"], "--format"),
        (["run", "store", "somewhere", "--format", "kafka"], "--format"),
        (["run", "store", "no/such/folder"], "no/such/folder"),
        (["subscribe", "store", "--table", "q.parquet", "--id", "x"], "--table"),
    ],
)
def test_bad_arguments(args: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refuse(*args)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["flood AND (rescue"], "position"),
        (["NOT flood"], "positive"),
        (['"fire truck"'], "phrase"),
        (["--box", "1,2,3"], "W,S,E,N"),
        (["--box", "0,50,10,40"], "40"),
        (["--box", "0,0,nan,10"], "nan"),
        (["--box", "0,0,10,95"], "95"),
        (["--box", "a,b,c,d"], "a,b,c,d"),
        (["--circle", "0,0,-5"], "-5"),
        (["--box", "0,0,1,1", "--circle", "0,0,5"], "one of"),
        (["--near", "0"], "LON,LAT"),
        (["--near", "0,0", "-k", "0"], "0"),
        (["--near", "0,0", "--top", "3"], "--near"),
        (["--top", "-1"], "-1"),
        (["-k", "3"], "--near"),
        (["flood", "--top", "3"], "--top"),
        (["flood", "--last", "3 parsecs"], "3 parsecs"),
        (["flood", "--between", "2024-01-01"], "FROM,TO"),
        (["flood", "--between", "2024-01-02,2024-01-01"], "between"),
        (["flood", "--as-of", "yesterday"], "yesterday"),
        (["flood", "--limit", "0"], "0"),
        (["--query", "{"], "JSON"),
        (["--query", "[]"], "object"),
        (["--query", "@missing.json"], "missing.json"),
        (["--query", '{"kind": "range"}', "--last", "1h"], "--query"),
        (["--query", '{"kind": "sideways"}'], "sideways"),
    ],
)
def test_bad_queries(args: list[str], said: str, tmp_path: Path) -> None:
    for command in ("search", "explain"):
        assert said in refuse(command, str(tmp_path / "store"), *args)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        ["search", "{}"],
        ["explain", "{}"],
        ["subscriptions", "{}"],
        ["watch", "{}", "a"],
        ["subscribe", "{}", "flood"],
        ["unsubscribe", "{}", "a"],
    ],
    ids=lambda args: args[0],
)
def test_no_store(args: list[str], tmp_path: Path) -> None:
    """Commands on a store that is not there, or on something else, create nothing."""
    missing, folder, file = tmp_path / "missing", tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear diary")
    file.write_text("not a directory")
    for place in (missing, folder, file):
        assert str(place) in refuse(*(arg.format(place) for arg in args))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "letter.txt"]


def test_the_demo_wants_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "something").write_text("here")
    assert "new store" in refuse("demo", "--store", str(tmp_path))
