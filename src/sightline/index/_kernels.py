"""Kernels that count terms: of some rows, or of groups of rows."""

from __future__ import annotations

import numpy as np

from sightline.index.arrays import I32, I64
from sightline.jit import kernel


@kernel
def count_terms(offsets: I64, ids: I32, rows: I64, terms: int) -> I64:
    """Rows of ``rows`` per term."""
    counts = np.zeros(terms, np.int64)
    for row in rows:
        for j in range(offsets[row], offsets[row + 1]):
            counts[ids[j]] += 1
    return counts


@kernel
def count_groups(starts: I64, objects: I32, offsets: I64,
                 ids: I32, first: int, counter: I64,
                 out_group: I32, out_term: I32,
                 out_count: I64) -> tuple[int, int]:
    """Objects per (group, term); group g holds the pairs ``starts[g]:starts[g + 1]``: (group to resume at, rows)."""
    n, room = 0, out_term.shape[0]
    for g in range(first, starts.shape[0] - 1):
        before = n
        for p in range(starts[g], starts[g + 1]):
            for j in range(offsets[objects[p]], offsets[objects[p] + 1]):
                t = ids[j]
                counter[t] += 1
                if counter[t] == 1:
                    if n < room:
                        out_group[n] = g
                        out_term[n] = t
                    n += 1
        full = n > room
        if not full:
            for r in range(before, n):
                out_count[r] = counter[out_term[r]]
        for p in range(starts[g], starts[g + 1]):
            for j in range(offsets[objects[p]], offsets[objects[p] + 1]):
                counter[ids[j]] = 0
        if full:
            return g, before
    return starts.shape[0] - 1, n
