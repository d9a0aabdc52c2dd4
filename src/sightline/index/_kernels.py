"""Kernels that count the terms of some rows."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import I32, I64
from sightline.jit import kernel


@kernel
def count_terms(offsets: I32 | I64, ids: I32, rows: I64, terms: int) -> I64:
    """Rows of ``rows`` per term."""
    counts = np.zeros(terms, np.int64)
    for row in rows:
        for j in range(offsets[row], offsets[row + 1]):
            counts[ids[j]] += 1
    return counts
