"""Standing queries from query objects, or from a table with one query per row.

The table form, for registering hundreds of thousands at once: ``keywords`` (list of strings = AND, or expressions as
strings; absent, null or empty = everything), a region as ``west, south, east, north`` or ``lon, lat, radius_m``,
``k``, ``window`` and ``every`` (text such as "1h", or microseconds), ``kind`` (default: ``top_terms`` where there is a
window, ``nearest`` where there is a k and no region, else ``range``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.flat.arrays import F64, I32, I64, U8, Flag
from sightline.geo.region_table import RegionTable
from sightline.index.standing.bulk_json import query_texts
from sightline.index.standing.keywords import KeywordTable, compile_dnfs, compile_expressions, compile_lists
from sightline.index.standing.kinds import KIND_NAMES, KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS
from sightline.model.config import StoreConfig
from sightline.model.dnf import EVERYTHING
from sightline.model.durations import duration_us
from sightline.model.errors import BadQuery
from sightline.model.queries import NearestQuery, Query, TopTermsQuery, check_space, check_subscription
from sightline.model.regions import Box, Circle, Region

__all__ = ["QueryColumns", "read_queries", "read_table"]

_BOX = ("west", "south", "east", "north")
_CIRCLE = ("lon", "lat", "radius_m")
_KNOWN = {"id", "keywords", *_BOX, *_CIRCLE, "k", "window", "every", "kind"}


@dataclass(frozen=True, slots=True, eq=False)
class QueryColumns:
    """What a block needs of its queries, before lifetimes and numbers."""

    kind: U8
    regions: RegionTable
    at: F64
    k: I32
    window: I64
    every: I64
    keywords: KeywordTable
    queries: pa.StringArray


def read_queries(queries: Sequence[Query], config: StoreConfig) -> QueryColumns:
    """Columns of query objects; each is checked as a subscription of this store."""
    n = len(queries)
    world = Box(*config.space.bounds)
    regions: list[Region] = []
    kind, k = np.zeros(n, np.uint8), np.zeros(n, np.int32)
    at, window, every = np.zeros((n, 2)), np.zeros(n, np.int64), np.zeros(n, np.int64)
    dnfs = []
    for i, query in enumerate(queries):
        check_subscription(query)
        check_space(query, config.space)
        kind[i] = KIND_NAMES[query.kind]
        dnfs.append(EVERYTHING if isinstance(query, TopTermsQuery) else query.keywords.dnf(config.text))
        if isinstance(query, NearestQuery):
            at[i], k[i] = query.at, query.k
            regions.append(world)
            continue
        regions.append(query.region)
        if isinstance(query, TopTermsQuery):
            k[i], window[i], every[i] = query.k, duration_us(query.window or ""), duration_us(query.every or "")
    texts = [json.dumps(query.to_dict(), ensure_ascii=False, separators=(",", ":")) for query in queries]
    return QueryColumns(
        kind,
        RegionTable.from_regions(regions),
        at,
        k,
        window,
        every,
        compile_dnfs(dnfs, config),
        pa.array(texts, pa.string()),
    )


def read_table(table: pa.Table, config: StoreConfig) -> QueryColumns:
    """Columns of the table form; the first bad row is named in the error."""
    if unknown := set(table.column_names) - _KNOWN:
        raise BadQuery("unknown columns of queries", value=sorted(unknown), allowed=", ".join(sorted(_KNOWN)))
    n = table.num_rows
    boxes, has_box = _numbers(table, _BOX)
    circles, has_circle = _numbers(table, _CIRCLE)
    points, has_point = _numbers(table, _CIRCLE[:2])
    k = _whole(table, "k")
    window, every = _durations(table, "window"), _durations(table, "every")
    kind = _kinds(table, k != 0, (window != 0) | (every != 0), has_box | has_circle)
    nearest, planar = kind == KIND_NEAREST, not config.space.is_geographic
    _refuse((kind != KIND_RANGE) & (k < 1), table, "k is missing or below 1")
    _refuse((kind == KIND_TOP_TERMS) & ((window < 1) | (every < 1)), table, "top terms need window and every")
    _refuse(nearest & ~has_point, table, "a nearest query needs lon and lat")
    _refuse(~nearest & ~has_box & ~has_circle, table, "no region", "west, south, east, north or lon, lat, radius_m")
    _refuse(~nearest & has_box & has_circle, table, "two regions", "a box or a circle")
    is_box, is_circle = has_box & ~nearest, has_circle & ~nearest
    _check(boxes, is_box, planar, lambda v: Box(*v, planar=planar))
    _check(circles, is_circle, planar, lambda v: Circle(*v, planar=planar))
    _check(points, nearest, planar, lambda v: NearestQuery("", v, 1, planar=planar))
    params = np.tile(np.asarray(config.space.bounds, np.float64), (n, 1))
    params[is_box] = boxes[is_box]
    millimetres = np.rint(np.rint(circles[:, 2] * 1000.0) / 1000.0 * 1000.0)
    params[is_circle] = np.column_stack([circles[:, :2], millimetres, np.zeros(n)])[is_circle]
    regions = RegionTable(is_circle.astype(np.uint8), params, np.zeros(n + 1, np.int64), np.empty(0, np.uint8))
    at = np.where(nearest[:, None], points, 0.0)
    words, column = _keywords(table, kind, config)
    texts = query_texts(kind, column, regions, at, k, window, every)
    used = kind == KIND_TOP_TERMS
    return QueryColumns(
        kind,
        regions,
        at,
        np.where(kind == KIND_RANGE, 0, k).astype(np.int32),
        np.where(used, window, 0),
        np.where(used, every, 0),
        words,
        texts,
    )


def _keywords(table: pa.Table, kind: U8, config: StoreConfig) -> tuple[KeywordTable, pa.Array]:
    """Compiled keywords, and the column as it goes into the JSON of the queries."""
    n = table.num_rows
    if "keywords" not in table.column_names:
        column = pa.array([""] * n, pa.string())
        return compile_expressions(column, config), column
    column = table["keywords"].combine_chunks()
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    # Top terms have no keywords; whatever the column holds for them is not read.
    mask = pa.array(kind == KIND_TOP_TERMS)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type):
        column = pc.if_else(mask, "", pc.fill_null(column.cast(pa.string()), ""))
        return compile_expressions(column, config), column
    if not _is_list_of_text(column.type):
        raise BadQuery("keywords are neither text nor lists of text", value=str(column.type))
    column = column.cast(pa.list_(pa.string()))
    if column.null_count or (kind == KIND_TOP_TERMS).any():
        column = pc.if_else(pc.or_(mask, column.is_null()), pa.scalar([], pa.list_(pa.string())), column)
    return compile_lists(column, config), column


def _is_list_of_text(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return False
    item = kind.value_type
    return bool(pa.types.is_string(item) or pa.types.is_large_string(item) or pa.types.is_null(item))


def _kinds(table: pa.Table, has_k: Flag, has_window: Flag, has_region: Flag) -> U8:
    if "kind" not in table.column_names:
        other = np.where(has_k & ~has_region, KIND_NEAREST, KIND_RANGE)
        return np.where(has_window, KIND_TOP_TERMS, other).astype(np.uint8)
    encoded = pc.dictionary_encode(pc.fill_null(table["kind"].combine_chunks().cast(pa.string()), ""))
    names = encoded.dictionary.to_pylist()
    if unknown := [name for name in names if name not in KIND_NAMES]:
        raise BadQuery("unknown kind of query", value=unknown[0], allowed=", ".join(sorted(KIND_NAMES)))
    numbers = np.asarray([KIND_NAMES[name] for name in names], np.uint8)
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)] if names else np.empty(0, np.uint8)


def _numbers(table: pa.Table, names: Sequence[str]) -> tuple[F64, Flag]:
    """Float columns side by side (NaN where null), and which rows have all of them."""
    n = table.num_rows
    values = np.full((n, len(names)), np.nan)
    if not set(names) <= set(table.column_names):
        return values, np.zeros(n, np.bool_)
    present = np.ones(n, np.bool_)
    for j, name in enumerate(names):
        column = table[name]
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
            raise BadQuery(f"column {name} is not numeric", value=str(column.type), allowed="float64")
        present &= column.is_valid().to_numpy()
        values[:, j] = column.cast(pa.float64()).to_numpy()
    return values, present


def _whole(table: pa.Table, name: str) -> I64:
    if name not in table.column_names:
        return np.zeros(table.num_rows, np.int64)
    if not (pa.types.is_integer(table[name].type) or pa.types.is_null(table[name].type)):
        raise BadQuery(f"column {name} is not of whole numbers", value=str(table[name].type), allowed="int32")
    values: I64 = pc.fill_null(table[name].cast(pa.int64()), 0).to_numpy()
    if values.size and values.max() >= 2**31:
        raise BadQuery(f"{name} is too large", value=int(values.max()), allowed="below 2**31")
    return values


def _durations(table: pa.Table, name: str) -> I64:
    if name not in table.column_names:
        return np.zeros(table.num_rows, np.int64)
    column = table[name].combine_chunks()
    if pa.types.is_duration(column.type):
        column = column.cast(pa.duration("us")).cast(pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_null(column.type):
        values: I64 = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        return values
    encoded = pc.dictionary_encode(column.cast(pa.string()))
    micros = np.asarray([*(duration_us(text, name) for text in encoded.dictionary.to_pylist()), 0], np.int64)
    codes: I64 = pc.fill_null(encoded.indices, len(micros) - 1).to_numpy(zero_copy_only=False)
    return micros[codes]


def _check(values: F64, rows: Flag, planar: bool, make: Callable[[Any], object]) -> None:
    """Range-check columns in bulk; the model's own constructor words the error of the first bad row."""
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(values).all(axis=1)
        width = values.shape[1]
        limits = [np.inf] * 4 if planar else [180.0, 90.0, 180.0, 90.0]
        for j in range(width if width != 3 else 2):
            bad |= np.abs(values[:, j]) > limits[j]
        if width == 4:
            bad |= (values[:, 1] > values[:, 3]) | (planar & (values[:, 0] > values[:, 2]))
        if width == 3:
            bad |= (values[:, 2] < 0) | (values[:, 2] > 1e9)
        if planar:
            bad |= (np.abs(values) > 1e9).any(axis=1)
    for i in np.flatnonzero(bad & rows):
        try:  # not every suspicious row is wrong
            make([float(v) for v in values[i]])
        except BadQuery as error:
            raise BadQuery(
                f"query in row {i}: {error.what}", value=error.value, allowed=error.allowed, hint=error.hint
            ) from error


def _refuse(bad: npt.NDArray[Any], table: pa.Table, what: str, allowed: str | None = None) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadQuery(f"query in row {row}: {what}", value=table.slice(row, 1).to_pylist()[0], allowed=allowed)
