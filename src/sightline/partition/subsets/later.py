"""Subscriptions that came and went since the fit: what the main server of DkM-SKS remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sightline.flat.arrays import F64, I32, I64, Flag

__all__ = ["Later"]


@dataclass(frozen=True, eq=False)
class Later:
    """Numbers, ascending, with the worker and the cost of each; and which of those of the fit are gone, ascending."""

    num: I64
    worker: I32
    cost: F64
    gone: I64

    @classmethod
    def nothing(cls) -> Self:
        """As it is at the fit."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64))

    def without(self, dropped: I64) -> Self:
        """After some numbers were dropped."""
        kept: Flag = ~np.isin(self.num, dropped)
        return type(self)(self.num[kept], self.worker[kept], self.cost[kept], np.union1d(self.gone, dropped))

    def with_new(self, num: I64, worker: I32, cost: F64) -> Self:
        """After some numbers, none of them known, got their workers."""
        nums = np.concatenate([self.num, num])
        order = np.argsort(nums)
        workers, costs = np.concatenate([self.worker, worker]), np.concatenate([self.cost, cost])
        return type(self)(nums[order], workers[order], costs[order], self.gone)

    def loads(self, workers: int) -> F64:
        """What they add to C(w)."""
        return np.bincount(self.worker, self.cost, minlength=workers).astype(np.float64)
