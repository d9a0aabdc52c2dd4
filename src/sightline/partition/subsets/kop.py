"""KOP: subscriptions divided by how frequent their keywords are (DkM-SKS section 3.1)."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.partition.allocate import longest_first
from sightline.partition.subsets.division import KEYWORD, DivisionPlan
from sightline.partition.subsets.routing import SubsetRouting
from sightline.partition.subsets.subscriptions import SubscriptionCosts, Subscriptions, weights

__all__ = ["KopRouting", "keyword_costs"]

_EVERYWHERE = np.array([-np.inf, -np.inf, np.inf, np.inf])


class KopRouting(SubsetRouting):
    """Keyword-oriented partition: Eq. 1 and Alg. 1, for the fit and for new subscriptions. It has no parameters.

    A subset is what a worker has; its rectangle encloses regions, because KOP knows no balls.
    """

    @staticmethod
    def plan(subscriptions: Subscriptions, rows: I64, workers: int) -> DivisionPlan:
        """Alg. 1 over single subscriptions."""
        weight = weights(keyword_costs(subscriptions)[rows])
        worker = longest_first(weight, workers)
        regions = subscriptions.regions()[rows]
        box = np.zeros((workers, 4))
        for w in np.flatnonzero(np.bincount(worker, minlength=workers)):
            own = regions[worker == w]
            box[w] = [*own[:, :2].min(axis=0), *own[:, 2:].max(axis=0)]
        return DivisionPlan(worker, worker, weight, box, np.full(workers, KEYWORD, np.uint8))

    def new_costs(self, subscriptions: Subscriptions) -> F64:
        return keyword_costs(subscriptions)


def keyword_costs(subscriptions: Subscriptions) -> F64:
    """C(s) of Eq. 1; ours: a range query multiplies it with the share of the objects that are in its region."""
    everything = SubscriptionCosts(subscriptions).within(np.arange(len(subscriptions)), _EVERYWHERE)
    held, total = subscriptions.objects_in_region(), len(subscriptions.sample)
    return np.where(held == total, everything, everything * (held / total))
