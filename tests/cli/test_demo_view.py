"""The demo's screen and summary show what they are given, before the first batch and after."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pyarrow as pa
from rich.console import Console

from sightline.cli import demo_scenes
from sightline.cli.demo_summary import print_summary, summarise
from sightline.cli.demo_view import DemoState, draw, line
from sightline.cli.totals import CommittedTotals
from sightline.model.queries import check_snapshot, check_subscription
from sightline.stages.results.report import BatchReport

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def state() -> DemoState:
    scenes = {scene.query.kind: scene for scene in demo_scenes.subscriptions()}
    return DemoState(60, scenes["range"], scenes["nearest"], scenes["top_terms"])


def drawn(shown: Any) -> str:
    screen = Console(file=StringIO(), width=120)
    screen.print(shown)
    return str(screen.file.getvalue())  # type: ignore[attr-defined]


def test_the_scenes_can_be_asked() -> None:
    for scene in demo_scenes.subscriptions():
        check_subscription(scene.query)
    for scene in demo_scenes.searches():
        check_snapshot(scene.query)
    assert {scene.query.kind for scene in demo_scenes.subscriptions()} == {"range", "nearest", "top_terms"}


def test_before_the_first_batch() -> None:
    text = drawn(draw(state()))
    assert "none yet" in text
    assert "no window has closed yet" in text


def test_with_results() -> None:
    seen = state()
    seen.elapsed, seen.totals = 12.0, CommittedTotals(batches=4, objects=81_234, matches=17, rejects=3)
    seen.progress.add(BatchReport("run", 0, 2, {"job": 0.4}, {"objects": 20_000}))
    seen.matches.append({"ts": NOON, "text": "flood, send a [bold]boat"})
    seen.nearest = [{"rank": 1, "distance_m": 1234.5, "text": "ramen!", "ts": NOON}]
    seen.report = [{"window_end": NOON, "rank": 1, "term": "tea", "count": 42}]
    text = drawn(draw(seen))
    for expected in ("81,234", "50,000 posts/s", "[bold]boat", "1.234", "tea", "42", "2024-05-01 12:00:00"):
        assert expected in text
    assert "81,234 posts" in line(seen)


class Results:
    """An engine with fixed answers."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.table = pa.Table.from_pylist(rows)

    def search(self, _: object) -> Any:
        return self.table

    matches = nearest = nearest_events = reports = search


def test_the_summary_counts_what_it_is_given() -> None:
    rows = [{"window_end": NOON, "term": "a", "count": 2}, {"window_end": NOON, "term": "b", "count": 1}]
    seen = state()
    seen.elapsed, seen.totals = 10.0, CommittedTotals(batches=5, objects=1000, matches=9, rejects=1)
    document = summarise(Results(rows), seen, None)
    assert document["posts_per_s"] == 100.0
    assert document["batch_seconds"] is None
    assert [
        entry.get("matches") or entry.get("nearest") or entry.get("reports") for entry in document["subscriptions"]
    ] == [2, 2, 1]
    assert len(document["searches"]) == 3
    screen = Console(file=StringIO(), width=120)
    print_summary(screen, document)
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "1,000 posts in 5 batches over 10.0 s: 100 posts/s, 1 malformed rows set aside" in text
    assert "temporary" in text
