"""Sources of a load: a DataFrame, a path or an Arrow table -> frames of about a million rows, one commit each.

What Spark can read as it is, is read in place. Everything else is *staged*: written once as Parquet files of at most
:data:`COMMIT_ROWS` rows under the store, read from there, and removed when the load is over. Staging also fixes the
rows of a frame whose plan is not deterministic, so that a repeated batch sees what the first attempt saw.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sightline.flat.columns import values_of
from sightline.model.errors import BadSource, StoreNotShared
from sightline.runs.geojson import read_geojson
from sightline.runs.source_files import ALLOWED_FILES, COMMIT_ROWS, TEXT_FORMATS, as_table, file_fingerprint, format_of
from sightline.spark.columns import canonical, quoted
from sightline.spark.connect import refuse_connect
from sightline.spark.failures import failure
from sightline.spark.paths import to_read, to_write
from sightline.stages.exchange.columns import arrow_columns, selection
from sightline.stages.exchange.read import CORRUPT, instants_us
from sightline.store.disk import full_disk_named

STAGED_GROUP_ROWS = 65_536  # row groups are what Spark splits a file by
IN_PLACE_BYTES = 256 << 20  # a text file larger than this is staged, so that it is cut into commits
LATIN = "ISO-8859-1"
ALLOWED = "a Spark DataFrame, " + ALLOWED_FILES


@dataclass(frozen=True)
class Chunks:
    """Frames with canonical columns, in order, and how many rows they have if that is known."""

    frames: list[Callable[[], DataFrame]]
    rows: int | None
    staged: Path | None = None

    def remove_staged(self) -> None:
        if self.staged is not None:
            shutil.rmtree(self.staged, ignore_errors=True)


def chunks(source: Any, spark: SparkSession, columns: Mapping[str, str] | None, staging: Path) -> Chunks:
    """Cut a one-shot source into frames of about a million rows; a source that fails leaves nothing behind."""
    folder = staging / uuid.uuid4().hex
    try:
        with full_disk_named(folder):
            return _chunks(source, spark, columns, folder)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        # A frame is evaluated here, with whatever its author put into it; Spark's errors come translated or raw.
        if type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise failure("load", error) from error
        raise


def _chunks(source: Any, spark: SparkSession, columns: Mapping[str, str] | None, folder: Path) -> Chunks:
    if isinstance(source, DataFrame):
        refuse_connect(source)
        return _stage_frame(canonical(source, columns), spark, folder)
    table = as_table(source)
    if table is not None:
        return _stage_table(table, spark, columns, folder)
    if isinstance(source, (str, Path)):
        return _from_path(Path(source), spark, columns, folder)
    raise BadSource("cannot load this", value=type(source).__name__, allowed=ALLOWED)


def _from_path(path: Path, spark: SparkSession, columns: Mapping[str, str] | None, folder: Path) -> Chunks:
    suffix = format_of(path)
    if suffix == ".parquet":
        return _from_parquet(path, spark, columns, folder)
    if suffix == ".geojson":
        return _stage_table(read_geojson(path), spark, columns, folder, untyped=True)
    if suffix in TEXT_FORMATS:
        frame = canonical(read_text(path, TEXT_FORMATS[suffix], spark), columns, untyped=True)
        size = sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())
        return Chunks([lambda: frame], None) if size <= IN_PLACE_BYTES else _stage_frame(frame, spark, folder)
    raise BadSource("cannot tell the format of this path", value=str(path), allowed=ALLOWED)


def fingerprint(source: Any) -> str:
    """What tells one source from another under the name of a run: `file_fingerprint`, or a frame's plan."""
    return (
        f"a DataFrame with plan {source.semanticHash()}" if isinstance(source, DataFrame) else file_fingerprint(source)
    )


def read_text(path: Path, kind: str, spark: SparkSession) -> DataFrame:
    """CSV with a header, or JSON lines; a record that cannot be decoded keeps its raw text."""
    if kind == "json":
        # A corrupt record fills its column only if the schema has it, so the schema is read first.
        schema = spark.read.option("columnNameOfCorruptRecord", CORRUPT).json(to_read(path)).schema
        fields = [field for field in schema.fields if field.name != CORRUPT]
        if not fields:
            raise BadSource(
                "no record of this file can be decoded", value=str(path), allowed="one JSON object per line"
            )
        wanted = T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])
        return spark.read.schema(wanted).option("columnNameOfCorruptRecord", CORRUPT).json(to_read(path))
    header = spark.read.option("header", True).csv(to_read(path)).schema
    if not header.names:
        raise BadSource("the file has no header", value=str(path), allowed="column names in the first line")
    wanted = T.StructType(
        [*(T.StructField(name, T.StringType()) for name in header.names), T.StructField(CORRUPT, T.StringType())]
    )
    reader = spark.read.schema(wanted).option("header", True).option("columnNameOfCorruptRecord", CORRUPT)
    # Read as Latin-1 and turned back, the bytes stay as they are; read as UTF-8, Spark would repair bad ones silently.
    frame = reader.option("multiLine", True).option("escape", '"').option("encoding", LATIN).csv(to_read(path))
    return frame.select(*(F.encode(F.col(quoted(name)), LATIN).cast("string").alias(name) for name in wanted.names))


