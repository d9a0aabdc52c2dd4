"""Arrow string and binary columns as one byte buffer and int64 offsets, without copying the bytes where possible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import frozen

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]


def byte_rows(column: pa.Array | pa.ChunkedArray) -> tuple[U8, I64]:
    """Bytes and offsets (rows + 1, not necessarily from 0) of a column without nulls; both read-only."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            column = column.chunk(0)
        else:
            wide = pa.large_binary() if pa.types.is_binary(column.type) else pa.large_string()
            column = pa.concat_arrays([chunk.cast(wide) for chunk in column.chunks] or [pa.array([], wide)])
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        column = column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
        kind = column.type
    wide_offsets = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not (wide_offsets or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        message = f"expected a string or binary column, not {kind}"
        raise TypeError(message)
    if column.null_count:
        message = f"{column.null_count} null rows in a text column"
        raise ValueError(message)
    _, offset_buffer, data_buffer = column.buffers()
    # Arrow may leave out the offsets of an empty column and the bytes of empty strings.
    if len(column) == 0 or offset_buffer is None:
        offsets = np.zeros(len(column) + 1, np.int64)
    else:
        stored = np.frombuffer(offset_buffer, np.int64 if wide_offsets else np.int32)
        offsets = stored[column.offset : column.offset + len(column) + 1].astype(np.int64, copy=False)
    data = np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return frozen(data), frozen(offsets)
