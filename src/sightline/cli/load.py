"""``sightline load``: a file through the pipeline, once."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from sightline.cli.options import JsonOption, PipelineText, StoreArgument, given, spread
from sightline.cli.output import print_done, progress
from sightline.cli.progress_log import ProgressLog
from sightline.stages.results.report import BatchReport


@spread
def load(
    store: StoreArgument,
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Parquet, GeoParquet, CSV, JSON lines or GeoJSON.", show_default=False),
    ],
    typed: PipelineText,
    json: JsonOption = False,
) -> None:
    """Load a file into a store (created if need be), matching the standing subscriptions on the way.

    Examples:

      sightline load store posts.parquet

      sightline load store tweets.csv --column id=tweet_id --column ts=created_at
    """
    began = time.perf_counter()
    log = ProgressLog()
    with typed.opened(store, source) as engine, progress(f"Loading {source}", quiet=json) as (bar, task):

        def committed(report: BatchReport) -> None:
            log.add(report)
            bar.update(task, note=f"{sum(batch.rows for batch in log.batches):,} rows committed")

        done = engine.load(source, on_batch=committed, **given(columns=typed.columns()))
    seconds = time.perf_counter() - began
    print_done(
        {"source": source, "seconds": round(seconds, 3), **done},
        f"loaded {done['objects']:,} posts in {seconds:,.1f} s: {done['matches']:,} matches, "
        f"{done['rejects']:,} rejected rows",
        json=json,
    )
