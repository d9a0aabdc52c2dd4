"""The benchmark command, around a benchmark that takes no time."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from sightline.bench import machine
from sightline.bench.registry import BENCHES, Bench
from sightline.bench.timing import PROGRESS
from sightline.cli.app import app


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("instant_bench")

    def run(rows: int = 7, quick: bool = False) -> dict[str, Any]:
        return {"params": {"rows": rows, "quick": quick}, "metrics": {"ratio": 1.5}}

    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "instant_bench", module)
    monkeypatch.setitem(BENCHES, "instant", Bench("instant_bench", "nothing"))


@pytest.mark.usefixtures("instant")
def test_the_document() -> None:
    result = CliRunner().invoke(app, ["bench", "instant", "--rows", "9", "--quick", "--json"])
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert set(document) == {"name", "params", "metrics", "machine", "commit"}
    assert document["params"] == {"rows": 9, "quick": True}
    assert document["metrics"] == {"ratio": 1.5}
    assert document["machine"]["cores"] >= 1


@pytest.mark.usefixtures("instant")
def test_a_parameter_the_benchmark_does_not_have() -> None:
    result = CliRunner().invoke(app, ["bench", "instant", "--queries", "5"])
    assert result.exit_code == 2
    assert "queries" in result.stderr
    assert "rows, quick" in result.stderr


@pytest.mark.usefixtures("instant")
def test_the_table() -> None:
    result = CliRunner().invoke(app, ["bench", "instant"])
    assert "ratio" in result.stdout
    assert "1.5" in result.stdout


def test_progress_goes_to_stderr_and_loads_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("loaded_bench")

    def run(mix: str = "Z") -> dict[str, Any]:
        PROGRESS.info("halfway")
        loads = {f"{mix} {area}": {"ratio": ratio, "detail": 1} for area, ratio in (("small", 2.5), ("mixed", 3.5))}
        return {"params": {"mix": mix}, "metrics": {"ratio": 2.5}, "loads": loads}

    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "loaded_bench", module)
    monkeypatch.setitem(BENCHES, "loaded", Bench("loaded_bench", "two loads"))
    document = CliRunner().invoke(app, ["bench", "loaded", "--mix", "N", "--json"])
    assert list(json.loads(document.stdout)["loads"]) == ["N small", "N mixed"]
    assert "halfway" in document.stderr
    table = CliRunner().invoke(app, ["bench", "loaded"])
    assert "Z mixed" in table.stdout
    assert "3.5" in table.stdout
    assert "detail" not in table.stdout
    assert not PROGRESS.handlers


def test_help_says_what_every_benchmark_measures() -> None:
    shown = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(app, ["bench", "--help"]).stdout.split())
    assert [name for name, known in BENCHES.items() if f"{name}: {known.about}" not in shown] == []


def test_memory_is_what_the_machine_has() -> None:
    assert 2**27 < machine.total_memory() < 2**50


def test_registered_modules_exist() -> None:
    from importlib.util import find_spec

    assert [name for name, bench in BENCHES.items() if find_spec(bench.module) is None] == []
