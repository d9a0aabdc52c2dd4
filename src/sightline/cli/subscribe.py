"""``sightline subscribe``: register one standing query, or a table of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.cli.options import JsonOption, StoreArgument, given, opened, parquet, spread
from sightline.cli.output import print_done, progress
from sightline.cli.query_options import StandingText
from sightline.model.errors import BadQuery


@spread
def subscribe(
    store: StoreArgument,
    typed: StandingText,
    table: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Register every row of a Parquet table of queries.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Name of the subscription; made up if omitted.")] = None,
    start: Annotated[str | None, typer.Option("--start", metavar="INSTANT", help="Sees posts from then on.")] = None,
    ttl: Annotated[
        str | None, typer.Option("--ttl", metavar="DURATION", help="Lives so long; forever if omitted.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the subscription of this id.")] = False,
    json: JsonOption = False,
) -> None:
    """Register a standing query. Works while a pipeline is running in another process.

    Examples:

      sightline subscribe store "flood AND rescue" --box -95.8,29.5,-95.0,30.1 --id houston --ttl 7d

      sightline subscribe store "noodle OR ramen" --near 139.70,35.69 -k 10

      sightline subscribe store --top 10 --circle -0.12,51.5,20000 --window 1h --every 10min

      sightline subscribe store --table queries.parquet
    """
    if table is not None:
        if typed != StandingText() or any(v is not None for v in (id, start, ttl)) or replace:
            raise BadQuery("--table holds whole subscriptions", hint="leave the other options out")
        _subscribe_table(store, table, json)
        return
    asked = typed.build()
    with opened(store) as engine:
        asked = typed.placed(asked, engine.space)
        made = engine.subscribe(asked, replace=replace, **given(id=id, start=start, ttl=ttl))
    print_done({"id": made.id, "query": asked.to_dict()}, f"subscribed {made.id}", json=json)


def _subscribe_table(store: Path, source: Path, json: bool) -> None:
    with parquet(source, "queries") as file:
        queries = file.read()
    with opened(store) as engine, progress(f"Registering {queries.num_rows:,} queries", quiet=json):
        engine.subscribe_many(queries)
    done = {"count": queries.num_rows, "table": str(source)}
    print_done(done, f"subscribed {queries.num_rows:,} queries", json=json)
