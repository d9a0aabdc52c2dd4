"""Distances of a nearest search: squared half chords ``h`` (planar: squared distances), and bounds of them.

They are cheap, and compared with slack on the safe side. The distance in whole millimetres, which decides, follows from
``h`` except where rounding could go either way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64
from sightline.geo._kernels import EARTH_RADIUS_M, haversine_mm, planar_mm
from sightline.index.objects.postings._kernels import BITS
from sightline.jit import kernel

_RADIANS = math.pi / 180
_HALF = _RADIANS / 2
_DIAMETER_MM = 2000 * EARTH_RADIUS_M
_NEAR = 0.5  # squared half chord up to which an angle is known as well as its sine
_SURE = 0.499  # from a whole millimetre, at most: the error of a distance is below 0.0001 mm


class View(NamedTuple):
    """Where the search stands, and the cells of the curve in coordinates."""

    geographic: bool
    lon: float
    lat: float
    cosine: float  # of the latitude
    west: float
    south: float
    unit_x: float  # sides of the finest cell
    unit_y: float
    slack_x: float  # what rounding may have moved a row, and a thousandth of the finest cell
    slack_y: float


@kernel
def view_of(extent: F64, geographic: bool, lon: float, lat: float) -> View:
    """The view from a point."""
    west, south, east, north = extent[0], extent[1], extent[2], extent[3]
    unit_x, unit_y = (east - west) / 2.0**BITS, (north - south) / 2.0**BITS
    slack_x = 1e-3 * unit_x + 1e-14 * max(abs(west), abs(east))
    slack_y = 1e-3 * unit_y + 1e-14 * max(abs(south), abs(north))
    cosine = math.cos(_RADIANS * lat) if geographic else 1.0
    return View(geographic, lon, lat, cosine, west, south, unit_x, unit_y, slack_x, slack_y)


@kernel
def below_sine(a: float) -> float:
    """At most the sine of 0 to pi/2: a Taylor sum that ends in a negative term."""
    return a * (1.0 - a * a / 6.0 * (1.0 - a * a / 20.0 * (1.0 - a * a / 42.0)))


@kernel
def lower_bound(
    geographic: bool, lon: float, lat: float, cosine: float, west: float, south: float, east: float, north: float
) -> float:
    """At most the squared half chord (planar: squared distance) from a point to any point of a box.

    ``cosine`` is that of the point's latitude.
    """
    dy = max(south - lat, lat - north, 0.0)
    if not geographic:
        dx = max(west - lon, lon - east, 0.0)
        return dx * dx + dy * dy
    dx = 0.0
    if lon < west or lon > east:
        around = lon + 360.0 if lon < west else lon - 360.0
        if around < west or around > east:
            dx = min(abs(west - lon), abs(lon - east), abs(west - around), abs(around - east))
    s = below_sine(_HALF * dy)
    h = s * s
    if dx > 0.0:
        s = below_sine(_HALF * min(dx, 180.0))
        a = _RADIANS * max(abs(south), abs(north))
        a *= a
        narrow = 1.0 - a / 2.0 * (1.0 - a / 12.0 * (1.0 - a / 30.0))  # below the cosine, as the sines
        h += max(0.0, cosine * narrow) * s * s
    return h


@kernel
def cell_bound(view: View, x_cell: np.int64, y_cell: np.int64, size: np.int64) -> float:
    """:func:`lower_bound` of a cell."""
    x, y = view.west + x_cell * view.unit_x, view.south + y_cell * view.unit_y
    return lower_bound(
        view.geographic,
        view.lon,
        view.lat,
        view.cosine,
        x - view.slack_x,
        y - view.slack_y,
        x + size * view.unit_x + view.slack_x,
        y + size * view.unit_y + view.slack_y,
    )


@kernel
def outside_bound(view: View, x_cell: np.int64, y_cell: np.int64, size: np.int64) -> float:
    """At most the square of the distance to anything outside a cell; 0 where the point is not in it.

    On the globe what is ``dx`` degrees of longitude away, up to 90, is at least as far as the meridian there, whose
    distance has the sine ``cosine * sin(dx)``; half of that is less than the half chord.
    """
    x, y = view.west + x_cell * view.unit_x, view.south + y_cell * view.unit_y
    dx = float(min(view.lon - x, x + size * view.unit_x - view.lon) - view.slack_x)
    dy = float(min(view.lat - y, y + size * view.unit_y - view.lat) - view.slack_y)
    if dx <= 0.0 or dy <= 0.0:
        return 0.0
    if view.geographic:
        dx = 0.5 * max(0.0, view.cosine) * below_sine(_RADIANS * min(dx, 90.0))
        dy = below_sine(_HALF * dy)
    return min(dx, dy) * min(dx, dy)


@kernel
def sine(a: float) -> float:
    """The sine of -pi/2 to pi/2 up to rounding: what the Taylor sum leaves out is below 2e-16 of it."""
    u = a * a
    t = 1.0 - u * (1.0 / 342.0)
    t = 1.0 - u * (1.0 / 272.0) * t
    t = 1.0 - u * (1.0 / 210.0) * t
    t = 1.0 - u * (1.0 / 156.0) * t
    t = 1.0 - u * (1.0 / 110.0) * t
    t = 1.0 - u * (1.0 / 72.0) * t
    t = 1.0 - u * (1.0 / 42.0) * t
    t = 1.0 - u * (1.0 / 20.0) * t
    t = 1.0 - u * (1.0 / 6.0) * t
    return a * t


@kernel
def squares_of(geographic: bool, lon: float, lat: float, cosine: float, n: int, x: F64, y: F64, h: F64) -> None:
    """The squared half chords from a point to n others up to a few units in the last place (planar: squared distances).

    No branch and no call of the C library, so that several are computed at once: 6 ns each instead of 40.
    """
    if not geographic:
        for i in range(n):
            h[i] = (x[i] - lon) * (x[i] - lon) + (y[i] - lat) * (y[i] - lat)
        return
    for i in range(n):
        across = abs(x[i] - lon)
        wide, high = sine(_HALF * min(across, 360.0 - across)), sine(_HALF * (y[i] - lat))
        tilt = sine(_HALF * y[i])
        h[i] = high * high + cosine * (1.0 - 2.0 * tilt * tilt) * wide * wide


@kernel
def beyond(geographic: bool, h: float) -> float:
    """What lies farther than a point at ``h``, surely and by more than rounding to a millimetre, has a larger bound.

    The angle grows faster than twice the sine of its half, so 1.6e-10 of a half chord is at least 2 mm on the globe.
    """
    root = math.sqrt(h) * (1.0 + 1e-9) + (1.6e-10 if geographic else 2e-3)
    return root * root * (1.0 + 1e-9) + (1e-15 if geographic else 0.0)


@kernel
def millimetres(geographic: bool, lon: float, lat: float, x: float, y: float, h: float) -> np.int64:
    """The distance of two points ``h`` apart exactly as ``geo`` defines it.

    That takes seven functions of the C library, each to the last bit. Up to a quarter of the globe rounding moves
    either distance by less than 2e-14 of the radius, 0.0001 mm: they round alike unless they are that close to half a
    millimetre, and then the definition itself is computed.
    """
    if not geographic:
        return planar_mm(lon, lat, x, y)
    far = _DIAMETER_MM * math.asin(math.sqrt(min(h, 1.0)))
    whole = np.rint(far)
    return np.int64(whole) if h <= _NEAR and abs(far - whole) < _SURE else haversine_mm(lon, lat, x, y)
