"""Distances in whole millimetres (thousandths of the unit in a planar space)."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import frozen
from sightline.geo import _kernels
from sightline.geo._kernels import EARTH_RADIUS_M, haversine_mm, planar_mm
from sightline.model.space import Space

Scalar = TypeVar("Scalar", bound=np.generic)

__all__ = ["EARTH_RADIUS_M", "distance_mm", "haversine_mm", "pair_distance_mm", "planar_mm"]


def distance_mm(
    space: Space, lon: float, lat: float, lons: npt.ArrayLike, lats: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Distance of one point to many.

    Returns
    -------
    ndarray of int64
        One distance per point of ``lons`` and ``lats``.
    """
    xs, ys = point_arrays(lons, lats)
    return _kernels.distances_mm(space.is_geographic, float(lon), float(lat), xs, ys)


def pair_distance_mm(
    space: Space, lons1: npt.ArrayLike, lats1: npt.ArrayLike, lons2: npt.ArrayLike, lats2: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Distance of point i of the first list to point i of the second."""
    xs1, ys1 = point_arrays(lons1, lats1)
    xs2, ys2 = point_arrays(lons2, lats2)
    if xs1.size != xs2.size:
        raise ValueError(f"lists of points differ in length: {xs1.size} and {xs2.size}")
    return _kernels.pair_distances_mm(space.is_geographic, xs1, ys1, xs2, ys2)


def point_arrays(lons: npt.ArrayLike, lats: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Both coordinates as contiguous, read-only float64 arrays of one length."""
    xs = frozen(np.ascontiguousarray(lons, np.float64).reshape(-1))
    ys = frozen(np.ascontiguousarray(lats, np.float64).reshape(-1))
    if xs.size != ys.size:
        raise ValueError(f"lon and lat differ in length: {xs.size} and {ys.size}")
    return xs, ys
