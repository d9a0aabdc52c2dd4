"""A partitioner that finds every pair on every worker: what the merge stage's removal of repeats is tested with."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sightline.partition.broadcast import BroadcastRouting
from sightline.partition.protocol import QueryRoutes


class EverywhereRouting(BroadcastRouting):
    """Objects and queries on all workers."""

    duplicates: ClassVar[bool] = True

    def route_queries(self, block):
        worker, query = np.divmod(np.arange(self.workers * len(block)), max(len(block), 1))
        return QueryRoutes(query.astype(np.int32), worker.astype(np.int32))
