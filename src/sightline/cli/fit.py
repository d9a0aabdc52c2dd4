"""``sightline fit``: make the partitioner's leaves for a given history."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from sightline.cli.options import ColumnsOption, JsonOption, StoreArgument, opened, pairs, parquet
from sightline.cli.output import print_done, progress
from sightline.model.config import OBJECT_COLUMNS
from sightline.model.errors import BadQuery
from sightline.model.queries import Query, query_from_dict


def fit(
    store: StoreArgument,
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="Parquet of posts: lon, lat, ts, text.", show_default=False)
    ],
    queries: Annotated[
        Path | None, typer.Option("--queries", metavar="FILE", help="Searches to expect: a query as JSON per line.")
    ] = None,
    column: ColumnsOption = None,
    json: JsonOption = False,
) -> None:
    """Fit the partitioner to a history of posts and searches, before the next batch.

    Works while a pipeline is running in another process. The subscriptions that stand count as well. A store that is
    not told is fitted to its own first posts.

    Examples:

      sightline fit store last-week.parquet

      sightline fit store last-week.parquet --queries searches.jsonl
    """
    with opened(store) as engine:
        rows = _rows(source, pairs(column, "--column"))
        searches = [] if queries is None else _searches(queries)
        with progress(f"Reading {rows.num_rows:,} posts", quiet=json):
            engine.fit(rows, searches)
    print_done(
        {"asked": "fit", "rows": rows.num_rows, "queries": len(searches)},
        f"asked: the partitioner is fitted to {rows.num_rows:,} posts and {len(searches):,} searches before the next "
        "batch",
        json=json,
    )


def _rows(source: Path, renamed: dict[str, str]) -> Any:
    """The columns of a history, under their own names; what is missing the engine will say."""
    with parquet(source, "posts") as file:
        present = file.schema_arrow.names
        columns = {name: renamed.get(name, name) for name in OBJECT_COLUMNS if renamed.get(name, name) in present}
        table = file.read(list(columns.values()))
    return pa.table({name: table[read] for name, read in columns.items()})


def _searches(source: Path) -> list[Query]:
    found = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            document = json_text.loads(line)
        except ValueError as error:
            raise BadQuery(f"line {number} of the queries is not JSON", value=line[:80], hint=str(error)) from error
        found.append(query_from_dict(document))
    return found
