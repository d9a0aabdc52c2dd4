"""Sources of a load without Spark: a table, a frame or a path -> Arrow batches with canonical columns.

The objects and the rejects are those that Spark's readers would give; types of payload too, so that a store may be fed
by both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds

from sightline.model.errors import BadSource
from sightline.runs.geojson import check_text, json_column, read_geojson
from sightline.runs.source_files import ALLOWED_FILES, COMMIT_ROWS, TEXT_FORMATS, as_table, data_files, format_of
from sightline.stages.exchange.columns import Selection, arrow_columns, selection
from sightline.stages.exchange.read import CORRUPT, GEOMETRY

_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}


def tables(source: Any, columns: Mapping[str, str] | None) -> Iterator[pa.Table]:
    """A one-shot source cut into tables of at most a million rows, one commit each, in canonical columns."""
    if isinstance(source, (str, Path)):
        yield from _from_path(Path(source), columns)
        return
    table = as_table(source)
    if table is None:
        hint = "open the store without spark='inline'" if type(source).__module__.startswith("pyspark.") else None
        raise BadSource("cannot load this without Spark", value=type(source).__name__, allowed=ALLOWED_FILES, hint=hint)
    chosen = selection(arrow_columns(table.schema), columns)
    for start in range(0, max(table.num_rows, 1), COMMIT_ROWS):
        yield _canonical(table.slice(start, COMMIT_ROWS), chosen)


def _from_path(path: Path, columns: Mapping[str, str] | None) -> Iterator[pa.Table]:
    suffix = format_of(path)
    if suffix == ".parquet":
        yield from _from_parquet(path, columns)
        return
    readers: dict[str, Callable[[Path], pa.Table]] = {"csv": _read_csv, "json": _read_json}
    if suffix == ".geojson":
        found = read_geojson(path)
    elif suffix in TEXT_FORMATS:
        read = readers[TEXT_FORMATS[suffix]]
        found = pa.concat_tables([read(file) for file in data_files(path)], promote_options="permissive")
    else:
        raise BadSource("cannot tell the format of this path", value=str(path), allowed=ALLOWED_FILES)
    chosen = selection(arrow_columns(found.schema), columns, untyped=True)
    for start in range(0, max(found.num_rows, 1), COMMIT_ROWS):
        yield _canonical(found.slice(start, COMMIT_ROWS), chosen, untyped=True)


def _from_parquet(path: Path, columns: Mapping[str, str] | None) -> Iterator[pa.Table]:
    try:
        found = ds.dataset(str(path), format="parquet")
        chosen = selection(arrow_columns(found.schema), columns)
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in found.to_batches():
            held.append(batch)
            rows += batch.num_rows
            if rows >= COMMIT_ROWS:
                yield _canonical(pa.Table.from_batches(held, found.schema), chosen)
                held, rows = [], 0
        if held or rows == 0:
            yield _canonical(pa.Table.from_batches(held, found.schema), chosen)
    except (OSError, pa.ArrowInvalid) as cause:
        raise BadSource("not a Parquet file", value=str(path), hint=str(cause).splitlines()[0]) from cause


def _canonical(table: pa.Table, chosen: Selection, *, untyped: bool = False) -> pa.Table:
    """The columns chosen, under our names and in the types that Spark would hand on."""
    found: dict[str, pa.ChunkedArray] = {}
    for name, source in chosen.required.items():
        column = table[source]
        if name == "ts" and pa.types.is_timestamp(column.type):  # in whatever unit: `read` floors and bounds it
            found[name] = column if column.type.tz is None else column.cast(pa.timestamp(column.type.unit, "UTC"))
            continue
        column = _plain(column)
        if name in ("lon", "lat"):
            number = not pa.types.is_string(column.type) and not pa.types.is_null(column.type)
            column = column.cast(pa.float64() if number else pa.string())
        else:
            column = _text(column)
        found[name] = column
    if chosen.point is not None:
        found[GEOMETRY] = _plain(table[chosen.point])
    if untyped and CORRUPT in table.column_names:
        found[CORRUPT] = table[CORRUPT]
    return pa.table(found | {name: _plain(table[name]) for name in chosen.payload})


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = _plain_type(column.type)
    return column if kind == column.type else column.cast(kind, safe=not pa.types.is_timestamp(kind))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that Spark reads a type as."""
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return _WIDER.get(kind, kind)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_boolean(column.type):
        return pa.chunked_array([pa.array([_said(value) for value in column.to_pylist()], pa.string())])
    return column.cast(pa.string())


def _said(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _read_csv(path: Path) -> pa.Table:
    """CSV with a header, all of it text; a record with too few or too many values keeps its raw text."""
    broken: list[str] = []

    def keep(row: Any) -> str:
        broken.append(row.text)
        return "skip"

    with path.open("rb") as file:
        first = file.readline()
    names = [name.strip('"') for name in first.decode("utf-8", "replace").rstrip("\r\n").split(",")]
    if not any(names):
        raise BadSource("the file has no header", value=str(path), allowed="column names in the first line")
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(use_threads=False),
            csv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except pa.ArrowInvalid as cause:
        raise BadSource("not a CSV file", value=str(path), hint=str(cause).splitlines()[0]) from cause
    return _with_broken(table, broken)


def _read_json(path: Path) -> pa.Table:
    """One JSON object per line; a line that is none keeps its text."""
    rows: list[dict[str, Any]] = []
    broken: list[str] = []
    for line in path.read_bytes().splitlines():
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if b"\\u" in line:
                check_text(row)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            broken.append(line.decode("utf-8", "backslashreplace"))
    if not rows:
        raise BadSource("no record of this file can be decoded", value=str(path), allowed="one JSON object per line")
    names = sorted({name for row in rows for name in row})
    return _with_broken(pa.table({name: _json_values([row.get(name) for row in rows]) for name in names}), broken)


def _json_values(values: list[Any]) -> pa.Array:
    """A column of JSON values; the fields of objects are in the order of their names, as Spark has them."""
    column = json_column(values)
    kind = _sorted_type(column.type)
    return column if kind == column.type else pa.array(values, kind)


def _sorted_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct(sorted([(field.name, _sorted_type(field.type)) for field in kind], key=lambda field: field[0]))
    return pa.list_(_sorted_type(kind.value_type)) if pa.types.is_list(kind) else kind


def _with_broken(table: pa.Table, broken: Iterable[str]) -> pa.Table:
    """The records, then those that could not be decoded."""
    marked = table.append_column(CORRUPT, pa.nulls(table.num_rows, pa.string()))
    return pa.concat_tables([marked, pa.table({CORRUPT: pa.array(broken, pa.string())})], promote_options="default")
