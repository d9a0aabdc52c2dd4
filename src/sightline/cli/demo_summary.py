"""The end of the demo: figures read back from the committed results, and the answers of a few searches."""

from __future__ import annotations

import statistics
import time
from typing import Any

from rich.console import Console
from rich.markup import escape

from sightline.cli import demo_scenes
from sightline.cli.demo_view import DemoState
from sightline.cli.output import table


def summarise(engine: Any, state: DemoState, store: str | None) -> dict[str, Any]:
    """What was committed and what the searches answered; every figure is counted here, none is carried over."""
    totals = state.totals
    times = sorted(batch.seconds for batch in state.progress.batches)
    document: dict[str, Any] = {
        "seconds": round(state.elapsed, 3),
        "store": store,
        "committed": totals.to_dict(),
        "posts_per_s": round(totals.objects / state.elapsed, 1) if state.elapsed > 0 else 0.0,
        "batch_seconds": {"measured": len(times), "median": statistics.median(times), "max": times[-1]}
        if times
        else None,
        "subscriptions": [_subscription(engine, scene) for scene in demo_scenes.subscriptions()],
        "searches": [],
    }
    for scene in demo_scenes.searches():
        rows, first = _timed(engine, scene)
        rows, spent = _timed(engine, scene)
        document["searches"].append(
            {
                "title": scene.title,
                "query": scene.query.to_dict(),
                "milliseconds": spent,
                "first_milliseconds": first,
                "rows": rows,
            }
        )
    return document


def _timed(engine: Any, scene: demo_scenes.Scene) -> tuple[list[dict[str, Any]], float]:
    """Rows and milliseconds. The first search of a kind in a process also loads its kernels, so it is timed apart."""
    began = time.perf_counter()
    rows: list[dict[str, Any]] = engine.search(scene.query).to_pylist()
    return rows, round((time.perf_counter() - began) * 1000, 2)


def _subscription(engine: Any, scene: demo_scenes.Scene) -> dict[str, Any]:
    counts: dict[str, int] = {}
    if scene.query.kind == "range":
        counts["matches"] = engine.matches(scene.id).num_rows
    elif scene.query.kind == "nearest":
        counts["nearest"] = engine.nearest(scene.id).num_rows
        counts["changes"] = engine.nearest_events(scene.id).num_rows
    else:
        counts["reports"] = len(set(engine.reports(scene.id)["window_end"].to_pylist()))
    return {"id": scene.id, "title": scene.title, "query": scene.query.to_dict(), **counts}


def print_summary(screen: Console, document: dict[str, Any]) -> None:
    """The same for people."""
    totals, times = document["committed"], document["batch_seconds"]
    for search in document["searches"]:
        title = f"{search['title']} ({search['milliseconds']:,.1f} ms, {search['first_milliseconds']:,.1f} ms at first)"
        rows = [
            {name: value for name, value in row.items() if name in ("ts", "text", "distance_m", "term", "count")}
            for row in search["rows"]
        ]
        screen.print(f"[bold]{escape(title)}[/]")
        screen.print(table(None, rows) if rows else "no rows")
    screen.rule("summary, counted from the committed results")
    screen.print(
        f"{totals['objects']:,} posts in {totals['batches']:,} batches over {document['seconds']:,.1f} s: "
        f"{document['posts_per_s']:,.0f} posts/s, {totals['rejects']:,} malformed rows set aside"
    )
    if times:
        screen.print(
            f"plan to commit: median {times['median']:.2f} s, longest {times['max']:.2f} s "
            f"({times['measured']:,} batches measured)"
        )
    for entry in document["subscriptions"]:
        counts = ", ".join(f"{entry[name]:,} {word}" for name, word in _WORDS.items() if name in entry)
        screen.print(f"{escape(entry['title'])}: {counts}")
    where = document["store"]
    screen.print(
        f"the store is kept at {escape(where)}" if where else "the store was temporary; keep one with --store DIR"
    )


_WORDS = {"matches": "matches", "nearest": "kept", "changes": "changes on the way", "reports": "reports"}
