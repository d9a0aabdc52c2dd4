"""SOP: subscriptions divided by where they are (DkM-SKS section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.partition.allocate import longest_first
from sightline.partition.cost.dkm_sks import space_costs
from sightline.partition.subsets.division import DivisionPlan
from sightline.partition.subsets.routing import SubsetRouting
from sightline.partition.subsets.splitting import Subset, enclosed, planned, quarters, split_until
from sightline.partition.subsets.subscriptions import Subscriptions, weights

__all__ = ["SopParams", "SopRouting", "assigned_whole", "space_subsets"]


@dataclass(frozen=True, slots=True)
class SopParams:
    """Parameters of the space-oriented partition."""

    theta: int = 20  # subspaces per worker, section 5.1


class SopRouting(SubsetRouting):
    """Space-oriented partition: quarters of the space by Eq. 3, whole subsets by Alg. 1; new ones by Eq. 2."""

    @staticmethod
    def plan(subscriptions: Subscriptions, rows: I64, workers: int) -> DivisionPlan:
        subsets = space_subsets(subscriptions, rows, workers)
        return assigned_whole(subsets, rows, workers)

    def new_costs(self, subscriptions: Subscriptions) -> F64:
        """P(R) of the rectangle around the subscription's own ball over O_init, times |O_init|."""
        return self.sample.counts_in(subscriptions.rectangles()).astype(np.float64)


def space_subsets(
    subscriptions: Subscriptions, rows: I64, workers: int, params: SopParams | None = None
) -> list[Subset]:
    """Quarter the subspace with the largest C(S_r) = P(R) |S_r| until there are theta per worker.

    Deviations (ours): empty quarters are not counted, and subscriptions at one point are not divided.
    """
    boxes = subscriptions.rectangles()

    def made(own: I64, space: tuple[float, float, float, float]) -> Subset:
        box = enclosed(boxes, own)
        inside = int(subscriptions.sample.counts_in(box[None, :])[0])
        return Subset(own, space, box, space_costs(inside, len(own)))

    def split(front: Subset) -> list[Subset]:
        return [made(*quarter) for quarter in quarters(front.rows, subscriptions.at, front.space)]

    theta = (params or SopParams()).theta
    return split_until(made(rows, subscriptions.space.bounds), theta * workers, split)


def assigned_whole(subsets: Sequence[Subset], rows: I64, workers: int) -> DivisionPlan:
    """Alg. 1 over subsets."""
    sizes = np.array([len(subset.rows) for subset in subsets])
    totals = np.array([subset.total for subset in subsets])
    worker = longest_first(weights(totals, sizes), workers)
    return planned(subsets, rows, np.arange(len(rows)), np.repeat(worker, sizes))
