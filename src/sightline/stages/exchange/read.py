"""Read: rows as they came -> objects by the book, and rejects with a reason.

A bad row never stops the stream and never vanishes (`docs/semantics.md`, Objects). Each row gets one reason, the first
that is found; its raw content is kept as JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.columns import column_of, empty_table, values_of
from sightline.model.space import Space
from sightline.model.time import FIRST_US, LAST_US
from sightline.text.utf8 import valid_utf8

CORRUPT = "_corrupt"  # raw text of a record the source could not decode, null otherwise
GEOMETRY = "_geometry"  # WKB point, instead of lon and lat
REQUIRED = ("id", "lon", "lat", "ts", "text")
INSTANT = pa.timestamp("us", tz="UTC")
REJECT_SCHEMA = pa.schema([("reason", pa.string()), ("raw", pa.string())])

REASONS = (
    "",
    "undecodable record",
    "null id",
    "null text",
    "null ts",
    "null coordinate",
    "non-finite coordinate",
    "latitude out of range",
    "longitude out of range",
    "outside the space",
    "invalid UTF-8 in id",
    "invalid UTF-8 in text",
    "undecodable ts",
    "undecodable coordinate",
    "future",
    "ts outside the years 1 to 9999",
)
_CODE = {reason: code for code, reason in enumerate(REASONS)}


@dataclass(frozen=True)
class Clean:
    """The good rows in canonical columns (id, lon, lat, ts, text, then payload), and the bad ones."""

    objects: pa.RecordBatch
    lon: npt.NDArray[np.float64]
    lat: npt.NDArray[np.float64]
    ts: npt.NDArray[np.int64]
    rejects: pa.Table


def clean(batch: pa.RecordBatch, space: Space, reject_after_us: int | None) -> Clean:
    """Sort the rows of one Arrow batch into objects and rejects."""
    n = batch.num_rows
    code = np.zeros(n, np.int8)

    def mark(mask: npt.NDArray[np.bool_], reason: str) -> None:
        code[mask & (code == 0)] = _CODE[reason]

    if CORRUPT in batch.schema.names:
        mark(_valid(batch.column(CORRUPT)), "undecodable record")
    for name in ("id", "text"):
        if batch.column(name).null_count:
            mark(~_valid(batch.column(name)), f"null {name}")
    ts, bad_ts = _instants(batch.column("ts"))
    place = _points(batch.column(GEOMETRY)) if GEOMETRY in batch.schema.names else _coordinates(batch)
    lon, lat = place.lon, place.lat
    mark(bad_ts, "undecodable ts")
    mark(place.undecodable, "undecodable coordinate")
    if batch.column("ts").null_count:
        mark(~_valid(batch.column("ts")), "null ts")
    mark(place.null, "null coordinate")
    mark(~(np.isfinite(lon) & np.isfinite(lat)), "non-finite coordinate")
    west, south, east, north = space.bounds
    if space.kind == "geographic":
        mark((lat < south) | (lat > north), "latitude out of range")
        mark((lon < west) | (lon > east), "longitude out of range")
    else:
        mark((lat < south) | (lat > north) | (lon < west) | (lon > east), "outside the space")
    for name in ("id", "text"):
        mark(~valid_utf8(_filled(batch.column(name))), f"invalid UTF-8 in {name}")
    mark((ts < FIRST_US) | (ts > LAST_US), "ts outside the years 1 to 9999")
    if reject_after_us is not None:
        mark(ts > reject_after_us, "future")

    bad = np.flatnonzero(code)
    rejects = _rejects(batch, bad, code) if len(bad) else empty_table(REJECT_SCHEMA)
    if len(bad):
        good = np.flatnonzero(code == 0)
        batch, lon, lat, ts = batch.take(column_of(good)), lon[good], lat[good], ts[good]
    return Clean(_canonical(batch, lon, lat, ts), lon, lat, ts, rejects)


def _canonical(
    batch: pa.RecordBatch, lon: npt.NDArray[np.float64], lat: npt.NDArray[np.float64], ts: npt.NDArray[np.int64]
) -> pa.RecordBatch:
    payload = [name for name in batch.schema.names if name not in (*REQUIRED, CORRUPT, GEOMETRY)]
    arrays = [
        _string(batch.column("id")),
        column_of(lon),
        column_of(lat),
        column_of(ts).cast(INSTANT),
        _string(batch.column("text")),
        *(_in_utc(batch.column(name)) for name in payload),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[*REQUIRED, *payload])


def in_utc(kind: pa.DataType) -> pa.DataType:
    """A type with every zone inside it replaced by UTC."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(in_utc(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(in_utc(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(in_utc(kind.key_type), in_utc(kind.item_type))
    return kind


def _in_utc(column: pa.Array) -> pa.Array:
    """An instant is the same whatever the zone of the session that delivered it."""
    kind = in_utc(column.type)
    return column if kind == column.type else column.cast(kind)


