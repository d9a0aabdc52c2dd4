"""``sightline init``: a new store with its options, so that one can subscribe before the first load."""

from __future__ import annotations

from typing import Annotated

import typer

import sightline as sl
from sightline.cli.options import JsonOption, StoreArgument, given, pairs
from sightline.cli.output import print_done
from sightline.model.errors import BadConfig, NotAStore


def init(
    store: StoreArgument,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Workers of the store.")] = None,
    partitioner: Annotated[
        str | None, typer.Option("--partitioner", metavar="NAME", help="Who gets what (docs/plugins.md).")
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option("--index", metavar="KIND=NAME", help="The index for range, nearest or objects (docs/plugins.md)."),
    ] = None,
    balance: Annotated[str | None, typer.Option("--balance", metavar="NAME", help="Policy of rebalancing.")] = None,
    lateness: Annotated[
        str | None, typer.Option("--lateness", help="How far behind a post may come and still count, as in 10min.")
    ] = None,
    ahead: Annotated[
        str | None, typer.Option("--ahead", help="How far ahead of the clock a ts may be, as in 1d; none = any.")
    ] = None,
    no_objects: Annotated[bool, typer.Option("--no-objects", help="Only match: keep no posts to search.")] = False,
    planar: Annotated[
        str | None, typer.Option("--planar", metavar="X0,Y0,X1,Y1", help="A plane with these bounds, not the globe.")
    ] = None,
    stop_words: Annotated[
        str | None, typer.Option("--stop-words", metavar="WORD,...", help="Words that are no terms.")
    ] = None,
    stemmer: Annotated[
        str | None, typer.Option("--stemmer", metavar="LANGUAGE", help="Reduce words to their stems, as in english.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Create an empty store. What space and words mean is fixed by it; the rest may be changed later.

    Examples:

      sightline init store --workers 8 --lateness 10min

      sightline init rooms --planar 0,0,120,80
    """
    if (store / "store.json").is_file():
        raise NotAStore("there is a store already", value=str(store), hint="name another directory, or use this one")
    options = given(
        workers=workers,
        partitioner=partitioner,
        indexes=pairs(index, "--index") or None,
        balance=balance,
        lateness=lateness,
        keep_objects=False if no_objects else None,
        space=None if planar is None else sl.Space.planar(_bounds(planar)),
        text=sl.TextConfig(tuple(filter(None, (stop_words or "").split(","))), stemmer),
    )
    if ahead is not None:
        options["ahead"] = None if ahead == "none" else ahead
    with sl.open(store, **options) as engine:
        path = str(engine.path)
    print_done({"store": path}, f"{path}: an empty store", json=json)


def _bounds(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as cause:
        raise BadConfig("bad --planar", value=text, allowed="X0,Y0,X1,Y1") from cause
