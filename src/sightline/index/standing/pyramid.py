"""The spatial pyramid that `delta` and `fast` keep their queries in: grids of 1, 4, 16, ... cells over one space."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, frozen
from sightline.index.standing.pyramid_kernels import FINEST
from sightline.model.space import Space

__all__ = ["pyramid_grid"]


def pyramid_grid(space: Space) -> F64:
    """Origin, and finest cells per unit of x and of y."""
    west, south, east, north = space.bounds
    side = float(1 << FINEST)
    return frozen(np.array([west, south, side / (east - west), side / (north - south)]), np.float64)
