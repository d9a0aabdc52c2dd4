"""Kernels that put term lists in another order, and invert them: what building any object index starts with."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import I32, I64, U16
from sightline.jit import kernel

BATCH = 128  # rows whose counts are fetched together
ONE = np.uint64(1)


@kernel
def gather_lists(order: I64, offsets: I64, ids: I32) -> tuple[I64, I32]:
    """The term lists of rows ``order``, in that order."""
    n = order.shape[0]
    new_offsets = np.empty(n + 1, np.int64)
    new_offsets[0] = 0
    for i in range(n):
        r = order[i]
        new_offsets[i + 1] = new_offsets[i] + offsets[r + 1] - offsets[r]
    new_ids = np.empty(new_offsets[n], np.int32)
    for i in range(n):
        source = offsets[order[i]]
        for j in range(new_offsets[i], new_offsets[i + 1]):
            new_ids[j] = ids[source]
            source += 1
    return new_offsets, new_ids


@kernel
def gather_counts(order: I64, offsets: I64, counts: U16, out: U16) -> int:
    """The counts beside the lists of :func:`gather_lists`.

    A batch of rows at a time, each step a loop of independent reads, of which the second brings the lists into the
    cache. Returns what it saw, for else the compiler would leave it out.
    """
    n, last = order.shape[0], counts.shape[0] - 1
    begin, end = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
    to, seen = 0, 0
    for first in range(0, n, BATCH):
        rows = min(BATCH, n - first)
        for i in range(rows):
            row = np.uint64(order[first + i])
            begin[i], end[i] = np.uint64(offsets[row]), np.uint64(offsets[row + ONE])
        if last >= 0:
            for i in range(rows):
                seen |= int(counts[min(begin[i], np.uint64(last))])
        for i in range(rows):
            for j in range(begin[i], end[i]):
                out[to] = counts[j]
                to += 1
    return seen


@kernel
def invert(offsets: I64, ids: I32, terms: int) -> tuple[I64, I32]:
    """Postings: for every term the ascending rows that have it."""
    starts = np.zeros(terms + 1, np.int64)
    for j in range(ids.shape[0]):
        starts[ids[j] + 1] += 1
    for t in range(terms):
        starts[t + 1] += starts[t]
    cursor = starts[:-1].copy()
    postings = np.empty(ids.shape[0], np.int32)
    for i in range(offsets.shape[0] - 1):
        for j in range(offsets[i], offsets[i + 1]):
            t = ids[j]
            postings[cursor[t]] = i
            cursor[t] += 1
    return starts, postings
