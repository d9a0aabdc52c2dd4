"""The JSON of many queries, written column by column: the stored form that ``query_from_dict`` reads back."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sightline.flat.arrays import F64, I64, U8
from sightline.geo.region_table import RegionTable
from sightline.index.standing.kinds import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS
from sightline.model.durations import format_duration

__all__ = ["query_texts"]


def query_texts(
    kind: U8, keywords: pa.Array, regions: RegionTable, at: F64, k: I64, window: I64, every: I64
) -> pa.StringArray:
    """One JSON text per query; 200,000 take 0.15 s instead of 2 s through objects and ``json``."""
    words = _keyword_texts(keywords)
    region = _region_texts(regions)
    parts: list[tuple[int, list[Any]]] = [
        (KIND_RANGE, ['{"kind":"range","keywords":', words, ',"region":', region, "}"]),
        (
            KIND_NEAREST,
            [
                '{"kind":"nearest","keywords":',
                words,
                ',"at":[',
                _numbers(at[:, 0]),
                ",",
                _numbers(at[:, 1]),
                '],"k":',
                pa.array(k).cast(pa.string()),
                "}",
            ],
        ),
        (
            KIND_TOP_TERMS,
            [
                '{"kind":"top_terms","region":',
                region,
                ',"k":',
                pa.array(k).cast(pa.string()),
                ',"window":"',
                _durations(window),
                '","every":"',
                _durations(every),
                '"}',
            ],
        ),
    ]
    present = [(number, items) for number, items in parts if (kind == number).any()]
    if not present:
        return pa.array([], pa.string())
    texts = _join(*present[0][1])
    for number, items in present[1:]:
        texts = pc.if_else(pa.array(kind == number), _join(*items), texts)
    return texts


def _keyword_texts(column: pa.Array) -> pa.StringArray:
    if pa.types.is_string(column.type):
        return _quoted(column)
    items = _quoted(column.flatten())
    first = column.offsets[0].as_py() if len(column) else 0
    lists = pa.ListArray.from_arrays(pc.subtract(column.offsets, pa.scalar(first, pa.int32())), items)
    return _join('{"all_of":[', pc.binary_join(lists, ","), "]}")


def _quoted(strings: pa.StringArray) -> pa.StringArray:
    encoded = pc.dictionary_encode(strings)
    quoted = pa.array([encode_basestring(s) for s in encoded.dictionary.to_pylist()], pa.string())
    return quoted.take(encoded.indices)


def _region_texts(regions: RegionTable) -> pa.StringArray:
    box = _join('{"box":[', *_commas(regions.params), "]}")
    circles = regions.kind == 1
    if not circles.any():
        return box
    params = np.column_stack([regions.params[:, :2], regions.params[:, 2] / 1000.0])
    return pc.if_else(pa.array(circles), _join('{"circle":[', *_commas(params), "]}"), box)


def _commas(values: F64) -> list[Any]:
    parts: list[Any] = []
    for j in range(values.shape[1]):
        parts += [",", _numbers(values[:, j])]
    return parts[1:]


def _numbers(values: F64) -> pa.StringArray:
    # Arrow writes the shortest text that reads back as the same double, and integers without a point: valid JSON.
    return pa.array(np.ascontiguousarray(values)).cast(pa.string())


def _durations(values: I64) -> pa.StringArray:
    distinct, code = np.unique(values, return_inverse=True)
    texts = [format_duration(int(us)) if us > 0 else "" for us in distinct]
    return pa.array(texts, pa.string()).take(pa.array(code))


def _join(*parts: Any) -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, "")
