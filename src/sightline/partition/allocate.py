"""Leaves to workers."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt


def longest_first(loads: npt.NDArray[np.float64], workers: int) -> npt.NDArray[np.int32]:
    """Deal leaves to workers, heaviest first, each to the least loaded worker (LPT greedy).

    Makespan at most 4/3 - 1/(3m) of the optimum. Ties go to the worker with fewer leaves, then the lower number, so
    that leaves without load are spread evenly and the result is deterministic.
    """
    order = np.lexsort((np.arange(len(loads)), -loads))
    heap = [(0.0, 0, worker) for worker in range(workers)]
    assigned = np.zeros(len(loads), np.int32)
    for leaf in order:
        load, leaves, worker = heapq.heappop(heap)
        assigned[leaf] = worker
        heapq.heappush(heap, (load + float(loads[leaf]), leaves + 1, worker))
    return assigned
