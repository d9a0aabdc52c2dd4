"""PS2Stream's loads: of a worker and of a division (Definitions 1 and 2).

Notes
-----
Definition 1 multiplies the objects with the queries *inserted* in the period, so that a worker full of old queries
would cost nothing; the queries it stores are meant (a query costs as long as it stands). The paper gives no constants:
:class:`LoadCosts` are ours. Definition 3, the load of a cell, belongs to the adjustment of loads and is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, frozen
from sightline.partition.cost import _kernels

__all__ = ["LoadCosts", "balance_factor", "is_balanced", "steady_loads", "total_load", "worker_loads"]


@dataclass(frozen=True, slots=True)
class LoadCosts:
    """The average costs of Definition 1, in units of one object handled.

    Ours: on our kernels a million stored queries about double the time of an object, an insertion takes about as long
    as an object, and a lazy deletion is a mark.
    """

    check: float = 1e-6  # c1, an object against a query
    object: float = 1.0  # c2, handling an object
    insertion: float = 1.0  # c3
    deletion: float = 0.1  # c4

    @property
    def weights(self) -> F64:
        """What kernels take: c1, c2, c3, c4."""
        return frozen([self.check, self.object, self.insertion, self.deletion], np.float64)


def worker_loads(
    objects: npt.ArrayLike, stored: npt.ArrayLike, inserted: npt.ArrayLike, deleted: npt.ArrayLike, costs: LoadCosts
) -> F64:
    """Definition 1: c1 |O_i| |Q_i| + c2 |O_i| + c3 |Q_i^i| + c4 |Q_i^d|, with the stored queries in the product."""
    counts = np.broadcast_arrays(*np.atleast_1d(objects, stored, inserted, deleted))
    return _kernels.worker_loads(costs.weights, *(frozen(count, np.float64) for count in counts))


def steady_loads(objects: npt.ArrayLike, queries: npt.ArrayLike, costs: LoadCosts) -> F64:
    """Definition 1 where every stored query is inserted once and deleted once.

    So it is in a stream whose queries come and go at one rate (section VI-A).
    """
    return worker_loads(objects, queries, queries, queries, costs)


def total_load(loads: npt.ArrayLike) -> float:
    """The objective of Definition 2: the sum of the workers' loads."""
    return float(np.sum(np.asarray(loads, np.float64)))


def balance_factor(loads: npt.ArrayLike) -> float:
    """L_max / L_min of Definition 2; 1 if nobody has a load, infinite if only some have none."""
    values = np.asarray(loads, np.float64)
    if values.size == 0 or values.max() <= 0:
        return 1.0
    least = float(values.min())
    return float(values.max()) / least if least > 0 else float("inf")


def is_balanced(loads: npt.ArrayLike, sigma: float) -> bool:
    """The constraint of Definition 2: L_i / L_j <= sigma for every pair."""
    return balance_factor(loads) <= sigma
