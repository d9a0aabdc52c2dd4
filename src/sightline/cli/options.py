"""Arguments that several commands share, and the stores and files behind them.

Options that belong together are the fields of a dataclass: a command names one parameter of that class, and
:func:`spread` puts an option for each field in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
import typer

import sightline as sl
from sightline.model.errors import BadConfig, BadSource, NotAStore

if TYPE_CHECKING:
    from sightline.engine import Engine  # imported when a store is opened: help and refusals need no engine

StoreArgument = Annotated[Path, typer.Argument(metavar="STORE", help="Directory of the store.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
IdsArgument = Annotated[list[str], typer.Argument(metavar="ID...", help="Names of subscriptions.", show_default=False)]
OptionalIdsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[ID...]", help="Names of subscriptions.", show_default=False)
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=SOURCE", help="Read NAME (id, lon, lat, ts, text) from the column SOURCE."),
]
SecondsOption = Annotated[float | None, typer.Option("--seconds", min=0, help="Stop after this many seconds.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same posts.")]


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes an option per field where the given one takes a dataclass of them."""
    signature = inspect.signature(command, eval_str=True)
    forms: dict[str, Any] = {
        name: taken.annotation for name, taken in signature.parameters.items() if is_dataclass(taken.annotation)
    }
    shown: list[inspect.Parameter] = []
    for name, taken in signature.parameters.items():
        if name not in forms:
            shown.append(taken)
            continue
        kinds = get_type_hints(forms[name], include_extras=True)
        shown.extend(
            inspect.Parameter(field.name, taken.kind, default=field.default, annotation=kinds[field.name])
            for field in fields(forms[name])
        )

    @wraps(command)
    def spread_out(**arguments: Any) -> None:
        typed = {
            name: form(**{field.name: arguments.pop(field.name) for field in fields(form)})
            for name, form in forms.items()
        }
        command(**arguments, **typed)

    spread_out.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return spread_out


@dataclass(frozen=True, kw_only=True)
class PipelineText:
    """How a source is read and the work divided, as typed."""

    column: ColumnsOption = None
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Workers of the store; changing it starts a new epoch.")
    ] = None
    partitioner: Annotated[
        str | None,
        typer.Option("--partitioner", help="How posts are spread over workers (docs/plugins.md).", metavar="NAME"),
    ] = None
    index: Annotated[
        list[str] | None,
        typer.Option("--index", metavar="KIND=NAME", help="The index for range, nearest or objects (docs/plugins.md)."),
    ] = None

    inline: Annotated[
        bool, typer.Option("--inline", help="Without Spark, in this process: for small files, starts in a second.")
    ] = False

    def columns(self) -> dict[str, str] | None:
        """What the columns are called in the source."""
        return pairs(self.column, "--column") or None

    def opened(self, store: Path, source: str | None) -> Engine:
        """The engine; a source that is not there, or an option misspelt, creates no store."""
        self.columns()
        indexes = pairs(self.index, "--index") or None
        if source is not None and "://" not in source and not Path(source).exists():
            raise BadSource("no such file or directory", value=source, allowed="a path to read from")
        return sl.open(
            store,
            "inline" if self.inline else None,
            **given(workers=self.workers, partitioner=self.partitioner, indexes=indexes),
        )


def opened(path: Path) -> Engine:
    """The engine of a store that is there: a command that only reads must not create one.

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
    return sl.open(path)


@contextmanager
def parquet(source: Path, what: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file to read from."""
    if not source.is_file():
        raise BadSource("no such file", value=str(source), allowed=f"a Parquet file of {what}")
    try:
        with pq.ParquetFile(source) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise BadSource("not a Parquet file", value=str(source), hint=str(error)) from error


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
