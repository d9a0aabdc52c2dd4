"""What a refused request must look like, and the store it is made to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sightline as sl
from sightline.cli.app import app
from sightline.stages.search.search import Searcher
from sightline.store.store import Store

WORLD = sl.Box(-180, -90, 180, 90)
ALL = sl.RangeQuery("", WORLD)
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


def state(path: Path) -> dict[str, Any]:
    """Everything a user can read, by a reader that has nothing in memory yet."""
    with sl.open(path) as engine:
        return {
            "counters": engine.counters(),
            "subscriptions": engine.subscriptions().to_pylist(),
            "events": engine.subscription_events().to_pylist(),
            "rows": Searcher(Store.open(path)).answer(ALL)[0].to_pylist(),  # a search of the engine would be logged
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
