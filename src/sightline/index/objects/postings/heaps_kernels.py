"""Heaps and lists of a nearest search: cells that wait, the k smallest values, rows in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I64
from sightline.jit import kernel


@kernel
def heap_push(order: F64, nodes: I64, size: int, bound: float, node: int) -> None:
    """Put a node into the min-heap of ``size`` nodes."""
    i = size
    while i > 0 and order[(i - 1) >> 1] > bound:
        order[i], nodes[i] = order[(i - 1) >> 1], nodes[(i - 1) >> 1]
        i = (i - 1) >> 1
    order[i], nodes[i] = bound, node


@kernel
def heap_pop(order: F64, nodes: I64, size: int) -> None:
    """Take the first of ``size`` nodes out of the min-heap."""
    bound, node = order[size - 1], nodes[size - 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and order[child + 1] < order[child]:
            child += 1
        if order[child] >= bound:
            break
        order[i], nodes[i] = order[child], nodes[child]
        i = child
    order[i], nodes[i] = bound, node


@kernel
def with_more_room(pool: I64, order: F64, heap: I64) -> tuple[I64, F64, I64]:
    """Twice the pool, and as much of a heap."""
    size = pool.shape[0]
    more_pool = np.empty((2 * size, pool.shape[1]), np.int64)
    more_order, more_heap = np.empty(2 * size, np.float64), np.empty(2 * size, np.int64)
    more_pool[:size], more_order[:size], more_heap[:size] = pool, order, heap
    return more_pool, more_order, more_heap


@kernel
def keep_smallest(best: npt.NDArray[Any], size: int, value: float) -> int:
    """Add a value to the max-heap of the smallest ones; returns its size."""
    if size < best.shape[0]:
        i = size
        while i > 0 and best[(i - 1) >> 1] < value:
            best[i] = best[(i - 1) >> 1]
            i = (i - 1) >> 1
        best[i] = value
        return size + 1
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and best[child + 1] > best[child]:
            child += 1
        if best[child] <= value:
            break
        best[i] = best[child]
        i = child
    best[i] = value
    return size


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
