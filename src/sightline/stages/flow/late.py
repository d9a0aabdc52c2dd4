"""Pairs (subscription, object) that came too late, each counted once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.columns import table_of, values_of
from sightline.stages.exchange.job import Job

Count = Callable[[str, int], None]
Ints = npt.NDArray[np.int64]


@dataclass
class LatePairs:
    """Late pairs of one worker: counted at once, or kept for the merge where several workers may find the same."""

    job: Job
    count: Count
    _num: list[Ints] = field(default_factory=list)
    _row: list[Ints] = field(default_factory=list)

    def add(self, num: Ints, row: Ints) -> None:
        """Take in pairs by subscription number and row identity."""
        if not self.job.merge_matches:
            self.count("late", len(num))
        elif len(num):
            self._num.append(num)
            self._row.append(row)

    def table(self) -> pa.Table | None:
        """What the merge has to count: num, row."""
        if not self._num:
            return None
        return table_of({"num": np.concatenate(self._num), "row": np.concatenate(self._row)})


def distinct_pairs(pairs: pa.Table) -> int:
    """Number of different (num, row)."""
    num, row = values_of(pairs["num"]), values_of(pairs["row"])
    order = np.lexsort((row, num))
    num, row = num[order], row[order]
    return int(((num[1:] != num[:-1]) | (row[1:] != row[:-1])).sum()) + (1 if len(num) else 0)
