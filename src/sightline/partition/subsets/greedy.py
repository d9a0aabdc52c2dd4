"""The greedy algorithm by which subscriptions and subsets get their workers (Alg. 1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, frozen
from sightline.partition.subsets._kernels import deal

__all__ = ["in_turn", "longest_first", "weights"]

#: What a subscription weighs at least, in objects of O_init. Greedy dealing would otherwise give everything that
#: O_init never matched to a single worker, because it adds nothing to that worker's load (ours).
UNSEEN = 0.5


def weights(costs: F64, size: npt.ArrayLike = 1) -> F64:
    """What subscriptions, or subsets of so many, weigh when they are dealt."""
    return np.maximum(costs, UNSEEN * np.asarray(size))


def in_turn(costs: F64, loads: F64, taken: npt.ArrayLike = 0) -> I32:
    """Alg. 1 l. 3-5: in the given order, each to the worker with the least C(w), which begins at ``loads``.

    Ties go to the worker that got fewer, here and before (``taken``), then to the lower number.
    """
    before = np.array(np.broadcast_to(taken, len(loads)), np.int64)
    return deal(frozen(costs, np.float64), np.array(loads, np.float64), before)


def longest_first(costs: F64, loads: F64) -> I32:
    """Alg. 1: in descending order of cost (ties by number). The makespan is within 4/3 - 1/(3m) of the least."""
    order = np.lexsort((np.arange(len(costs)), -costs))
    worker = np.empty(len(costs), np.int32)
    worker[order] = in_turn(costs[order], loads)
    return worker
