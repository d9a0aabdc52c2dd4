"""``sightline watch``: results of subscriptions as they are committed."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator
from typing import Annotated, Any

import typer

from sightline.cli.options import JsonOption, OptionalIdsArgument, SecondsOption, StoreArgument, opened
from sightline.cli.output import console, print_json, shown
from sightline.model.errors import BadQuery, UnknownSubscription


def watch(
    store: StoreArgument,
    ids: OptionalIdsArgument = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, also those registered later.")] = False,
    seconds: SecondsOption = None,
    since_batch: Annotated[int | None, typer.Option("--since-batch", help="Only results after this batch.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Print what there is and stop.")] = False,
    poll: Annotated[float, typer.Option("--poll", min=0.05, help="Seconds between looks at the store.")] = 0.5,
    json: JsonOption = False,
) -> None:
    """Print matches, nearest posts and reports as they are committed, by whatever process. Ctrl-C ends it.

    Examples:

      sightline watch store houston

      sightline watch store noodles trends --once --json

      sightline watch store --all
    """
    if every == bool(ids):
        raise BadQuery("watch what?", value=ids or None, allowed="names of subscriptions, or --all")
    deadline = None if seconds is None else time.monotonic() + seconds
    with opened(store) as engine:
        feeds: dict[str, _Feed] = {}
        try:
            while True:
                if every or not feeds:
                    feeds |= _new_feeds(engine, ids, feeds, since_batch)
                for feed in feeds.values():
                    for row in feed.fresh():
                        _show(feed.id, row, json)
                if once or (deadline is not None and time.monotonic() >= deadline):
                    break
                time.sleep(poll)
        except KeyboardInterrupt:
            console(stderr=True).print("stopped")


def _new_feeds(engine: Any, ids: list[str] | None, known: Container[str], since_batch: int | None) -> dict[str, _Feed]:
    """Feeds of the subscriptions asked for, or of all that stand, but for those there are already."""
    kinds = {row["id"]: row["kind"] for row in engine.subscriptions()}
    for id in ids or ():
        if id not in kinds:
            raise UnknownSubscription("no such subscription", value=id, hint="sightline subscriptions STORE lists them")
    return {id: _FEEDS[kinds[id]](engine, id, since_batch) for id in (ids or kinds) if id not in known}


class _Feed:
    """New result rows of one subscription, each once."""

    def __init__(self, engine: Any, id: str, since_batch: int | None) -> None:
        self.engine, self.id, self.since_batch = engine, id, since_batch

    def fresh(self) -> Iterator[dict[str, Any]]:
        raise AssertionError("every kind has its own feed")


class _Matches(_Feed):
    def fresh(self) -> Iterator[dict[str, Any]]:
        for row in self.engine.matches(self.id, since_batch=self.since_batch).to_pylist():
            self.since_batch = row["batch"]
            yield {"event": "match", **row}


class _Nearest(_Feed):
    def fresh(self) -> Iterator[dict[str, Any]]:
        for row in self.engine.nearest_events(self.id, since_batch=self.since_batch).to_pylist():
            self.since_batch = row["batch"]
            yield row


class _Reports(_Feed):
    def __init__(self, engine: Any, id: str, since_batch: int | None) -> None:
        super().__init__(engine, id, since_batch)
        self.window_end: Any = None

    def fresh(self) -> Iterator[dict[str, Any]]:
        # A report has no batch, so what was committed while it was read comes again; windows close in the order of
        # their ends, so those up to the last one were shown.
        until, newest = self.engine.version, self.window_end
        for row in self.engine.reports(self.id, since_batch=self.since_batch).to_pylist():
            if self.window_end is None or row["window_end"] > self.window_end:
                newest = row["window_end"]
                yield {"event": "report", **row}
        self.since_batch, self.window_end = until, newest


_FEEDS: dict[str, type[_Feed]] = {"range": _Matches, "nearest": _Nearest, "top_terms": _Reports}


def _show(id: str, row: dict[str, Any], json: bool) -> None:
    if json:
        print_json({"subscription_id": id, **row}, line=True)
        return
    cells = "  ".join(
        f"{name}={shown(value)}" for name, value in row.items() if name not in ("event", "subscription_id")
    )
    console().print(f"{id}  {row['event']}  {cells}", markup=False, soft_wrap=True)
