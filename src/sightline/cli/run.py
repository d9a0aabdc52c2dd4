"""``sightline run``: a stream through the pipeline until it ends, fails or is stopped."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from sightline.cli.options import JsonOption, PipelineText, SecondsOption, StoreArgument, pairs, spread
from sightline.cli.output import console, print_json, sparkline
from sightline.cli.progress_log import ProgressLog
from sightline.cli.streams import LOOK, open_stream
from sightline.cli.totals import CommitCounter
from sightline.model.errors import BadSource


@spread
def run(
    store: StoreArgument,
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="A file or directory, read once.", show_default=False)
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="A Spark streaming source: kafka, sightline-synthetic."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the streaming source.")
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Name of the run; it resumes where the last of this name stopped.")
    ] = "default",
    trigger: Annotated[str, typer.Option("--trigger", metavar="DURATION", help="Time between micro-batches.")] = "0s",
    typed: PipelineText = PipelineText(),
    seconds: SecondsOption = None,
    json: JsonOption = False,
) -> None:
    """Run the pipeline on a stream. Ctrl-C lets the batch in flight finish.

    Examples:

      sightline run store archive/ --name archive

      sightline run store --format kafka --option kafka.bootstrap.servers=localhost:9092 --option subscribe=posts

      sightline run store --format sightline-synthetic --option rowsPerSecond=10000 --seconds 30
    """
    if (source is None) == (format is None):
        raise BadSource("one source is needed", allowed="SOURCE, or --format NAME", hint="sightline run --help")
    of_source = pairs(option, "--option")
    with typed.opened(store, source) as engine:
        stream: Any = source if format is None else open_stream(engine, format, of_source)
        counter, log = CommitCounter(store), ProgressLog()
        handle = engine.run(stream, name, trigger, columns=typed.columns(), on_batch=log.add)
        _follow(handle, log, seconds, json)
        counter.advance()
        done = counter.totals
        failure = handle.exception()
    if json:
        print_json({"event": "stopped", "name": name, **done.to_dict()}, line=True)
    else:
        console().print(
            f"stopped after {done.batches:,} batches: {done.objects:,} posts, {done.matches:,} matches, "
            f"{done.rejects:,} rejected rows"
        )
    if failure is not None:
        raise failure


def _follow(handle: Any, log: ProgressLog, seconds: float | None, json: bool) -> None:
    """Print every batch until the run ends, the time is over or Ctrl-C; then stop it."""
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        while handle.is_active and (deadline is None or time.monotonic() < deadline):
            time.sleep(LOOK)
            _print(log, json)
    except KeyboardInterrupt:
        console(stderr=True).print("stopping after the batch in flight")
    finally:
        handle.stop()
        _print(log, json)


def _print(log: ProgressLog, json: bool) -> None:
    for batch in log.fresh():
        if json:
            print_json({"event": "batch", **batch.to_dict()}, line=True)
        else:
            console().print(
                f"batch {batch.batch:>6,}  {batch.rows:>10,} rows  {batch.rows_per_s:>12,.0f} rows/s  "
                f"{batch.seconds:6.2f} s  {batch.matches:>9,} matches  {sparkline(log.rates, 24)}"
            )
