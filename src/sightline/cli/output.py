"""Rows and documents on a terminal: tables, JSON, sparklines, progress."""

from __future__ import annotations

import base64
import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

_BARS = "▁▂▃▄▅▆▇█"


def console(*, stderr: bool = False) -> Console:
    """A console on the stream of the moment (made anew each time, so that a redirected stream is honoured)."""
    return Console(stderr=stderr, highlight=False)


class _Notices(logging.Handler):
    """What the engine says while it works, a line each on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        console(stderr=True).print(f"sightline: {record.getMessage()}", markup=False, soft_wrap=True)


def show_notices() -> None:
    """Show what takes long (``sightline.progress``), and every warning."""
    logging.getLogger("sightline").addHandler(_Notices())
    logging.getLogger("sightline.progress").setLevel(logging.INFO)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def to_json(document: object, *, indent: int | None = None) -> str:
    """JSON of rows as the store returns them; instants as ISO 8601 in UTC, bytes as base64."""
    return json.dumps(document, default=_plain, ensure_ascii=False, indent=indent, allow_nan=False)


def print_json(document: object, *, line: bool = False) -> None:
    """Print one JSON document, indented, or on one line where more follow."""
    sys.stdout.write(to_json(document, indent=None if line else 2) + "\n")
    sys.stdout.flush()


def print_done(document: object, text: str, *, json: bool) -> None:
    """Print what was done: the document with --json, else the text."""
    if json:
        print_json(document)
    else:
        console().print(text, markup=False)


def shown(value: object) -> str:
    """A cell of a table: short and unambiguous."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping | list | tuple):
        return to_json(value)
    # Control characters of foreign text must not reach the terminal.
    return "".join(character if character.isprintable() else " " for character in str(value))


def table(title: str | None, rows: Sequence[Mapping[str, object]], columns: Sequence[str] | None = None) -> Table:
    """A table of rows; columns in the order of the first row."""
    names = list(columns if columns is not None else (rows[0].keys() if rows else ()))
    drawn = Table(title=escape(title) if title else None, title_justify="left", header_style="bold")
    for name in names:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        drawn.add_column(escape(name), justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in rows:
        drawn.add_row(*(escape(shown(row.get(name))) for name in names))
    return drawn


def print_rows(title: str, rows: Sequence[Mapping[str, object]], *, limit: int = 20) -> None:
    """Print the first rows as a table, and how many there are."""
    screen = console()
    if not rows:
        screen.print(f"{escape(title)}: no rows")
        return
    screen.print(f"[bold]{escape(title)}[/]")
    screen.print(table(None, rows[:limit]))
    if len(rows) > limit:
        screen.print(f"... {limit} of {len(rows):,} rows; --json prints all")


def sparkline(values: Iterable[float], width: int = 40) -> str:
    """The last values as a line of blocks, scaled from zero to their maximum."""
    tail = list(values)[-width:]
    top = max(tail, default=0.0)
    if top <= 0:
        return _BARS[0] * len(tail)
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * (len(_BARS) - 1) + 0.5))] for value in tail)


@contextmanager
def progress(label: str, *, quiet: bool, total: float | None = None) -> Iterator[tuple[Progress, Any]]:
    """A progress bar on stderr, so that stdout stays parseable; nothing at all when quiet or not a terminal."""
    screen = console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        yield bar, bar.add_task(escape(label), total=total, note="")
