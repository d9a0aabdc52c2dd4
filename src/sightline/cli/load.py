"""``sightline load``: a file through the pipeline, once."""

from __future__ import annotations

import time
from typing import Annotated

import typer

import sightline as sl
from sightline.cli.options import (
    ColumnsOption,
    IndexOption,
    JsonOption,
    PartitionerOption,
    StoreArgument,
    WorkersOption,
    existing_source,
    given,
    pairs,
)
from sightline.cli.output import console, print_json, progress
from sightline.cli.progress_log import ProgressLog
from sightline.stages.results.report import BatchReport


def load(
    store: StoreArgument,
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Parquet, GeoParquet, CSV, JSON lines or GeoJSON.", show_default=False),
    ],
    column: ColumnsOption = None,
    workers: WorkersOption = None,
    partitioner: PartitionerOption = None,
    index: IndexOption = None,
    json: JsonOption = False,
) -> None:
    """Load a file into a store (created if need be), matching the standing subscriptions on the way.

    Examples:

      sightline load store posts.parquet

      sightline load store tweets.csv --column id=tweet_id --column ts=created_at
    """
    columns = pairs(column, "--column")
    options = given(workers=workers, partitioner=partitioner, indexes=pairs(index, "--index") or None)
    existing_source(source)
    began = time.perf_counter()
    log = ProgressLog()
    with (
        sl.open(store, **options) as engine,
        progress(f"Loading {source}", quiet=json) as (bar, task),
    ):

        def committed(report: BatchReport) -> None:
            log.add(report)
            bar.update(task, note=f"{sum(batch.rows for batch in log.batches):,} rows committed")

        done = engine.load(source, on_batch=committed, **given(columns=columns or None))
    seconds = time.perf_counter() - began
    if json:
        print_json({"source": source, "seconds": round(seconds, 3), **done})
        return
    console().print(
        f"loaded {done['objects']:,} posts in {seconds:,.1f} s: {done['matches']:,} matches, "
        f"{done['rejects']:,} rejected rows"
    )
