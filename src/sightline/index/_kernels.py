"""What kernels over standing queries and over objects share: the form of conjuncts, counts of terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64
from sightline.jit import kernel


class Conjuncts(NamedTuple):
    """Conjuncts of one or many queries: the positive and the negative term ids of each."""

    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32


@kernel
def count_terms(offsets: I32 | I64, ids: I32, rows: I64, terms: int) -> I64:
    """Rows of ``rows`` per term."""
    counts = np.zeros(terms, np.int64)
    for row in rows:
        for j in range(offsets[row], offsets[row + 1]):
            counts[ids[j]] += 1
    return counts
