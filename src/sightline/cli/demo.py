"""``sightline demo``: a minute of synthetic posts through the whole pipeline, then the truth about it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live

import sightline as sl
from sightline.cli import demo_scenes, demo_view
from sightline.cli.demo_summary import print_summary, summarise
from sightline.cli.demo_view import DemoState
from sightline.cli.options import JsonOption, SeedOption
from sightline.cli.output import console, print_json
from sightline.cli.streams import LOOK, SYNTHETIC, open_stream
from sightline.cli.totals import CommitCounter
from sightline.model.errors import BadConfig

# Seconds more that the first batch may take: it starts Spark's Python workers and their kernels.
FIRST_BATCH = 60.0
# Share of broken rows, so that the rejects table has something to show.
MALFORMED = 0.001
# Seconds between two lines when the output is no terminal.
LINE_EVERY = 5.0


def demo(
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="How long to stream.")] = 60,
    rate: Annotated[int, typer.Option("--rate", min=0, help="Posts per second; 0 = as fast as it goes.")] = 20_000,
    seed: SeedOption = 0,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="Keep the store here (new or empty); else temporary.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Workers of the store.")] = 2,
    json: JsonOption = False,
) -> None:
    """Stream synthetic posts of the world's cities, with live matches, nearest posts and trending terms.

    Examples:

      sightline demo

      sightline demo --seconds 20 --store demo-store
    """
    with _fresh(store) as path, sl.open(path, workers=workers) as engine:
        state = _subscribe(engine, seconds)
        options = {"seed": str(seed), "rowsPerSecond": str(rate), "malformedRate": str(MALFORMED)}
        _stream(engine, open_stream(engine, SYNTHETIC, options), state, path, json)
        document = summarise(engine, state, str(store) if store else None)
    if json:
        print_json(document)
    else:
        print_summary(console(), document)


@contextmanager
def _fresh(store: Path | None) -> Iterator[Path]:
    """A new store: figures of an older run must not enter the summary."""
    if store is None:
        with tempfile.TemporaryDirectory(prefix="sightline-demo-", ignore_cleanup_errors=True) as folder:
            yield Path(folder) / "store"
        return
    if store.exists() and not (store.is_dir() and not any(store.iterdir())):
        raise BadConfig(
            "the demo wants a new store", value=str(store), allowed="a path that is free or an empty directory"
        )
    yield store


def _subscribe(engine: Any, seconds: float) -> DemoState:
    scenes = demo_scenes.subscriptions()
    for scene in scenes:
        engine.subscribe(scene.query, id=scene.id)
    by_kind = {scene.query.kind: scene for scene in scenes}
    return DemoState(seconds, by_kind["range"], by_kind["nearest"], by_kind["top_terms"])


def _stream(engine: Any, stream: Any, state: DemoState, path: Path, json: bool) -> None:
    """Run the stream until the time is over or Ctrl-C; the batch in flight is finished and counted."""
    counter = CommitCounter(path)
    handle = engine.run(stream, name="demo", on_batch=state.progress.add)
    began = time.monotonic()
    try:
        with _screen(state, json) as redraw:
            while handle.is_active and not _over(state):
                time.sleep(LOOK)
                state.elapsed = time.monotonic() - began
                _look(engine, counter, state)
                redraw()
    except KeyboardInterrupt:
        console(stderr=True).print("stopping after the batch in flight")
    finally:
        handle.stop()
    failure = handle.exception()
    if failure is not None:
        raise failure
    state.elapsed = time.monotonic() - began
    _look(engine, counter, state)


def _over(state: DemoState) -> bool:
    """Whether the time is up; a slow machine may still finish its first batch, or there would be nothing to show."""
    patience = 0.0 if state.totals.objects else FIRST_BATCH
    return state.elapsed >= state.seconds + patience


def _look(engine: Any, counter: CommitCounter, state: DemoState) -> None:
    """Bring the state up to the last commit."""
    since = counter.version
    if not counter.advance():
        return
    state.totals = counter.totals
    state.matches.extend(engine.matches(state.range_scene.id, since_batch=since).to_pylist()[-demo_view.LAST_MATCHES :])
    state.nearest = engine.nearest(state.nearest_scene.id).to_pylist()
    reports = engine.reports(state.terms_scene.id).to_pylist()
    if reports:
        newest = max(row["window_end"] for row in reports)
        state.report = [row for row in reports if row["window_end"] == newest]


@contextmanager
def _screen(state: DemoState, json: bool) -> Iterator[Callable[[], None]]:
    """How the state is shown: a live screen on a terminal, a line now and then elsewhere, nothing before JSON."""
    screen = console()
    if json:
        yield lambda: None
    elif screen.is_terminal:
        with Live(demo_view.draw(state), console=screen, auto_refresh=False, screen=False) as live:
            yield lambda: live.update(demo_view.draw(state), refresh=True)
    else:
        due = 0.0

        def redraw() -> None:
            nonlocal due
            if state.elapsed >= due:
                screen.print(demo_view.line(state), markup=False)
                due = state.elapsed + LINE_EVERY

        yield redraw
