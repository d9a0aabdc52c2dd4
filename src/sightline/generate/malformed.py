"""Rows an engine must reject: one of every kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

FUTURE_US = 32_503_680_000_000_000  # the year 3000
_BAD_BYTES = b"\xc3\x28 \xff\xfe"  # a broken sequence and bytes UTF-8 never has

Columns = dict[str, pa.Array]
Mask = npt.NDArray[np.bool_]


def _put(value: float | None, column: str) -> Callable[[Columns, Mask], None]:
    def apply(columns: Columns, rows: Mask) -> None:
        old = columns[column]
        columns[column] = pc.if_else(pa.array(rows), pa.scalar(value, old.type), old)

    return apply


def _put_bytes(column: str) -> Callable[[Columns, Mask], None]:
    def apply(columns: Columns, rows: Mask) -> None:
        old = columns[column].view(pa.binary())
        # A view back, not a cast: a cast would refuse the bytes that are wanted here.
        columns[column] = pc.if_else(pa.array(rows), pa.scalar(_BAD_BYTES, pa.binary()), old).view(pa.string())

    return apply


def _put_future(columns: Columns, rows: Mask) -> None:
    old = columns["ts"]
    columns["ts"] = pc.if_else(pa.array(rows), pa.scalar(FUTURE_US, pa.int64()).cast(old.type), old)


_KINDS: dict[str, Callable[[Columns, Mask], None]] = {
    "null lon": _put(None, "lon"),
    "null lat": _put(None, "lat"),
    "nan lon": _put(float("nan"), "lon"),
    "infinite lat": _put(float("inf"), "lat"),
    "lat out of range": _put(91.5, "lat"),
    "lon out of range": _put(-200.25, "lon"),
    "null ts": _put(None, "ts"),
    "null id": _put(None, "id"),
    "null text": _put(None, "text"),
    "id not utf-8": _put_bytes("id"),
    "text not utf-8": _put_bytes("text"),
    "future": _put_future,
}

MALFORMED_KINDS = tuple(_KINDS)


def spoil(columns: Columns, kind: npt.NDArray[np.int64]) -> None:
    """Break the rows whose kind is not -1, each in its way."""
    for number, apply in enumerate(_KINDS.values()):
        rows = kind == number
        if rows.any():
            apply(columns, rows)
