"""SSTD's cost model: expected objects visited in a partition by a random query of six types (section 4.1.1).

Notes
-----
Equation 1 prints ``p.r`` where the region of the query is meant. |O| counts the objects of the history, while the
expected arrivals of continuous queries are a rate times a lifetime: the two are of one scale only if the rate is taken
over the history's span, which :class:`~sightline.partition.statistics.Statistics` does. Children of a textual split
share the parent's cell, so they share its rate in proportion to their objects (:func:`shared_rates`, ours: otherwise
each would be charged for all arrivals, and textual splits would always lose).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.index.arrays import F64, frozen
from sightline.partition.cost._kernels import (
    CKQ,
    CRQ,
    CTQ,
    SKQ,
    SRQ,
    STQ,
    CostModel,
    added_mass,
    covered,
    workload,
    workloads,
)

__all__ = [
    "CKQ", "CRQ", "CTQ", "SKQ", "SRQ", "STQ", "CostModel", "added_mass", "cost_model", "covered", "covers_probability",
    "partition_workloads", "shared_rates", "split_similarity", "workload", "workloads_by_type",
]  # fmt: skip


def cost_model(
    types: npt.ArrayLike, srq_lengths: npt.ArrayLike, skq_lengths: npt.ArrayLike, lifetimes: npt.ArrayLike
) -> CostModel:
    """A :class:`CostModel` as kernels take it."""
    return CostModel(*(frozen(v, np.float64) for v in (types, srq_lengths, skq_lengths, lifetimes)))


def covers_probability(h: npt.ArrayLike, lengths: npt.ArrayLike) -> F64:
    """Equation 1 for many lists: ``h[n]`` -> [n]."""
    masses, chances = np.asarray(h, np.float64), np.asarray(lengths, np.float64)
    powers: F64 = masses[..., None] ** np.arange(len(chances))
    return powers @ chances


def partition_workloads(
    model: CostModel, p: npt.ArrayLike, objects: npt.ArrayLike, rates: npt.ArrayLike, h_srq: npt.ArrayLike,
    h_skq: npt.ArrayLike,
) -> F64:  # fmt: skip
    """Equation 2 of n partitions: ``p`` is [n, 6], the others [n]."""
    return workloads(model, *(frozen(v, np.float64) for v in (p, objects, rates, h_srq, h_skq)))


def workloads_by_type(
    model: CostModel, p: npt.ArrayLike, objects: npt.ArrayLike, rates: npt.ArrayLike, h_srq: npt.ArrayLike,
    h_skq: npt.ArrayLike,
) -> F64:  # fmt: skip
    """The six summands of Equation 2 without the probabilities of the types: W_srq, ..., W_ctq as [n, 6]."""
    chances, stored, arriving = (np.asarray(v, np.float64) for v in (p, objects, rates))
    out = np.array(chances)
    out[:, SRQ] *= covers_probability(h_srq, model.srq_lengths)
    out[:, SKQ] *= covers_probability(h_skq, model.skq_lengths)
    out[:, :CRQ] *= stored[:, None]
    out[:, CRQ:] *= arriving[:, None] * model.lifetimes
    return out


def shared_rates(rate: float, objects: npt.ArrayLike) -> F64:
    """E_P of the children of a textual split: the parent's, shared out by object count."""
    counts = np.asarray(objects, np.float64)
    total = counts.sum()
    return rate * counts / total if total > 0 else np.zeros_like(counts)


def split_similarity(parent: npt.ArrayLike, children: npt.ArrayLike) -> float:
    """The measure of Equation 3: mean child over parent probability, from ``parent[6]`` and ``children[4, 6]``.

    The paper calls it a distance; it is a ratio in [1/4, 1] where every query of the parent overlaps a child. Small
    means that queries tell the children apart, so a spatial split pays. Without queries it is 0 (spatial, ours).
    """
    own = float(np.sum(np.asarray(parent, np.float64)))
    below = np.asarray(children, np.float64)
    return float(below.sum()) / (len(below) * own) if own > 0 else 0.0
