"""Which rows of a column are valid UTF-8. Spark strings may reach Arrow as anything."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.text.arrow_rows import byte_rows
from sightline.text.utf8_kernels import mark_utf8


def valid_utf8(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """True where a row (string or binary, no nulls) decodes; the empty row does."""
    data, offsets = byte_rows(column)
    out = np.zeros(offsets.size - 1, np.bool_)
    mark_utf8(data, offsets, out)
    return out