def _from_parquet(path: Path, spark: SparkSession, columns: Mapping[str, str] | None, folder: Path) -> Chunks:
    try:
        found = ds.dataset(str(path), format="parquet")
        rows = found.count_rows()
    except (OSError, pa.ArrowInvalid) as cause:
        raise BadSource("not a Parquet file", value=str(path), hint=str(cause).splitlines()[0]) from cause
    selection(arrow_columns(found.schema), columns)
    if rows > COMMIT_ROWS or any(_nanoseconds(field.type) for field in found.schema):
        first = found.schema.empty_table()
        parts = _cut(found.to_batches(batch_size=STAGED_GROUP_ROWS), found.schema)
        return _stage_tables(parts, first, rows, spark, columns, folder)
    frame = canonical(spark.read.parquet(to_read(path)), columns)
    return Chunks([lambda: frame], rows)


def _cut(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        while batch.num_rows:
            part = batch.slice(0, COMMIT_ROWS - rows)
            batch = batch.slice(part.num_rows)
            held.append(part)
            rows += part.num_rows
            if rows == COMMIT_ROWS:
                yield pa.Table.from_batches(held, schema)
                held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held, schema)


def _stage_table(
    table: pa.Table, spark: SparkSession, columns: Mapping[str, str] | None, folder: Path, *, untyped: bool = False
) -> Chunks:
    parts = (table.slice(start, COMMIT_ROWS) for start in range(0, max(table.num_rows, 1), COMMIT_ROWS))
    return _stage_tables(parts, table.slice(0, 0), table.num_rows, spark, columns, folder, untyped=untyped)


def _stage_tables(
    parts: Iterator[pa.Table],
    empty: pa.Table,
    rows: int,
    spark: SparkSession,
    columns: Mapping[str, str] | None,
    folder: Path,
    *,
    untyped: bool = False,
) -> Chunks:
    folder.mkdir(parents=True)
    # Types are checked first: a wrong column is refused before a large table is written.
    selection(arrow_columns(empty.schema), columns, untyped=untyped)
    frames = []
    for number, part in enumerate(parts):
        path = folder / f"{number:06d}.parquet"
        # As many row groups as there are cores, at least: they are what the scan is divided by.
        group = min(STAGED_GROUP_ROWS, max(1, -(-part.num_rows // spark.sparkContext.defaultParallelism)))
        pq.write_table(_readable(part), path, compression="lz4", row_group_size=group)
        frames.append(_frame_of(path, spark, columns, untyped))
    return Chunks(frames, rows, folder)


def _frame_of(
    path: Path, spark: SparkSession, columns: Mapping[str, str] | None, untyped: bool
) -> Callable[[], DataFrame]:
    return lambda: canonical(spark.read.parquet(to_read(path)), columns, untyped=untyped)


def _stage_frame(frame: DataFrame, spark: SparkSession, folder: Path) -> Chunks:
    folder.parent.mkdir(parents=True, exist_ok=True)
    seen = Observation()
    counted = frame.observe(seen, F.count(F.lit(1)).alias("rows"))
    counted.write.option("maxRecordsPerFile", COMMIT_ROWS).option("compression", "lz4").parquet(to_write(folder))
    groups: list[list[str]] = []
    total = held = 0
    for path in sorted(folder.glob("*.parquet")):
        rows = pq.read_metadata(path).num_rows
        if not groups or held + rows > COMMIT_ROWS:
            groups.append([])
            held = 0
        groups[-1].append(to_read(path))
        held, total = held + rows, total + rows

    if total != seen.get["rows"]:
        raise StoreNotShared(
            f"of {seen.get['rows']} staged rows the driver finds {total}",
            value=str(folder),
            allowed="one folder that driver and executors have under the same path",
            hint="mount it on every host, or open a store on a path that all share; nothing was loaded",
        )

    def read(files: list[str]) -> Callable[[], DataFrame]:
        return lambda: spark.read.schema(frame.schema).parquet(*files)

    return Chunks([read(files) for files in groups], total, folder)


def _nanoseconds(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def _readable(table: pa.Table) -> pa.Table:
    """A table in types that Spark reads: instants in microseconds, no dictionaries, no view types."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit != "us":
            table = table.set_column(at, field.name, _microseconds(table.column(at)))
        elif pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
        elif field.type in (pa.string_view(), pa.binary_view()):
            plain = pa.string() if field.type == pa.string_view() else pa.binary()
            table = table.set_column(at, field.name, table.column(at).cast(plain))
    return table.replace_schema_metadata(None)


def _microseconds(column: pa.ChunkedArray) -> pa.Array:
    """Instants floored to microseconds; those beyond the years there are stay beyond."""
    counts = instants_us(column.combine_chunks())
    return pa.array(counts, pa.int64(), mask=values_of(column.combine_chunks().is_null())).cast(
        pa.timestamp("us", column.type.tz)
    )
