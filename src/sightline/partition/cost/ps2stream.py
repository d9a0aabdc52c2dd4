"""PS2Stream's loads: of a worker, of a division, of a cell (Definitions 1-3).

Notes
-----
Definition 1 multiplies the objects with the queries *inserted* in the period, so that a worker full of old queries
would cost nothing; the queries it stores are meant, as Definition 3 has it. The four constants are never given: ours
are of the right order only (handling an object or a request is some ten checks), because as soon as a worker stores
more than a few queries the product outweighs the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightline.index.arrays import F64

__all__ = [
    "LoadCosts",
    "balance_factor",
    "cell_loads",
    "is_balanced",
    "stored_on_average",
    "total_load",
    "worker_loads",
]


@dataclass(frozen=True)
class LoadCosts:
    """The average costs of Definition 1, in units of one check (ours, the paper gives none)."""

    check: float = 1.0  # c1, an object against a query
    object: float = 10.0  # c2, handling an object
    insertion: float = 10.0  # c3
    deletion: float = 5.0  # c4; deletion is lazy


def worker_loads(
    objects: npt.ArrayLike, stored: npt.ArrayLike, inserted: npt.ArrayLike = 0.0, deleted: npt.ArrayLike = 0.0,
    costs: LoadCosts | None = None,
) -> F64:  # fmt: skip
    """Definition 1: c1 |O_i| |Q_i| + c2 |O_i| + c3 |Q_i^i| + c4 |Q_i^d|, with the stored queries in the product."""
    c = costs or LoadCosts()
    o, q, i, d = (np.asarray(v, np.float64) for v in (objects, stored, inserted, deleted))
    return np.asarray(c.check * o * q + c.object * o + c.insertion * i + c.deletion * d)


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


def cell_loads(objects: npt.ArrayLike, stored: npt.ArrayLike) -> F64:
    """Definition 3: L_g = n_o n_q, objects of the period times the queries stored on average."""
    return np.asarray(np.asarray(objects, np.float64) * np.asarray(stored, np.float64))


def stored_on_average(before: npt.ArrayLike, after: npt.ArrayLike) -> F64:
    """n_q of Definition 3 from the numbers stored at both ends of the period (ours: requests come evenly)."""
    return np.asarray((np.asarray(before, np.float64) + np.asarray(after, np.float64)) / 2.0)
