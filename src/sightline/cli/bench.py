"""``sightline bench``: run a benchmark by name."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from sightline.bench.registry import BENCHES, run_bench
from sightline.bench.timing import PROGRESS
from sightline.cli.options import JsonOption, given, spread
from sightline.cli.output import console, print_json, print_rows, progress, table

_COLUMNS = 7  # what a terminal has room for; --json has the rest
_WIDE = 140  # for tables with a row per contestant, which a file or a pager takes as they are
_LISTED = "\n\n".join(f"{name}: {known.about}." for name, known in BENCHES.items())


@dataclass(frozen=True, kw_only=True)
class BenchText:
    """Parameters of benchmarks, as typed; each has some of them, under the same names."""

    quick: Annotated[bool, typer.Option("--quick", help="Less data, under a minute.")] = False
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="Posts to measure on (tokenise).")] = None
    queries: Annotated[int | None, typer.Option("--queries", min=0, help="Standing queries, or searches.")] = None
    objects: Annotated[int | None, typer.Option("--objects", min=1, help="Posts matched, or indexed.")] = None
    subscriptions: Annotated[
        int | None, typer.Option("--subscriptions", min=1, help="Standing nearest or top-terms queries (ckq, ctq).")
    ] = None
    mix: Annotated[
        str | None, typer.Option("--mix", help="Keywords: Z as they come, N without the 100 most frequent, or both.")
    ] = None
    area: Annotated[
        str | None, typer.Option("--area", help="Regions: a fraction of the space, mixed (0.0001 % to 1 %), or both.")
    ] = None
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="Rounds; figures are medians.")] = None
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Of the made-up posts and queries.")] = None
    dataset: Annotated[
        list[Path] | None,
        typer.Option("--dataset", help="A Parquet file of posts to measure on; partition takes several."),
    ] = None
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Workers to route to (route, partition, pipeline).")
    ] = None
    partitioners: Annotated[
        str | None, typer.Option("--partitioners", help="Their names, comma-separated (route, partition).")
    ] = None
    partitioner: Annotated[str | None, typer.Option("--partitioner", help="Who gets what (pipeline).")] = None
    query_sizes: Annotated[
        str | None, typer.Option("--query-sizes", help="Numbers of standing queries, comma-separated (curves).")
    ] = None
    object_sizes: Annotated[
        str | None, typer.Option("--object-sizes", help="Numbers of indexed posts, comma-separated (curves).")
    ] = None
    out: Annotated[Path | None, typer.Option("--out", help="Folder for JSON and pictures (curves, partition).")] = None
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Only draw again what the folder's JSON has (curves, partition).")
    ] = False

    def params(self) -> dict[str, Any]:
        """What was given; one file is what every benchmark takes, only some know what to do with several."""
        files = self.dataset or []
        several = {"dataset": None, "datasets": files} if len(files) > 1 else {"dataset": next(iter(files), None)}
        return given(**{**vars(self), **several, "quick": self.quick or None, "redraw": self.redraw or None})


@spread
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_LISTED, show_default=False)],
    typed: BenchText,
    json: JsonOption = False,
) -> None:
    """Run a benchmark and print its figures, the machine and the commit.

    Every benchmark measures a baseline in the same run on the same rows, and those that compare answers fail when the
    answers differ. An option that a benchmark does not have is an error. Baselines need the extra "bench".

    Examples:

      sightline bench crq --queries 200000 --mix N --area 0.0001

      sightline bench srq --objects 1000000 --json

      sightline bench curves --out curves

      sightline bench partition --dataset posts.parquet --dataset notes.parquet --out partition
    """
    with progress(f"Measuring {name}", quiet=False) as (bar, task), _noted(bar, task):
        result = run_bench(name, typed.params())
    if json:
        print_json(result)
        return
    _print(name, result)


def _print(name: str, result: Mapping[str, Any]) -> None:
    if "table" in result:
        screen = console()
        screen.width = max(screen.width, _WIDE)
        screen.print(table(f"bench {name}", result["table"]))
    else:
        rows = [{"metric": metric, "value": value} for metric, value in result["metrics"].items()]
        print_rows(f"bench {name}", rows, limit=100)
    loads: Mapping[str, Mapping[str, Any]] = result.get("loads", {})
    if len(loads) > 1 and "table" not in result:
        shown = [key for key in next(iter(loads.values())) if key in result["metrics"]][:_COLUMNS]
        by_load = [{"load": load, **{key: figures.get(key) for key in shown}} for load, figures in loads.items()]
        print_rows("by load", by_load)
    for picture in result.get("pictures", ()):
        console().print(picture, markup=False)
    on = result["machine"]
    console().print(
        f"{on['cpu']}, {on['cores']} cores, {on['memory_gb']} GB, Python {on['python']}", style="dim", markup=False
    )


class _Note(logging.Handler):
    """Shows what a benchmark says beside the bar, or as lines where stderr is no terminal."""

    def __init__(self, bar: Progress, task: Any) -> None:
        super().__init__(logging.INFO)
        self._bar, self._task = bar, task

    def emit(self, record: logging.LogRecord) -> None:
        if self._bar.disable:
            console(stderr=True).print(record.getMessage(), style="dim", markup=False)
        else:
            self._bar.update(self._task, note=record.getMessage())


@contextmanager
def _noted(bar: Progress, task: Any) -> Iterator[None]:
    handler, level = _Note(bar, task), PROGRESS.level
    PROGRESS.addHandler(handler)
    PROGRESS.setLevel(logging.INFO)
    try:
        yield
    finally:
        PROGRESS.removeHandler(handler)
        PROGRESS.setLevel(level)
