"""``sightline generate``: synthetic posts, or standing queries made from them, as a file."""

from __future__ import annotations

import json as jsonlib
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import typer

from sightline.cli.options import JsonOption, SeedOption
from sightline.cli.output import print_done, progress
from sightline.generate.posts import PostGenerator
from sightline.generate.queries import range_queries
from sightline.model.errors import BadConfig, BadSource

# Rows made and written at a time: bounds memory at some tens of MB.
WRITTEN_ROWS = 100_000
# Posts that queries are sampled from.
SAMPLED_POSTS = 50_000


class Locations(StrEnum):
    """Where posts are: the world's cities, or one of the two synthetic spreads of SSTD section 7.2."""

    cities = "cities"
    uniform = "uniform"
    gaussian = "gaussian"


def generate(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet, .csv or .jsonl file.", show_default=False)],
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many posts.")] = 100_000,
    seed: SeedOption = 0,
    locations: Annotated[Locations, typer.Option("--locations", help="Where posts are.")] = Locations.cities,
    late_rate: Annotated[float, typer.Option("--late-rate", min=0, max=1, help="Share of late posts.")] = 0.0,
    malformed_rate: Annotated[float, typer.Option("--malformed-rate", min=0, max=1, help="Share of bad rows.")] = 0.0,
    queries: Annotated[
        int | None, typer.Option("--queries", min=1, help="Write so many range queries made from the posts instead.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write synthetic posts of the world's cities.

    Examples:

      sightline generate posts.parquet --rows 1000000 --seed 7

      sightline generate queries.parquet --queries 200000
    """
    if out.suffix not in _WRITERS:
        raise BadConfig("unknown file type", value=str(out), allowed=", ".join(_WRITERS))
    if queries is not None and out.suffix != ".parquet":
        raise BadConfig("a table of queries has lists", value=str(out), allowed=".parquet")
    if malformed_rate and out.suffix == ".jsonl":
        raise BadConfig("malformed rows have bytes that JSON cannot hold", value=str(out), allowed=".parquet, .csv")
    if not out.parent.is_dir():
        raise BadSource("no such directory", value=str(out.parent))
    posts = PostGenerator(seed, locations=locations.value, late_rate=late_rate, malformed_rate=malformed_rate)
    if queries is not None:
        chunks: Iterator[pa.Table] = iter([range_queries(posts.table(SAMPLED_POSTS), queries, seed=seed)])
        total, what = queries, "queries"
    else:
        chunks, total, what = _posts(posts, rows), rows, "posts"
    # Written under another name first: an interrupted command leaves no half file behind.
    partial = out.with_name(f".{out.name}.partial")
    try:
        with progress(f"Generating {total:,} {what}", quiet=json, total=total) as (bar, task):
            writer = _WRITERS[out.suffix](partial)
            for chunk in chunks:
                writer.write(chunk)
                bar.update(task, advance=chunk.num_rows, note=f"{total:,} {what}")
            writer.close()
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)
    size = out.stat().st_size
    done = {"file": str(out), "rows": total, "what": what, "bytes": size, "seed": seed}
    print_done(done, f"wrote {total:,} {what} to {out} ({size / 1e6:,.1f} MB)", json=json)


def _posts(posts: PostGenerator, rows: int) -> Iterator[pa.Table]:
    for start in range(0, rows, WRITTEN_ROWS):
        yield posts.table(min(WRITTEN_ROWS, rows - start), start_row=start)


class _Parquet:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer: Any = None

    def write(self, chunk: pa.Table) -> None:
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.path, chunk.schema)
        self.writer.write_table(chunk)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


class _Csv(_Parquet):
    def write(self, chunk: pa.Table) -> None:
        if self.writer is None:
            self.writer = pacsv.CSVWriter(self.path, chunk.schema)
        self.writer.write_table(chunk)


class _JsonLines:
    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8")

    def write(self, chunk: pa.Table) -> None:
        for row in chunk.to_pylist():
            self.file.write(jsonlib.dumps(row, default=_instant, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self.file.close()


def _instant(value: Any) -> str:
    return str(value.isoformat())


_WRITERS: dict[str, Any] = {".parquet": _Parquet, ".csv": _Csv, ".jsonl": _JsonLines}
