"""Room and lists of a nearest search: cells that wait, rows in order."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.jit import kernel


@kernel
def with_more_room(pool: I64, order: F64, heap: I64) -> tuple[I64, F64, I64]:
    """Twice the pool, and as much of a heap."""
    size = pool.shape[0]
    more_pool = np.empty((2 * size, pool.shape[1]), np.int64)
    more_order, more_heap = np.empty(2 * size, np.float64), np.empty(2 * size, np.int64)
    more_pool[:size], more_order[:size], more_heap[:size] = pool, order, heap
    return more_pool, more_order, more_heap


@kernel
def compact(rows: I64, squares: F64, n: int, most: float) -> int:
    """Drop what lies beyond ``most``; returns how many stay."""
    m = 0
    for i in range(n):
        if squares[i] <= most:
            rows[m], squares[m] = rows[i], squares[i]
            m += 1
    return m


@kernel
def put_in_order(answer: I64, room: int, n: int, row: np.int64, mm: np.int64) -> None:
    """Put a row and its distance, ``room`` behind it, to the n that are in order by distance, then row."""
    i = n
    while i > 0 and (answer[room + i - 1] > mm or (answer[room + i - 1] == mm and answer[i - 1] > row)):
        answer[i], answer[room + i] = answer[i - 1], answer[room + i - 1]
        i -= 1
    answer[i], answer[room + i] = row, mm
