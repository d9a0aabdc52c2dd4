"""DkM-SKS's costs of subscriptions: by keywords, by space, by both (Equations 1-7).

Costs are expected numbers of matches among the objects of O_init: the paper's, times |O_init|. That leaves every
comparison as it is, and keeps sums of counts whole numbers and ties exact. Equations 1 and 5 add up keywords that may
come together, so a cost can exceed |O_init|.

Deviations (ours), by the equations' own assumption that keywords are independent: the paper has OR only; a
conjunction multiplies the shares of its keywords, a negated keyword 1 - share, and no keyword is matched by all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, frozen
from sightline.partition.cost import _kernels
from sightline.partition.cost._kernels import QueryWords

__all__ = ["QueryWords", "most_overlapping", "space_costs", "subscription_costs", "subset_cost"]


def subscription_costs(words: QueryWords, rows: I64, counts: npt.ArrayLike, objects: int) -> F64:
    """Equation 1, and Equations 4-5 for a rectangle R: C(s) = sum of P(R, lambda) over the keywords of s.

    ``objects`` is |O_R| and ``counts[t]`` is |O_{R, t}|, of all objects for Equation 1. Only the counts of terms that
    the subscriptions ``rows`` have are read.
    """
    return _kernels.subscription_costs(words, frozen(rows, np.int64), frozen(counts, np.int64), objects)


def space_costs(within: int, subscriptions: int) -> F64:
    """Equation 2 for each subscription of a set: P(R), the objects ``within`` its rectangle."""
    return np.full(subscriptions, float(within))


def subset_cost(costs: npt.ArrayLike) -> float:
    """Equations 3 and 6: C(S_r), the sum of its subscriptions' costs (P(R) |S_r| where all cost P(R))."""
    return float(np.sum(np.asarray(costs, np.float64)))


def most_overlapping(rectangles: npt.ArrayLike, boxes: npt.ArrayLike) -> I32:
    """Equation 7: for each new subscription's box R_n, the subset whose rectangle R shares most area with it.

    Ours: of equal areas (a ball of radius 0 has none) a rectangle that touches the box wins, then the lower number;
    at least one rectangle is given.
    """
    return _kernels.most_overlapping(
        frozen(np.reshape(rectangles, (-1, 4)), np.float64), frozen(np.reshape(boxes, (-1, 4)), np.float64)
    )
