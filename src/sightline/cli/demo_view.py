"""The screen of the demo: what has been committed so far, redrawn a few times a second."""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sightline.cli.demo_scenes import Scene
from sightline.cli.output import shown, sparkline, table
from sightline.cli.progress_log import ProgressLog
from sightline.cli.totals import CommittedTotals

LAST_MATCHES = 5


@dataclass
class DemoState:
    """Everything the screen shows; filled by the demo loop from committed results."""

    seconds: float
    range_scene: Scene
    nearest_scene: Scene
    terms_scene: Scene
    elapsed: float = 0.0
    totals: CommittedTotals = field(default_factory=CommittedTotals)
    progress: ProgressLog = field(default_factory=ProgressLog)
    matches: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=LAST_MATCHES))
    nearest: list[dict[str, Any]] = field(default_factory=list)
    report: list[dict[str, Any]] = field(default_factory=list)


def draw(state: DemoState) -> RenderableType:
    """The whole screen."""
    left = Group(_matches(state), _nearest(state))
    grid = Table.grid(expand=True)
    grid.add_column(ratio=3)
    grid.add_column(ratio=2)
    grid.add_row(left, _trends(state))
    return Group(_head(state), grid)


def line(state: DemoState) -> str:
    """The same in one line, for a log instead of a terminal."""
    totals = state.totals
    return (
        f"{state.elapsed:5.0f} s  {totals.batches:,} batches  {totals.objects:,} posts  {totals.matches:,} matches  "
        f"{totals.rejects:,} rejected"
    )


def _head(state: DemoState) -> RenderableType:
    totals, batches = state.totals, list(state.progress.batches)
    facts = Table.grid(padding=(0, 3))
    if batches:
        last, times = batches[-1], [batch.seconds for batch in batches]
        facts.add_row(
            "[bold]throughput[/]", f"{last.rows_per_s:,.0f} posts/s in the last batch", sparkline(state.progress.rates)
        )
        facts.add_row(
            "[bold]latency[/]",
            f"{last.seconds:.2f} s from plan to commit, median {statistics.median(times):.2f} s",
            sparkline(times),
        )
    else:
        facts.add_row("[bold]starting[/]", "Spark starts and the kernels are loaded or compiled", "")
    facts.add_row(
        "[bold]committed[/]",
        f"{totals.objects:,} posts in {totals.batches:,} batches, {totals.rejects:,} rejected, "
        f"{totals.matches:,} matches",
        "",
    )
    bar = ProgressBar(total=max(state.seconds, 1e-9), completed=min(state.elapsed, state.seconds))
    return Panel(
        Group(facts, bar), title="Sightline", subtitle=f"{state.elapsed:.0f} of {state.seconds:.0f} s · Ctrl-C stops"
    )


def _matches(state: DemoState) -> RenderableType:
    rows = list(reversed(state.matches))
    body: RenderableType = Text("none yet")
    if rows:
        body = table(None, [{"when": row["ts"], "text": _short(row["text"])} for row in rows])
    return Panel(body, title=escape(state.range_scene.title), title_align="left")


def _nearest(state: DemoState) -> RenderableType:
    body: RenderableType = Text("none yet")
    if state.nearest:
        body = table(None, [{"km": row["distance_m"] / 1000, "text": _short(row["text"])} for row in state.nearest])
    return Panel(body, title=escape(state.nearest_scene.title), title_align="left")


def _trends(state: DemoState) -> RenderableType:
    if not state.report:
        return Panel(Text("no window has closed yet"), title=escape(state.terms_scene.title), title_align="left")
    end = shown(state.report[0]["window_end"])
    rows = [{"term": row["term"], "posts": row["count"]} for row in state.report]
    return Panel(table(f"window ending {end}", rows), title=escape(state.terms_scene.title), title_align="left")


def _short(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
