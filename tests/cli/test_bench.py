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


def test_memory_is_what_the_machine_has() -> None:
    assert 2**27 < machine.total_memory() < 2**50


def test_registered_modules_exist() -> None:
    from importlib.util import find_spec

    assert [name for name, bench in BENCHES.items() if find_spec(bench.module) is None] == []
