"""SSTD's cost model: expected objects visited in a partition by a random query of six types (section 4.1.1).

Notes
-----
Equation 1 prints ``p.r`` where the region of the query is meant. |O| counts the objects of the history, while the
expected arrivals of continuous queries are a rate times a lifetime: the two are of one scale only if the rate is taken
over the history's span, which :class:`~sightline.partition.statistics.distribution.Statistics` does. Children of a
textual split share the parent's cell, so they share its rate in proportion to their objects (ours: otherwise each would
be charged for all arrivals, and textual splits would always lose).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, frozen
from sightline.partition.cost._kernels import (
    CKQ,
    CRQ,
    CTQ,
    SKQ,
    SRQ,
    STQ,
    CostModel,
    covered,
    workload,
    workloads,
)

__all__ = [
    "CKQ", "CRQ", "CTQ", "SKQ", "SRQ", "STQ", "CostModel", "cost_model", "covered", "partition_workloads", "workload",
]  # fmt: skip


def cost_model(
    types: npt.ArrayLike, srq_lengths: npt.ArrayLike, skq_lengths: npt.ArrayLike, lifetimes: npt.ArrayLike
) -> CostModel:
    """A :class:`CostModel` as kernels take it."""
    return CostModel(*(frozen(v, np.float64) for v in (types, srq_lengths, skq_lengths, lifetimes)))


def partition_workloads(
    model: CostModel, p: npt.ArrayLike, objects: npt.ArrayLike, rates: npt.ArrayLike, h_srq: npt.ArrayLike,
    h_skq: npt.ArrayLike,
) -> F64:  # fmt: skip
    """Equation 2 of n partitions: ``p`` is [n, 6], the others [n]."""
    return workloads(model, *(frozen(v, np.float64) for v in (p, objects, rates, h_srq, h_skq)))
