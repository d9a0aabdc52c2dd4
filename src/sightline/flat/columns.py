"""NumPy arrays as Arrow columns and back, without nulls and, but for flags, without copying.

Arrow's own conversions do the same, but the first one of a process imports pandas where it is installed, to recognise
its objects: as much time as loading every kernel a worker needs. A Spark worker starts without pandas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]
Columns = Mapping[str, Array | pa.Array | pa.ChunkedArray]

_DTYPES = {
    pa.from_numpy_dtype(kind): np.dtype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
}


def column_of(values: Array) -> pa.Array:
    """The Arrow array of numbers or flags."""
    buffer = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(buffer)])


def strings_of(strings: Sequence[str]) -> pa.StringArray:
    """The Arrow array of strings; together below 2 GB."""
    rows = [string.encode() for string in strings]
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64).astype(np.int32)
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(ends), pa.py_buffer(b"".join(rows)))


def values_of(column: pa.Array | pa.ChunkedArray) -> Array:
    """The values of a column of numbers or flags; read-only where they are Arrow's own memory."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            nothing = np.zeros(0, np.bool_ if pa.types.is_boolean(column.type) else _DTYPES[column.type])
            return np.concatenate([nothing, *(values_of(chunk) for chunk in column.chunks)])
        column = column.chunk(0)
    if column.null_count:
        message = f"{column.null_count} nulls in a column of {column.type}"
        raise ValueError(message)
    _, buffer = column.buffers()
    start, rows = column.offset, len(column)
    if pa.types.is_boolean(column.type):
        packed = np.frombuffer(buffer, np.uint8) if rows else np.zeros(0, np.uint8)
        return np.unpackbits(packed, count=start + rows, bitorder="little")[start:].view(np.bool_)
    dtype = _DTYPES[column.type]
    values = np.frombuffer(buffer, dtype, rows, start * dtype.itemsize) if rows else np.zeros(0, dtype)
    values.flags.writeable = False
    return values


def batch_of(columns: Columns) -> pa.RecordBatch:
    """A batch of arrays of either kind."""
    return pa.RecordBatch.from_arrays([*map(_column, columns.values())], names=list(columns))


def table_of(columns: Columns, schema: pa.Schema | None = None) -> pa.Table:
    """A table of arrays of either kind."""
    return pa.table({name: _column(values) for name, values in columns.items()}, schema)


def empty_table(schema: pa.Schema) -> pa.Table:
    """No rows."""
    return pa.Table.from_batches([], schema)


def _column(values: Array | pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return column_of(values) if isinstance(values, np.ndarray) else values