def _filled(column: pa.Array, value: str | float = "") -> pa.Array:
    """Nulls are marked on their own; as empty strings or zeros they do not count as invalid as well."""
    return column.fill_null(value) if column.null_count else column


def _string(column: pa.Array) -> pa.Array:
    return column if column.type == pa.string() else column.cast(pa.string())


def _valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    return values_of(column.is_valid())


class _Place(NamedTuple):
    lon: npt.NDArray[np.float64]
    lat: npt.NDArray[np.float64]
    null: npt.NDArray[np.bool_]
    undecodable: npt.NDArray[np.bool_]


def _coordinates(batch: pa.RecordBatch) -> _Place:
    lon, bad_lon = _numbers(batch.column("lon"))
    lat, bad_lat = _numbers(batch.column("lat"))
    null = np.zeros(len(lon), np.bool_)
    for name in ("lon", "lat"):
        if batch.column(name).null_count:
            null |= ~_valid(batch.column(name))
    return _Place(lon, lat, null, bad_lon | bad_lat)


def _points(column: pa.Array) -> _Place:
    """Places of WKB points; anything that is no point is undecodable."""
    import shapely  # on first use: workers without polygons start sooner

    null = ~_valid(column)
    values = np.array(column.to_pylist(), object)
    points = shapely.from_wkb(values, on_invalid="ignore")
    undecodable = ~null & (shapely.get_type_id(points) != shapely.GeometryType.POINT)
    empty = shapely.is_empty(points)  # a point of NaNs is how WKB says "nowhere"
    known = ~(null | undecodable | empty)
    lon, lat = np.where(empty, np.nan, 0.0), np.where(empty, np.nan, 0.0)
    lon[known], lat[known] = shapely.get_x(points[known]), shapely.get_y(points[known])
    return _Place(lon, lat, null, undecodable)


def _numbers(column: pa.Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Values (0 where null or undecodable) and which were undecodable; text sources deliver numbers as strings."""
    bad = np.zeros(len(column), np.bool_)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column, bad = _decode(column, float, pa.float64())
    column = _filled(column, 0.0)
    if column.type == pa.float64():
        return values_of(column), bad
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64), bad


def _instants(column: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Microseconds since the epoch (0 where null or undecodable) and which were undecodable.

    A zone-less timestamp is UTC: its stored integer is read as it is, whatever the session's zone.
    """
    bad = np.zeros(len(column), np.bool_)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column, bad = _decode(column, _instant, pa.int64())
        return values_of(_filled(column, 0)), bad
    return instants_us(column), bad


def instants_us(column: pa.Array) -> npt.NDArray[np.int64]:
    """Microseconds since the epoch of a timestamp column (0 where null), floored.

    What lies beyond the years there are stays beyond, without leaving 64 bits.
    """
    unit = column.type.unit
    column = column.cast(pa.timestamp(unit)) if column.type.tz is not None else column
    counts = values_of(_filled(column.view(pa.int64()), 0))
    if unit == "ns":
        return counts // 1000
    if unit == "us":
        return counts
    factor = 1_000_000 if unit == "s" else 1_000
    return np.clip(counts, FIRST_US // factor - 1, LAST_US // factor + 1) * factor


def _instant(text: str) -> int:
    moment = datetime.fromisoformat(text.strip())
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _decode(column: pa.Array, parse: object, kind: pa.DataType) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    # Text sources only (CSV, JSON lines): these are bound by the parser in any case.
    assert callable(parse)
    bad = np.zeros(len(column), np.bool_)
    values: list[float | int | None] = []
    for i, raw in enumerate(column.cast(pa.binary()).to_pylist()):
        value = None
        if raw is not None:
            try:
                value = parse(raw.decode("utf-8"))
            except ValueError:
                bad[i] = True
        values.append(value)
    return pa.array(values, kind), bad


def _rejects(batch: pa.RecordBatch, bad: npt.NDArray[np.int64], code: npt.NDArray[np.int8]) -> pa.Table:
    rows = batch.take(column_of(bad))
    columns = {}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        columns[name] = _values(column.cast(pa.binary()) if text else column)
    raws = []
    for i in range(rows.num_rows):
        record = {name: _printable(values[i]) for name, values in columns.items()}
        corrupt = record.pop(CORRUPT, None)
        raws.append(str(corrupt) if corrupt is not None else json.dumps(record, ensure_ascii=False, default=str))
    return pa.table({"reason": [REASONS[code[i]] for i in bad], "raw": raws}, schema=REJECT_SCHEMA)


def _values(column: pa.Array) -> list[object]:
    """Python values; instants that Python cannot hold (a far-off year may be why the row is here) as integers."""
    try:
        values: list[object] = column.to_pylist()
    except (OverflowError, ValueError):
        flat = pa.types.is_temporal(column.type)
        values = column.cast(pa.int64()).to_pylist() if flat else [f"unprintable {column.type}"] * len(column)
    return values


def _printable(value: object) -> object:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
