"""Collecting pairs: each once, in arrays that grow, then by worker."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import I32, I64
from sightline.jit import kernel


@kernel
def with_room(first: I32, second: I32, pairs: int, more: int) -> tuple[I32, I32]:
    """The two arrays, or larger ones with the same pairs, so that ``more`` pairs fit."""
    if pairs + more <= len(first):
        return first, second
    size = max(2 * len(first), pairs + more)
    larger_first, larger_second = np.empty(size, np.int32), np.empty(size, np.int32)
    larger_first[:pairs], larger_second[:pairs] = first[:pairs], second[:pairs]
    return larger_first, larger_second


@kernel
def add_once(row: int, target: int, seen: I64, rows: I32, targets: I32, pairs: int) -> int:
    """Add a pair unless it was; the number of pairs afterwards. ``seen[target]`` is the latest row it was added for."""
    if seen[target] == row:
        return pairs
    seen[target] = row
    rows[pairs], targets[pairs] = row, target
    return pairs + 1


@kernel
def by_worker(rows: I32, workers_of: I32, pairs: int, workers: int) -> tuple[I32, I32]:
    """The pairs sorted by worker; those of one worker stay in their order."""
    start = np.zeros(workers + 1, np.int64)
    for p in range(pairs):
        start[workers_of[p] + 1] += 1
    for w in range(workers):
        start[w + 1] += start[w]
    row, worker = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    for p in range(pairs):
        at = start[workers_of[p]]
        start[workers_of[p]] += 1
        row[at], worker[at] = rows[p], workers_of[p]
    return row, worker
