"""DkM-SKS's costs of subscriptions: by keywords, by space, by both (Equations 1-7).

Subscriptions have their keywords as lists of term numbers; ``offsets`` and ``terms`` hold those of all. Objects are
those of O_init. Costs are expected numbers of matches per new object: Equations 1 and 5 add probabilities of
keywords that may come together, so they can exceed 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.index.arrays import F64, I32, I64, frozen
from sightline.partition.cost import _kernels

__all__ = [
    "keyword_costs", "most_overlapping", "objects_within", "region_probability", "subscription_costs", "subset_cost",
    "subset_cost_by_space", "term_counts", "terms_within",
]  # fmt: skip


def term_counts(ids: npt.ArrayLike, terms: int) -> I64:
    """|O_lambda| of every term, from the term lists of the objects (a term occurs once in a list)."""
    return np.bincount(np.asarray(ids), minlength=terms)


def keyword_costs(offsets: npt.ArrayLike, terms: npt.ArrayLike, counts: npt.ArrayLike, objects: int) -> F64:
    """Equation 1: C(s) = sum of P(lambda), with P(lambda) = |O_lambda| / |O_init|; 0 without objects."""
    asked = np.asarray(terms)
    return _sums(offsets, _shares(np.asarray(counts, np.float64)[asked], objects))


def objects_within(lon: F64, lat: F64, boxes: npt.ArrayLike) -> I64:
    """|O_R| of closed rectangles, by looking at every object."""
    return _kernels.count_within(
        frozen(lon, np.float64), frozen(lat, np.float64), frozen(np.reshape(boxes, (-1, 4)), np.float64)
    )


def region_probability(within: npt.ArrayLike, objects: int) -> F64:
    """Equation 2: P(R) = |O_R| / |O_init|, also the cost of a single new subscription by space."""
    return _shares(np.asarray(within, np.float64), objects)


def subset_cost_by_space(within: npt.ArrayLike, subscriptions: npt.ArrayLike, objects: int) -> F64:
    """Equation 3: C(S_r) = P(R) |S_r|."""
    return np.asarray(region_probability(within, objects) * np.asarray(subscriptions, np.float64))


def terms_within(lon: F64, lat: F64, offsets: I64, ids: I32, rectangle: npt.ArrayLike, terms: int) -> I64:
    """|O_{R, lambda}| of every term, for one closed rectangle; ``offsets`` and ``ids`` are the objects' terms."""
    return _kernels.count_terms_within(
        frozen(lon, np.float64), frozen(lat, np.float64), frozen(offsets, np.int64), frozen(ids, np.int32),
        frozen(rectangle, np.float64), terms,
    )  # fmt: skip


def subscription_costs(offsets: npt.ArrayLike, terms: npt.ArrayLike, within: npt.ArrayLike, objects: int) -> F64:
    """Equations 4-5: C(s) = sum of P(R, lambda), with P(R, lambda) = |O_{R, lambda}| / |O_init|."""
    return keyword_costs(offsets, terms, within, objects)


def subset_cost(costs: npt.ArrayLike) -> float:
    """Equation 6: C(S_r), the sum of its subscriptions' costs."""
    return float(np.sum(np.asarray(costs, np.float64)))


def most_overlapping(rectangles: npt.ArrayLike, boxes: npt.ArrayLike) -> I32:
    """Equation 7: for each new subscription's box R_n, the subset whose rectangle R shares most area with it.

    Ours: of equal areas (a ball of radius 0 has none) a rectangle that touches the box wins, then the lower number;
    at least one rectangle is given.
    """
    return _kernels.most_overlapping(
        frozen(np.reshape(rectangles, (-1, 4)), np.float64), frozen(np.reshape(boxes, (-1, 4)), np.float64)
    )


def _shares(counts: F64, objects: int) -> F64:
    return counts / objects if objects > 0 else np.zeros_like(counts)


def _sums(offsets: npt.ArrayLike, values: F64) -> F64:
    """Sum of each run of a list of lists, empty ones included."""
    ends = np.asarray(offsets, np.int64)
    row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return np.bincount(row, values, minlength=len(ends) - 1).astype(np.float64)
