"""``sightline bench``: run a benchmark by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sightline.bench.registry import BENCHES, run_bench
from sightline.cli.options import JsonOption, given
from sightline.cli.output import console, print_json, print_rows, progress


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {', '.join(BENCHES)}.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Less data, under a minute.")] = False,
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="Posts to measure on.")] = None,
    queries: Annotated[int | None, typer.Option("--queries", min=0, help="Standing queries (pipeline).")] = None,
    dataset: Annotated[Path | None, typer.Option("--dataset", help="A Parquet file of posts to use as well.")] = None,
    json: JsonOption = False,
) -> None:
    """Run a benchmark and print its figures, the machine and the commit.

    Examples:

      sightline bench tokenise --quick

      sightline bench pipeline --queries 200000 --json
    """
    params = given(quick=quick or None, rows=rows, queries=queries, dataset=dataset)
    with progress(f"Measuring {name}", quiet=json):
        result = run_bench(name, params)
    if json:
        print_json(result)
        return
    print_rows(
        f"bench {name}", [{"metric": metric, "value": value} for metric, value in result["metrics"].items()], limit=100
    )
    on = result["machine"]
    console().print(
        f"{on['cpu']}, {on['cores']} cores, {on['memory_gb']} GB, Python {on['python']}", style="dim", markup=False
    )
