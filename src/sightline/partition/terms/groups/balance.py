"""How even the loads of workers have to be."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.partition.terms.groups._kernels import Limits

__all__ = ["fair_share", "heaviest_first", "limits_of"]


def fair_share(load: F64, workers: int) -> float:
    """Mean load of a worker, without the terms that exceed it alone: those take a worker each, the rest is shared."""
    rest = float(load.sum())
    for heavy in np.sort(load)[::-1][: workers - 1].tolist():
        if heavy * workers <= rest:
            break
        rest, workers = rest - heavy, workers - 1
    return max(rest, 0.0) / workers


def limits_of(load: F64, workers: int, epsilon: float) -> Limits:
    """Bounds of a worker's load, ``epsilon`` around the fair share: L_i/L_j <= (1 + e)/(1 - e), PS2Stream's sigma."""
    share = fair_share(load, workers)
    return Limits((1.0 + epsilon) * share, (1.0 - epsilon) * share)


def heaviest_first(load: F64) -> I64:
    """Terms by falling load, equal ones by number."""
    return np.argsort(-load, kind="stable").astype(np.int64)
