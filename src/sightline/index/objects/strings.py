"""Strings of an Arrow column by row, without Arrow's ``take``.

``take`` of ten rows runs through so much code that it costs 12 us, and 30 us between two other calls, which is several
times what the search that found the rows costs. One small kernel does the same in 3 us.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import U8, frozen
from sightline.flat.columns import column_of
from sightline.index.entry import Entry
from sightline.index.objects import strings_kernels as _kernels

__all__ = ["StringColumn", "readable", "taken"]

Rows = npt.NDArray[np.integer[Any]]

_NARROW, _WIDE = pa.string(), pa.large_string()
_GATHER_NARROW, _GATHER_WIDE = Entry(_kernels.gather_strings), Entry(_kernels.gather_strings)
_I64 = np.dtype(np.int64)
LONG, MANY = 32, 1024  # mean bytes of strings that Arrow copies faster, from so many rows on


class StringColumn:
    """A column of strings without nulls; its buffers are read where they are.

    Parameters
    ----------
    column : pa.Array
        ``string`` or ``large_string``, possibly a slice.
    """

    def __init__(self, column: pa.Array) -> None:
        if not self.fits(column):
            raise ValueError(f"expected strings without nulls, not {column.type} with {column.null_count} nulls")
        self._column, self._type = column, column.type
        wide = column.type == _WIDE
        kind: type[np.int64 | np.int32] = np.int64 if wide else np.int32
        _, offsets, data = column.buffers()
        # Arrow may leave out the offsets of an empty column and the bytes of empty strings.
        ends = np.frombuffer(offsets, kind)[column.offset :][: len(column) + 1] if len(column) else np.zeros(1, kind)
        self._offsets: npt.NDArray[Any] = frozen(ends, kind)
        self._data: U8 = frozen(np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), np.uint8)
        self._gather = _GATHER_WIDE if wide else _GATHER_NARROW
        self._none = column.slice(0, 0)
        self._most = 2**62 if wide else 2**31 - 1
        self._long = int(ends[-1]) - int(ends[0]) > LONG * len(column)

    @staticmethod
    def fits(column: pa.Array | pa.ChunkedArray) -> bool:
        """Whether a column can be one."""
        return isinstance(column, pa.Array) and column.type in (_NARROW, _WIDE) and column.null_count == 0

    def __len__(self) -> int:
        return len(self._column)

    def take(self, rows: Rows) -> pa.Array:
        """The given rows, in the given order: Arrow's ``take``, errors included."""
        if not rows.size:
            return self._none
        if self._long and rows.size > MANY:
            return self._column.take(column_of(rows))
        ends, data, done = self._gathered(rows)
        if not done:
            return self._column.take(column_of(rows))
        return pa.Array.from_buffers(self._type, rows.size, [None, pa.py_buffer(ends), pa.py_buffer(data)], 0)

    def strings(self, rows: Rows) -> list[str]:
        """The given rows as Python strings."""
        ends, data, done = self._gathered(rows)
        if not done:
            listed: list[str] = self._column.take(column_of(rows)).to_pylist()
            return listed
        whole, places = data.tobytes(), ends.tolist()
        return [whole[begin:end].decode() for begin, end in pairwise(places)]

    def _gathered(self, rows: Rows) -> tuple[npt.NDArray[Any], U8, bool]:
        if rows.dtype is not _I64 or not rows.flags.c_contiguous:
            rows = np.ascontiguousarray(rows, np.int64)
        if rows.ndim != 1:
            raise ValueError(f"rows are a list of numbers, not of the shape {rows.shape}")
        found: tuple[npt.NDArray[Any], U8, bool] = self._gather.call(self._offsets, self._data, rows, self._most)
        return found


def readable(column: pa.Array | pa.ChunkedArray) -> StringColumn | pa.Array | pa.ChunkedArray:
    """A column as :func:`taken` takes rows of it: strings of one chunk without nulls by their buffers."""
    if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1:
        column = column.chunk(0)
    return StringColumn(column) if StringColumn.fits(column) else column


def taken(columns: Sequence[StringColumn | pa.Array | pa.ChunkedArray], rows: Rows) -> list[pa.Array | pa.ChunkedArray]:
    """The given rows of several columns; those that are not strings by Arrow's ``take``."""
    numbers = None
    out = []
    for column in columns:
        if isinstance(column, StringColumn):
            out.append(column.take(rows))
        else:
            numbers = column_of(rows) if numbers is None else numbers
            out.append(column.take(numbers))
    return out
