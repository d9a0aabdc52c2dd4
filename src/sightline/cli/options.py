"""Arguments that several commands share, and the store behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.model.errors import BadConfig, BadSource, NotAStore

StoreArgument = Annotated[Path, typer.Argument(metavar="STORE", help="Directory of the store.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Workers of the store; changing it starts a new epoch.")
]
PartitionerOption = Annotated[
    str | None,
    typer.Option("--partitioner", help="How posts are spread over workers (docs/plugins.md).", metavar="NAME"),
]
IndexOption = Annotated[
    list[str] | None,
    typer.Option("--index", metavar="KIND=NAME", help="The index for range, nearest or objects (docs/plugins.md)."),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=SOURCE", help="Read NAME (id, lon, lat, ts, text) from the column SOURCE."),
]
SecondsOption = Annotated[float | None, typer.Option("--seconds", min=0, help="Stop after this many seconds.")]


def existing_store(path: Path) -> Path:
    """Refuse a path that holds no store: a command that only reads must not create one.

    Opening a path in Python creates the store if need be; here a mistyped path should be an error.
    """
    if not path.exists():
        raise NotAStore(
            "no store here",
            value=str(path),
            allowed="the directory of a store",
            hint=f"create one with: sightline load {path} SOURCE",
        )
    if not (path / "store.json").is_file():
        raise NotAStore(
            "this path is not a store",
            value=str(path),
            allowed="a directory with a store.json",
            hint="name the directory that load or run was given",
        )
    return path


def existing_source(source: str) -> str:
    """Refuse a local path that is not there before a store is created for it."""
    if "://" not in source and not Path(source).exists():
        raise BadSource("no such file or directory", value=source, allowed="a path to read from")
    return source


def pairs(values: Sequence[str] | None, what: str) -> dict[str, str]:
    """Parse repeated NAME=VALUE options."""
    found: dict[str, str] = {}
    for value in values or ():
        name, equals, source = value.partition("=")
        if not (equals and name.strip() and source.strip()):
            raise BadConfig(f"bad {what}", value=value, allowed="NAME=VALUE")
        found[name.strip()] = source.strip()
    return found


def given(**options: Any) -> dict[str, Any]:
    """Only the options the user gave: what is omitted stays as stored."""
    return {name: value for name, value in options.items() if value is not None}
