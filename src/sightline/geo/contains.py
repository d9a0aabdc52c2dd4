"""Which points lie in which regions, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import frozen
from sightline.geo import _kernels
from sightline.geo._kernels import POLYGON
from sightline.geo.distance import point_arrays
from sightline.geo.polygon import inside_polygon
from sightline.geo.region_table import RegionTable
from sightline.model.regions import Region
from sightline.model.space import Space

__all__ = ["RegionTable", "inside", "inside_pairs"]


def inside(region: Region, space: Space, lons: npt.ArrayLike, lats: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which points lie in one region; edges belong to it."""
    xs, ys = point_arrays(lons, lats)
    return inside_pairs(RegionTable.from_regions([region]), space, np.zeros(xs.size, np.int64), xs, ys)


def inside_pairs(
    table: RegionTable, space: Space, region_rows: npt.ArrayLike, lons: npt.ArrayLike, lats: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Whether point i lies in region ``region_rows[i]``.

    Boxes and circles are decided in one kernel; of polygons the kernel keeps the points of their bounding
    boxes, which are then decided polygon by polygon.
    """
    xs, ys = point_arrays(lons, lats)
    rows = np.ascontiguousarray(region_rows, np.int64).reshape(-1)
    if rows.size != xs.size:
        raise ValueError(f"rows and points differ in length: {rows.size} and {xs.size}")
    if rows.size and not (rows.min() >= 0 and rows.max() < len(table)):
        raise IndexError(f"region rows must lie in 0..{len(table) - 1}")
    kind, params = frozen(table.kind), frozen(np.ascontiguousarray(table.params))
    result = _kernels.inside_pairs(space.is_geographic, kind, params, frozen(rows), xs, ys)
    if table.polygon_data.size:
        pairs = np.flatnonzero(result & (table.kind[rows] == POLYGON))
        pairs = pairs[np.argsort(rows[pairs], kind="stable")]
        cuts = np.flatnonzero(np.diff(rows[pairs])) + 1
        for group in np.split(pairs, cuts) if pairs.size else ():
            result[group] = inside_polygon(table.shape(int(rows[group[0]])), xs[group], ys[group])
    return result
