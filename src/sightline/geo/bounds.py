"""Bounding boxes that never cross the antimeridian: what grids and curves are searched with.

A region gets one or two *pieces*, boxes with west <= east. They are disjoint, their union holds every point
of the region, and for a :class:`Box` it is the region.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.geo._kernels import CIRCLE, EARTH_RADIUS_M
from sightline.geo.region_table import RegionTable
from sightline.model.regions import Box, Region
from sightline.model.space import Space

Floats = npt.NDArray[np.float64]

# A point counts as inside when its *rounded* distance is within the radius, so half a millimetre is added.
# The computed angle of two points at most 3 radians apart is off by less than 1e-13; 1e-9 (6 mm on the
# ground) also covers the arcsine below, whose argument is bounded away from 1 by the same margin of the pole
# test.
_SLACK = 1e-9
_POLE_MARGIN = 1e-6
_NEARLY_ALL = 3.0


def pieces(region: Region, space: Space) -> Floats:
    """Pieces of one region: ``float64[p, 4]`` with p of 1 or 2, rows of west, south, east, north."""
    if isinstance(region, Box) and region.west <= region.east:  # the usual case, a tenth of the time of a table
        return np.array([[region.west, region.south, region.east, region.north]], np.float64)
    return table_pieces(RegionTable.from_regions([region]), space)[1]


def table_pieces(table: RegionTable, space: Space) -> tuple[npt.NDArray[np.int32], Floats]:
    """Pieces of many regions.

    Returns
    -------
    owner : int32[p]
        Row of the region each piece belongs to, ascending.
    boxes : float64[p, 4]
        West, south, east, north, with west <= east.
    """
    boxes = table.params.copy()
    circles = np.flatnonzero(table.kind == CIRCLE)
    if circles.size:
        cover = _geographic_circles if space.is_geographic else _planar_circles
        boxes[circles] = cover(table.params[circles])
    crossing = boxes[:, 0] > boxes[:, 2]
    owner = np.repeat(np.arange(len(table), dtype=np.int32), 1 + crossing)
    out = boxes[owner]
    first = np.flatnonzero(crossing) + np.cumsum(crossing)[crossing] - 1
    out[first, 2] = 180.0
    out[first + 1, 0] = -180.0
    return owner, out


def _planar_circles(params: Floats) -> Floats:
    x, y, radius = params[:, 0], params[:, 1], (params[:, 2] + 0.5) / 1000.0
    # Differences, squares and the root lose a few units in the last place of the largest number involved.
    reach = radius + 1e-12 * (radius + np.maximum(np.abs(x), np.abs(y)))
    return np.column_stack([x - reach, y - reach, x + reach, y + reach])


def _geographic_circles(params: Floats) -> Floats:
    """Boxes of circles; west > east where one crosses the antimeridian, as in a Box."""
    lon, lat = params[:, 0], np.radians(params[:, 1])
    angle = (params[:, 2] + 0.5) / (1000.0 * EARTH_RADIUS_M) + _SLACK
    south, north = lat - angle, lat + angle
    everywhere = angle > _NEARLY_ALL  # the computed distance loses its digits near the antipode
    all_longitudes = everywhere | (north > np.pi / 2 - _POLE_MARGIN) | (south < _POLE_MARGIN - np.pi / 2)
    # Half the width in longitude of a cap without a pole; the touching meridian, not the one through its
    # widest parallel.
    ratio = np.sin(np.where(all_longitudes, 0.0, angle)) / np.cos(np.where(all_longitudes, 0.0, lat))
    half = np.degrees(np.arcsin(np.minimum(ratio, 1.0)) + _SLACK)
    west, east = lon - half, lon + half
    west = np.where(west < -180.0, west + 360.0, west)
    east = np.where(east > 180.0, east - 360.0, east)
    south = np.maximum(np.degrees(south) - 1e-9, -90.0)
    north = np.minimum(np.degrees(north) + 1e-9, 90.0)
    return np.column_stack(
        [
            np.where(all_longitudes, -180.0, west),
            np.where(everywhere, -90.0, south),
            np.where(all_longitudes, 180.0, east),
            np.where(everywhere, 90.0, north),
        ]
    )
