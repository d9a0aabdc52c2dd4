"""Points in one polygon, exactly.

A compiled crossing count decides all points whose side of every edge follows from floating point with a
proof; the few that remain, on or within rounding of a slanted edge, are decided in rational arithmetic. (GEOS
is robust but not exact: with a corner at 0 it took a point at 5e-324 outside a slanted edge for inside.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sightline.geo import _kernels

if TYPE_CHECKING:
    import shapely

Floats = npt.NDArray[np.float64]

#: A ring gets a strip per four edges, up to this many (not tuned).
_MOST_STRIPS = 4096


def inside_polygon(shape: shapely.Polygon, lons: Floats, lats: Floats) -> npt.NDArray[np.bool_]:
    """Which points lie in the closed shell minus the open holes."""
    edges, shell = edges_of(shape)
    south, north = float(edges[:, 1].min()), float(edges[:, 1].max())
    strips = min(max(edges.shape[0] // 4, 1), _MOST_STRIPS)
    offsets, numbers = _kernels.strips_of(edges, south, north, strips)
    side = _kernels.points_in_polygon(edges, shell, south, north, offsets, numbers, lons, lats)
    for i in np.flatnonzero(side == 2):
        side[i] = _exactly(edges, shell, float(lons[i]), float(lats[i]))
    return side.astype(np.bool_)


def edges_of(shape: shapely.Polygon) -> tuple[Floats, int]:
    """Edges ``float64[m, 4]`` of ax, ay, bx, by, and how many of them are the shell's."""
    import shapely  # on first use: workers without polygons start sooner

    rings = [shapely.get_coordinates(ring) for ring in (shape.exterior, *shape.interiors)]
    edges = np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in rings])
    return np.ascontiguousarray(edges), len(rings[0]) - 1


def _exactly(edges: Floats, shell: int, lon: float, lat: float) -> bool:
    """The same count in rational arithmetic, over the edges that can touch the ray to the east."""
    level = (np.minimum(edges[:, 1], edges[:, 3]) <= lat) & (lat <= np.maximum(edges[:, 1], edges[:, 3]))
    near = np.flatnonzero(level & (lon <= np.maximum(edges[:, 0], edges[:, 2])))
    x, y = Fraction(lon), Fraction(lat)
    inside, on = [False, False], [False, False]
    for e in near.tolist():
        ring = int(e >= shell)
        ax, ay, bx, by = (Fraction(v) for v in edges[e].tolist())
        cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        if cross == 0 and min(ax, bx) <= x:
            on[ring] = True
        elif (ay > y) != (by > y) and (cross > 0) == (by > ay):
            inside[ring] = not inside[ring]
    return (inside[0] or on[0]) and (on[1] or not inside[1])
