"""DkM-SKS: subscriptions divided by place and keywords, close ones spread over the workers (DkM-SKS section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.partition.allocate import in_turn
from sightline.partition.cost.dkm_sks import most_overlapping
from sightline.partition.subsets.division import HYBRID, SPATIAL, DivisionPlan
from sightline.partition.subsets.routing import SubsetRouting
from sightline.partition.subsets.splitting import Subset, enclosed, hybrid_parts, planned, quarters, split_until
from sightline.partition.subsets.subscriptions import SubscriptionCosts, Subscriptions, weights

__all__ = ["DkmSksParams", "DkmSksRouting", "assigned_apart", "hybrid_subsets"]


@dataclass(frozen=True, slots=True)
class DkmSksParams:
    """Parameters of Alg. 2.

    Section 5.1 prints gamma1 = 100,000 and gamma2 = 20, which would ask for two million subsets and use
    HYBRID-PARTITION on nothing large: we read the two as exchanged.
    """

    gamma1: int = 20  # subsets per worker
    gamma2: int = 100_000  # subscriptions above which only space is tried


class DkmSksRouting(SubsetRouting):
    """Alg. 2 with Eq. 4-6, Alg. 3, and Eq. 7 for new subscriptions."""

    @staticmethod
    def plan(subscriptions: Subscriptions, rows: I64, workers: int) -> DivisionPlan:
        return assigned_apart(hybrid_subsets(subscriptions, rows, workers), rows, workers)

    def new_costs(self, subscriptions: Subscriptions) -> F64:
        """Eq. 5 with R* of the subset whose rectangle overlaps the subscription's own the most.

        Ours: ties go to the more costly subset; if there are no subsets, the rectangle is the subscription's own
        and the cost that of Eq. 2, P(R).
        """
        boxes, rectangles = subscriptions.rectangles(), self.division.subset_boxes()
        if len(rectangles) == 0:
            return self.sample.counts_in(boxes).astype(np.float64)
        best = most_overlapping(rectangles, boxes)
        order = np.argsort(best, kind="stable")
        bounds = np.searchsorted(best[order], np.arange(len(rectangles) + 1))
        costs, out = SubscriptionCosts(subscriptions), np.empty(len(subscriptions))
        for subset in np.flatnonzero(np.diff(bounds)):
            own = order[bounds[subset] : bounds[subset + 1]]
            out[own] = costs.within(own, rectangles[subset])
        return out


def hybrid_subsets(
    subscriptions: Subscriptions, rows: I64, workers: int, params: DkmSksParams | None = None
) -> list[Subset]:
    """Alg. 2: split the subset with the largest C(S_r) by space, or by cost where that leaves less in total.

    Deviations (ours): empty sets are dropped; a single subscription, and above gamma2 a set at one point, is final.
    HYBRID-PARTITION leaves r as it is and gives its children their own R.
    """
    params = params or DkmSksParams()
    boxes, costs = subscriptions.rectangles(), SubscriptionCosts(subscriptions)

    def made(own: I64, space: tuple[float, float, float, float], kind: int) -> Subset:
        box = enclosed(boxes, own)
        return Subset(own, space, box, costs.within(own, box), kind)

    def split(front: Subset) -> list[Subset]:
        if len(front.rows) < 2:
            return []
        by_space = [made(own, r, SPATIAL) for own, r in quarters(front.rows, subscriptions.at, front.space)]
        if len(front.rows) > params.gamma2:
            return by_space
        by_cost = [made(own, front.space, HYBRID) for own in hybrid_parts(front.rows, front.costs)]
        less = sum(child.total for child in by_space) < sum(child.total for child in by_cost)  # C_s < C_h
        return by_space if by_space and less else by_cost

    return split_until(made(rows, subscriptions.space.bounds, SPATIAL), params.gamma1 * workers, split)


def assigned_apart(subsets: Sequence[Subset], rows: I64, workers: int) -> DivisionPlan:
    """Alg. 3: subsets in descending order of cost, in each the subscriptions likewise, each to the least loaded.

    So those of one subset, which a new object may change together, are spread.
    """
    totals = np.array([subset.total for subset in subsets])
    rank = np.empty(len(subsets), np.int64)
    rank[np.lexsort((np.arange(len(subsets)), -totals))] = np.arange(len(subsets))
    costs = np.concatenate([subset.costs for subset in subsets])
    turn = np.repeat(rank, [len(subset.rows) for subset in subsets])
    order = np.lexsort((np.arange(len(costs)), -costs, turn))
    return planned(subsets, rows, order, in_turn(weights(costs)[order], np.zeros(workers)))
