"""Binary heaps over arrays: keys with a number each, the smallest first; and the k smallest values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I64
from sightline.jit import kernel


@kernel
def heap_push(order: F64 | I64, nodes: I64, size: int, bound: float | np.int64, node: int) -> None:
    """Put a node into the min-heap of ``size`` nodes."""
    i = size
    while i > 0 and order[(i - 1) >> 1] > bound:
        order[i], nodes[i] = order[(i - 1) >> 1], nodes[(i - 1) >> 1]
        i = (i - 1) >> 1
    order[i], nodes[i] = bound, node


@kernel
def heap_pop(order: F64 | I64, nodes: I64, size: int) -> None:
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
def keep_smallest(best: npt.NDArray[Any], size: int, value: float | np.int64) -> int:
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
