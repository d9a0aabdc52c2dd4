"""Compiled geometry over flat arrays: distances, containment, curve keys.

``haversine_mm``, ``planar_mm`` and ``in_box`` take scalars, so that kernels of other folders can call them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EARTH_RADIUS_M = 6371008.8
_DIAMETER_MM = 2000 * EARTH_RADIUS_M
_RADIANS = math.pi / 180  # math.radians(x) is x * (pi / 180)

#: Bits of one coordinate on the curve; two of them make 62, so that a key is a positive int64.
CURVE_BITS = 31

BOX, CIRCLE, POLYGON = 0, 1, 2


@kernel
def haversine_mm(lon1: float, lat1: float, lon2: float, lat2: float) -> np.int64:
    """Great-circle distance in whole millimetres, rounded half to even.

    Bit-equal to the same formula in Python: near the antipode one unit in the last place of ``h`` is worth 19
    cm. So the order of the operations counts, and so does the square: Python's ``x**2`` is the C library's
    ``pow``, which differs from ``x * x`` in 8 of 10,000 cases. A literal 2 would be compiled to the product;
    an exponent that depends on an argument is not.
    """
    two = 2.0 + 0.0 * lon1
    p1 = lat1 * _RADIANS
    p2 = lat2 * _RADIANS
    h = math.sin((p2 - p1) / 2) ** two + math.cos(p1) * math.cos(p2) * math.sin((lon2 - lon1) * _RADIANS / 2) ** two
    return np.int64(np.rint(_DIAMETER_MM * math.asin(min(1.0, math.sqrt(h)))))


@kernel
def planar_mm(x1: float, y1: float, x2: float, y2: float) -> np.int64:
    """Euclidean distance in whole thousandths of the unit, rounded half to even."""
    dx = x2 - x1
    dy = y2 - y1
    return np.int64(np.rint(1000.0 * math.sqrt(dx * dx + dy * dy)))


@kernel
def in_box(lon: float, lat: float, west: float, south: float, east: float, north: float) -> bool:
    """Closed box; ``west > east`` crosses the antimeridian."""
    if lat < south or lat > north:
        return False
    if west <= east:
        return west <= lon <= east
    return lon >= west or lon <= east


@kernel
def distances_mm(geographic: bool, lon: float, lat: float, lons: Floats, lats: Floats) -> Ints:
    """Distance of one point to many."""
    out = np.empty(lons.size, np.int64)
    for i in range(lons.size):
        if geographic:
            out[i] = haversine_mm(lon, lat, lons[i], lats[i])
        else:
            out[i] = planar_mm(lon, lat, lons[i], lats[i])
    return out


@kernel
def pair_distances_mm(geographic: bool, lons1: Floats, lats1: Floats, lons2: Floats, lats2: Floats) -> Ints:
    """Distance of point i of the first list to point i of the second."""
    out = np.empty(lons1.size, np.int64)
    for i in range(lons1.size):
        if geographic:
            out[i] = haversine_mm(lons1[i], lats1[i], lons2[i], lats2[i])
        else:
            out[i] = planar_mm(lons1[i], lats1[i], lons2[i], lats2[i])
    return out


@kernel
def inside_pairs(
    geographic: bool, kind: npt.NDArray[np.uint8], params: Floats, rows: Ints, lons: Floats, lats: Floats
) -> Bools:
    """Whether point i lies in region ``rows[i]``; for a polygon, whether it lies in its bounding box."""
    out = np.empty(rows.size, np.bool_)
    for i in range(rows.size):
        row = rows[i]
        a, b, c, d = params[row, 0], params[row, 1], params[row, 2], params[row, 3]
        if kind[row] == CIRCLE:
            if geographic:
                out[i] = haversine_mm(a, b, lons[i], lats[i]) <= c
            else:
                out[i] = planar_mm(a, b, lons[i], lats[i]) <= c
        else:
            out[i] = in_box(lons[i], lats[i], a, b, c, d)
    return out


@kernel
def step_of(x: float, origin: float, scale: float, last: int) -> int:
    """Whole steps from an origin, at ``scale`` steps a unit, clamped to 0 and ``last``; no number counts as 0.

    Monotone: a closed interval holds no point outside the steps from its first to its last.
    """
    v = (x - origin) * scale
    if not v > 0.0:
        return 0
    if v >= last:
        return last
    return int(v)


@kernel
def quantise_one(value: float, low: float, high: float) -> np.int64:
    """Cell of a value among ``2**CURVE_BITS`` equal ones of ``[low, high]``; monotone and clamped.

    Without a branch, and converted to 32 bits, so that a loop computes four at once: AVX2 has no conversion to 64.
    """
    last = np.float64((1 << CURVE_BITS) - 1)
    width = high - low if high > low else 1.0
    within = value if value > low else low
    within = within if within < high else high
    cell = np.int64(np.int32(min(max((within - low) / width * np.float64(1 << CURVE_BITS), 0.0), last)))
    return np.int64(last) if value >= high and value > low else cell


@kernel
def spread(x: np.int64) -> np.int64:
    """Move bit i of a number below 2**31 to bit 2 i."""
    x = np.int64(x)
    x = (x | (x << 16)) & np.int64(0x0000FFFF0000FFFF)
    x = (x | (x << 8)) & np.int64(0x00FF00FF00FF00FF)
    x = (x | (x << 4)) & np.int64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x << 2)) & np.int64(0x3333333333333333)
    return (x | (x << 1)) & np.int64(0x5555555555555555)


@kernel
def gather(x: np.int64) -> np.int64:
    """Inverse of :func:`spread`: bit 2 i to bit i, odd bits ignored."""
    x = np.int64(x) & np.int64(0x5555555555555555)
    x = (x | (x >> 1)) & np.int64(0x3333333333333333)
    x = (x | (x >> 2)) & np.int64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x >> 4)) & np.int64(0x00FF00FF00FF00FF)
    x = (x | (x >> 8)) & np.int64(0x0000FFFF0000FFFF)
    return (x | (x >> 16)) & np.int64(0x7FFFFFFF)


@kernel
def curve_key(lon: float, lat: float, west: float, south: float, east: float, north: float) -> np.int64:
    """Morton key: longitude in the even bits, latitude in the odd ones."""
    return spread(quantise_one(lon, west, east)) | (spread(quantise_one(lat, south, north)) << 1)


@kernel
def curve_keys(lons: Floats, lats: Floats, west: float, south: float, east: float, north: float, out: Ints) -> None:
    """Morton keys of many points."""
    for i in range(lons.size):
        out[i] = curve_key(lons[i], lats[i], west, south, east, north)


@kernel
def quantise(values: Floats, low: float, high: float) -> Ints:
    """Cells of many values."""
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = quantise_one(values[i], low, high)
    return out


@kernel
def _difference_tail(a: float, b: float, d: float) -> float:
    """What rounding took from ``d = a - b`` (Knuth's two-sum)."""
    b_virtual = a - d
    a_virtual = d + b_virtual
    return (a - a_virtual) + (b_virtual - b)


@kernel
def _product_tail(a: float, b: float, p: float) -> float:
    """What rounding took from ``p = a * b`` (Dekker's product)."""
    c = 134217729.0 * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    return a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


@kernel
def orientation(ax: float, ay: float, bx: float, by: float, x: float, y: float) -> int:
    """Side of the line from a to b the point lies on: 1 left, 0 on it, -1 right, 2 not decided here.

    Signs first (exact, and enough for upright and level edges), then the rounded determinant with Shewchuk's
    error bound, then exact products if no difference was rounded. What is left is for rational arithmetic.
    """
    p, q, r, s = bx - ax, y - ay, by - ay, x - ax
    left_sign, right_sign = np.sign(p) * np.sign(q), np.sign(r) * np.sign(s)
    if left_sign != right_sign:
        return 1 if left_sign > right_sign else -1
    if left_sign == 0:
        return 0
    left, right = p * q, r * s
    size = abs(left) + abs(right)
    if size < 1e-250:  # tails may underflow
        return 2
    if abs(left - right) > 3.3306690738754716e-16 * size:
        return 1 if left > right else -1
    if (
        _difference_tail(bx, ax, p) != 0.0
        or _difference_tail(y, ay, q) != 0.0
        or _difference_tail(by, ay, r) != 0.0
        or _difference_tail(x, ax, s) != 0.0
    ):
        return 2
    if left != right:  # rounding keeps the order of exact products
        return 1 if left > right else -1
    left_tail, right_tail = _product_tail(p, q, left), _product_tail(r, s, right)
    if left_tail == right_tail:
        return 0
    return 1 if left_tail > right_tail else -1


@kernel
def _strip(y: float, south: float, north: float, strips: int) -> int:
    """Horizontal strip of a latitude; monotone, so an edge covers the strips between those of its ends."""
    if not y > south:
        return 0
    if y >= north:
        return strips - 1
    return min(int((y - south) / (north - south) * strips), strips - 1)


@kernel
def strips_of(edges: Floats, south: float, north: float, strips: int) -> tuple[Ints, Ints]:
    """Edges by horizontal strip, as offsets and edge numbers; an edge is listed in every strip it covers."""
    n = edges.shape[0]
    while True:
        offsets = np.zeros(strips + 1, np.int64)
        for e in range(n):
            first = _strip(min(edges[e, 1], edges[e, 3]), south, north, strips)
            last = _strip(max(edges[e, 1], edges[e, 3]), south, north, strips)
            for i in range(first, last + 1):
                offsets[i + 1] += 1
        total = offsets.sum()
        if total <= 8 * n or strips == 1:  # tall zigzags must not cost n * strips
            break
        strips //= 2
    for i in range(strips):
        offsets[i + 1] += offsets[i]
    place = offsets[:-1].copy()
    numbers = np.empty(total, np.int64)
    for e in range(n):
        first = _strip(min(edges[e, 1], edges[e, 3]), south, north, strips)
        last = _strip(max(edges[e, 1], edges[e, 3]), south, north, strips)
        for i in range(first, last + 1):
            numbers[place[i]] = e
            place[i] += 1
    return offsets, numbers


@kernel
def points_in_polygon(
    edges: Floats,
    shell: int,
    south: float,
    north: float,
    offsets: Ints,
    numbers: Ints,
    lons: Floats,
    lats: Floats,
) -> npt.NDArray[np.uint8]:
    """Closed shell minus open holes by counting crossings to the east: 1 inside, 0 outside, 2 not decided.

    ``edges`` are rows of ax, ay, bx, by, the first ``shell`` of them the shell's, the rest the holes'.
    """
    out = np.empty(lons.size, np.uint8)
    strips = offsets.size - 1
    for i in range(lons.size):
        x, y = lons[i], lats[i]
        in_shell = in_hole = on_shell = on_hole = unknown = False
        strip = _strip(y, south, north, strips)
        for j in range(offsets[strip], offsets[strip + 1]):
            e = numbers[j]
            ax, ay, bx, by = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
            if (ay < y and by < y) or (ay > y and by > y) or (ax < x and bx < x):
                continue
            side = 1 if by > ay else -1  # an edge wholly to the east counts without a test
            if not (ax > x and bx > x):
                side = orientation(ax, ay, bx, by, x, y)
            if side == 2:
                unknown = True
                break
            if side == 0:
                if e < shell:
                    on_shell = True
                else:
                    on_hole = True
            elif (ay > y) != (by > y) and (side > 0) == (by > ay):
                if e < shell:
                    in_shell = not in_shell
                else:
                    in_hole = not in_hole
        if unknown:
            out[i] = 2
        else:
            out[i] = (in_shell or on_shell) and (on_hole or not in_hole)
    return out
