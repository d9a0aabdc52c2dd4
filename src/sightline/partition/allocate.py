"""Leaves to workers: heuristics for dividing loads evenly (the problem is NP-complete)."""

from __future__ import annotations

import heapq
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, frozen
from sightline.partition._kernels import deal

__all__ = ["in_turn", "karmarkar_karp", "longest_first"]


def in_turn(loads: F64, begin: npt.ArrayLike, taken: npt.ArrayLike = 0) -> I32:
    """In the given order, each to the worker with the least load, which begins at ``begin``.

    Ties go to the worker that got fewer, here and before (``taken``), then to the lower number.
    """
    before = np.array(begin, np.float64)
    return deal(frozen(loads, np.float64), before, np.array(np.broadcast_to(taken, len(before)), np.int64))


def longest_first(loads: F64, workers: int, begin: npt.ArrayLike = 0.0) -> I32:
    """Deal leaves to workers, heaviest first, each to the least loaded worker (LPT greedy).

    Makespan at most 4/3 - 1/(3m) of the optimum. Ties go to the worker with fewer leaves, then the lower number, so
    that leaves without load are spread evenly and the result is deterministic. Workers may ``begin`` with a load.
    """
    order = np.argsort(-loads, kind="stable")
    assigned = np.empty(len(loads), np.int32)
    assigned[order] = in_turn(loads[order], np.broadcast_to(begin, workers))
    return assigned


#: -load, -number of leaves, -lowest leaf, first and last leaf of its chain. Ascending order is heaviest first; of two
#: equal loads the part with more leaves is the heavier, then the one whose lowest leaf is higher.
_Part: TypeAlias = tuple[float, int, int, int, int]


def karmarkar_karp(loads: F64, workers: int) -> I32:
    """Divide leaves among workers by multi-way differencing (SSTD 4.1.2 and 5.2, after Karmarkar and Karp).

    A *state* is a division of some leaves into at most ``workers`` parts; at first each leaf is one of its own. The
    two states with the largest difference between their heaviest and lightest part are joined, the heaviest part of
    one with the lightest of the other, until one is left. O(n (log n + m log m)).

    Makespan at most 4/3 - 1/(3m) of the optimum, and in practice much nearer than :func:`longest_first`.

    Notes
    -----
    Ours, where the paper leaves it open: of equal differences the state with the lowest leaf goes first; an empty
    part is lighter than one that has only leaves without load, so no worker stays empty while another has two leaves;
    parts are numbered by their lowest leaf.
    """
    after = [-1] * len(loads)
    heap: list[tuple[float, int, list[_Part]]] = []
    for leaf, load in enumerate(loads.tolist()):
        parts = [(-load, -1, -leaf, leaf, leaf)]
        heap.append((_difference(parts, workers), leaf, parts))
    heapq.heapify(heap)
    while len(heap) > 1:
        _, lowest, parts = heapq.heappop(heap)
        _, other, lighter = heapq.heappop(heap)
        joined = _joined(parts, lighter, workers, after)
        heapq.heappush(heap, (_difference(joined, workers), min(lowest, other), joined))
    assigned = np.zeros(len(loads), np.int32)
    final = sorted(heap[0][2], key=lambda part: -part[2]) if heap else []
    for worker, part in enumerate(final):
        leaf = part[3]
        while leaf >= 0:
            assigned[leaf] = worker
            leaf = after[leaf]
    return assigned


def _difference(parts: list[_Part], workers: int) -> float:
    """Lightest minus heaviest part (negative, for a heap of largest differences); missing parts are empty."""
    return parts[0][0] - (parts[-1][0] if len(parts) == workers else 0.0)


def _joined(first: list[_Part], second: list[_Part], workers: int, after: list[int]) -> list[_Part]:
    """The heaviest part of ``second`` with the lightest of ``first``, and so on; chains of leaves are linked."""
    parts = list(first)
    for rank, part in enumerate(second):
        slot = workers - 1 - rank
        if slot >= len(first):
            parts.append(part)
            continue
        own = first[slot]
        after[own[4]] = part[3]
        parts[slot] = (own[0] + part[0], own[1] + part[1], max(own[2], part[2]), own[3], part[4])
    parts.sort()
    return parts
