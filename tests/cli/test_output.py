"""What reaches the terminal."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from sightline.cli import output
from sightline.cli.output import shown, sparkline, table, to_json
from sightline.cli.progress_log import ProgressLog
from sightline.stages.results.report import BatchReport


def test_json_keeps_instants_and_bytes() -> None:
    row = {"ts": datetime(2024, 5, 1, 12, tzinfo=UTC), "raw": b"\xff\x00", "age": timedelta(minutes=1), "text": "東京"}
    assert json.loads(to_json(row)) == {"ts": "2024-05-01T12:00:00Z", "raw": "/wA=", "age": 60.0, "text": "東京"}


def test_json_is_valid_or_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json({"lon": float("nan")})


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (True, "yes"), (1234567, "1,234,567"), (0.25, "0.25"), (12.0, "12"), ("a\x1b[31mb\n", "a [31mb ")],
)
def test_cells(value: object, text: str) -> None:
    assert shown(value) == text


def test_markup_in_posts_is_text() -> None:
    screen = Console(file=StringIO(), width=80)
    screen.print(table("[bold]x", [{"text": "[red]alarm[/red]", "n": 1}]))
    assert "[red]alarm[/red]" in screen.file.getvalue()  # type: ignore[attr-defined]


def test_sparkline_is_scaled_from_zero() -> None:
    assert sparkline([0, 5, 10]) == "▁▅█"
    assert sparkline([]) == ""
    assert sparkline([0, 0]) == "▁▁"
    assert len(sparkline(range(100), width=7)) == 7


def test_progress_shows_a_batch_once() -> None:
    log = ProgressLog()
    seconds = {"plan": 0.1, "job": 0.3, "commit": 0.1}
    log.add(BatchReport("run", 0, 3, seconds, {"objects": 990, "rejects": 10, "matches": 4}))
    log.add(BatchReport("run", 1, 4, seconds, {}))
    (batch,) = log.fresh()
    assert batch.to_dict() == {"batch": 3, "rows": 1000, "matches": 4, "seconds": 0.5, "rows_per_s": 2000.0}
    assert log.fresh() == []
    assert log.rates == [2000.0]


def test_notices_of_the_engine_reach_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    engine, progress = logging.getLogger("sightline"), logging.getLogger("sightline.progress")
    handlers, level = list(engine.handlers), progress.level
    try:
        output.show_notices()
        progress.info("compiling kernels: %d of %d", 1, 2)
        logging.getLogger("sightline.runs").warning("repaired [the checkpoint]")
        logging.getLogger("sightline.runs").info("nobody asked")
    finally:
        engine.handlers, progress.level = handlers, level
    said = capsys.readouterr()
    assert said.err == "sightline: compiling kernels: 1 of 2\nsightline: repaired [the checkpoint]\n"
    assert said.out == ""
