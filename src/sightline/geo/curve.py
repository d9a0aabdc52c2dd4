"""Morton curve: nearby points get nearby keys, and a cell of the quadtree is one range of keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import frozen
from sightline.geo import _kernels
from sightline.geo._kernels import CURVE_BITS, curve_key, gather, quantise_one, spread
from sightline.geo.distance import point_arrays

__all__ = ["CURVE_BITS", "curve_key", "curve_keys", "gather", "quantise", "quantise_one", "spread"]


def curve_keys(lons: npt.ArrayLike, lats: npt.ArrayLike, bounds: Sequence[float]) -> npt.NDArray[np.int64]:
    """Keys of points: 31 bits of longitude (even bits) and of latitude (odd bits), from 0 to 2**62 - 1.

    Monotone in each coordinate, so a box of points lies within the keys of its two corners. Points beyond
    ``bounds`` (west, south, east, north) get the key of the nearest cell.
    """
    xs, ys = point_arrays(lons, lats)
    west, south, east, north = (float(v) for v in bounds)
    out = np.empty(xs.size, np.int64)  # by NumPy, which asks for huge pages: to touch them takes a sixth of the time
    _kernels.curve_keys(xs, ys, west, south, east, north, out)
    return out


def quantise(values: npt.ArrayLike, low: float, high: float) -> npt.NDArray[np.int64]:
    """Cells of values among ``2**CURVE_BITS`` of ``[low, high]``; monotone and clamped."""
    flat = frozen(np.ascontiguousarray(values, np.float64).reshape(-1))
    return _kernels.quantise(flat, float(low), float(high))
