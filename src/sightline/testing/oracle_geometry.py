"""Distance and containment, point by point; polygons in exact rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

EARTH_RADIUS_M = 6_371_008.8

Point = Sequence[float]


def distance_mm(lon1: float, lat1: float, lon2: float, lat2: float, planar: bool = False) -> int:
    """Distance in whole millimetres: haversine, or Euclidean in thousandths of the unit of a planar space."""
    if planar:
        return round(1000 * math.sqrt((lon2 - lon1) * (lon2 - lon1) + (lat2 - lat1) * (lat2 - lat1)))
    phi1, phi2 = math.radians(lat1), math.radians(lat2)
    h = (
        math.sin((phi2 - phi1) / 2) ** 2
        + math.cos(phi1) * math.cos(phi2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    )
    return round(2000 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(h))))


def inside(region: dict[str, Any], lon: float, lat: float, planar: bool = False) -> bool:
    """Whether a point lies in a region given in its JSON form."""
    if "box" in region:
        west, south, east, north = region["box"][:4]
        between = west <= lon <= east if west <= east else lon >= west or lon <= east
        return bool(between and south <= lat <= north)
    if "circle" in region:
        centre_lon, centre_lat, radius_m = region["circle"][:3]
        radius_mm: int = round(radius_m * 1000)
        return distance_mm(centre_lon, centre_lat, lon, lat, planar) <= radius_mm
    polygon = region["polygon"]
    if _side(polygon["ring"], lon, lat) < 0:
        return False
    return all(_side(hole, lon, lat) <= 0 for hole in polygon.get("holes") or ())


def _side(ring: Sequence[Point], x: float, y: float) -> int:
    """1 when the point is strictly inside the ring, 0 on its boundary, -1 outside."""
    if not (min(p[0] for p in ring) <= x <= max(p[0] for p in ring)):
        return -1
    if not (min(p[1] for p in ring) <= y <= max(p[1] for p in ring)):
        return -1
    corners = [(Fraction(p[0]), Fraction(p[1])) for p in ring]
    if corners[0] == corners[-1]:
        corners.pop()
    px, py = Fraction(x), Fraction(y)
    odd = False
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        cross = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
        if cross == 0 and min(ax, bx) <= px <= max(ax, bx) and min(ay, by) <= py <= max(ay, by):
            return 0
        # A ray to the east crosses the edge when the edge spans py (half-open, so that a corner counts once)
        # and the point lies to its left: the sign of the cross product relative to the edge's direction.
        if (ay > py) != (by > py) and (cross > 0) == (by > ay):
            odd = not odd
    return 1 if odd else -1
