"""``sightline subscribe``: register one standing query, or a table of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import sightline as sl
from sightline.cli.options import JsonOption, StoreArgument, existing_store, given
from sightline.cli.output import console, print_json, progress
from sightline.cli.query_options import StandingText, spelled_query
from sightline.model.errors import BadQuery, BadSource


@spelled_query
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
    with sl.open(existing_store(store)) as engine:
        made = engine.subscribe(asked, replace=replace, **given(id=id, start=start, ttl=ttl))
    if json:
        print_json({"id": made.id, "query": asked.to_dict()})
    else:
        console().print(f"subscribed {made.id}", markup=False)


def _subscribe_table(store: Path, source: Path, json: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not source.is_file():
        raise BadSource("no such file", value=str(source), allowed="a Parquet file of queries")
    try:
        queries = pq.read_table(source)
    except (pa.ArrowException, OSError) as error:
        raise BadSource("not a Parquet file", value=str(source), hint=str(error)) from error
    with sl.open(existing_store(store)) as engine, progress(f"Registering {queries.num_rows:,} queries", quiet=json):
        engine.subscribe_many(queries)
    if json:
        print_json({"count": queries.num_rows, "table": str(source)})
    else:
        console().print(f"subscribed {queries.num_rows:,} queries")
