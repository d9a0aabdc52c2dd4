"""Containment and bounding pieces against the naive definition, one point at a time, in exact arithmetic."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sightline.geo import RegionTable, inside, inside_pairs, pieces, table_pieces
from sightline.model.errors import BadQuery
from sightline.model.regions import Box, Circle, Polygon
from sightline.model.space import Space

GLOBE, PLANE = Space.geographic(), Space.planar((0, 0, 1000, 1000))

# Values that sit on edges of the globe, of cells and of each other come up often.
_LONS = [-180.0, -179.9999999, -90.0, -0.0, 0.0, 1e-9, 45.0, 90.0, 179.9999999, 180.0]
_LATS = [-90.0, -89.9999999, -45.0, 0.0, 1e-9, 30.0, 45.0, 89.9999999, 90.0]
LON = st.one_of(st.sampled_from(_LONS), st.floats(-180, 180), st.integers(-18, 18).map(lambda i: i * 10.0))
LAT = st.one_of(st.sampled_from(_LATS), st.floats(-90, 90), st.integers(-9, 9).map(lambda i: i * 10.0))
RADIUS = st.one_of(st.sampled_from([0.0, 0.001, 1.0, 1e4, 10007543.4, 2e7, 20015114.0, 20015115.0, 1e9]),
                   st.floats(0, 1000), st.floats(0, 2.1e7))  # fmt: skip

BOXES = st.builds(lambda w, e, s, n: Box(w, min(s, n), e, max(s, n)), LON, LON, LAT, LAT)
CIRCLES = st.builds(Circle, LON, LAT, RADIUS)


@st.composite
def polygons(draw):
    """Valid polygons, often with integer corners, sometimes with a hole."""
    whole = draw(st.booleans())
    xs, ys = (st.integers(-20, 20), st.integers(-20, 20)) if whole else (st.floats(-80, 80), st.floats(-80, 80))
    ring = draw(st.lists(st.tuples(xs, ys), min_size=3, max_size=7, unique=True))
    holes = draw(st.lists(st.lists(st.tuples(xs, ys), min_size=3, max_size=4, unique=True), max_size=1))
    for attempt in (holes, []):
        try:
            return Polygon(ring, attempt)
        except BadQuery:
            continue
    # Sorting the corners around their mean makes most rings valid.
    mx, my = sum(x for x, _ in ring) / len(ring), sum(y for _, y in ring) / len(ring)
    try:
        return Polygon(sorted(ring, key=lambda p: math.atan2(p[1] - my, p[0] - mx)))
    except BadQuery:
        assume(False)


REGIONS = st.one_of(BOXES, CIRCLES, polygons())


def haversine(lon1, lat1, lon2, lat2):
    p1, p2 = math.radians(lat1), math.radians(lat2)
    h = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return round(2000 * 6371008.8 * math.asin(min(1, math.sqrt(h))))


def _ring_side(ring, x, y):
    """1 inside, 0 on the ring, -1 outside; exact rational arithmetic."""
    x, y = Fraction(x), Fraction(y)
    odd = False
    for (ax, ay), (bx, by) in pairwise(ring):
        ax, ay, bx, by = Fraction(ax), Fraction(ay), Fraction(bx), Fraction(by)
        cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        if cross == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
            return 0
        if (ay > y) != (by > y) and (cross > 0) == (by > ay):
            odd = not odd
    return 1 if odd else -1


def is_inside(region, space, lon, lat):
    """The definition, one point at a time."""
    if isinstance(region, Box):
        if not region.south <= lat <= region.north:
            return False
        if region.west <= region.east:
            return region.west <= lon <= region.east
        return lon >= region.west or lon <= region.east
    if isinstance(region, Circle):
        if space.is_geographic:
            return haversine(region.lon, region.lat, lon, lat) <= round(region.radius_m * 1000)
        dx, dy = lon - region.lon, lat - region.lat
        return round(1000 * math.sqrt(dx * dx + dy * dy)) <= round(region.radius_m * 1000)
    return _ring_side(region.ring, lon, lat) >= 0 and all(_ring_side(h, lon, lat) <= 0 for h in region.holes)


def probes(region, draw_points):
    """Drawn points plus the corners and edges of the region, nudged by one unit in the last place."""
    points = list(draw_points)
    if isinstance(region, Box):
        xs, ys = (region.west, region.east), (region.south, region.north)
        corners = [(x, y) for x in xs for y in ys]
    elif isinstance(region, Circle):
        degrees = math.degrees(region.radius_m / 6371008.8)
        corners = [(region.lon, region.lat)]
        corners += [(region.lon + dx * degrees, region.lat) for dx in (-1, 1)]
        corners += [(region.lon, region.lat + dy * degrees) for dy in (-1, 1)]
        corners += [((region.lon + 360) % 360 - 180, -region.lat), (-180.0, region.lat), (180.0, region.lat)]
    else:
        corners = []
        for ring in (region.ring, *region.holes):
            for (ax, ay), (bx, by) in pairwise(ring):
                corners += [
                    (ax, ay),
                    ((ax + bx) / 2, (ay + by) / 2),
                    (ax + (bx - ax) / 4, ay + (by - ay) / 4),
                ]
    for x, y in corners:
        points.append((x, y))
        points += [(math.nextafter(x, s * math.inf), y) for s in (-1, 1)]
        points += [(x, math.nextafter(y, s * math.inf)) for s in (-1, 1)]
    return [(min(180.0, max(-180.0, x)), min(90.0, max(-90.0, y))) for x, y in points]


POINTS = st.lists(st.tuples(LON, LAT), min_size=1, max_size=12)


def columns(points):
    return np.array([x for x, _ in points]), np.array([y for _, y in points])


@settings(max_examples=300)
@given(REGIONS, POINTS)
def test_inside_is_the_definition(region, points):
    points = probes(region, points)
    got = inside(region, GLOBE, *columns(points))
    assert got.tolist() == [is_inside(region, GLOBE, x, y) for x, y in points]


@settings(max_examples=300)
@given(REGIONS, POINTS)
def test_an_inside_point_lies_in_exactly_one_piece(region, points):
    boxes = pieces(region, GLOBE)
    assert boxes.shape[0] in (1, 2)
    assert (boxes[:, 0] <= boxes[:, 2]).all()
    assert (boxes[:, 1] <= boxes[:, 3]).all()
    assert (np.abs(boxes) <= [180, 90, 180, 90]).all()
    for x, y in probes(region, points):
        held = int(((boxes[:, 0] <= x) & (x <= boxes[:, 2]) & (boxes[:, 1] <= y) & (y <= boxes[:, 3])).sum())
        if is_inside(region, GLOBE, x, y):
            assert held == 1
        assert held <= 1
        if isinstance(region, Box):
            assert held == is_inside(region, GLOBE, x, y)


@settings(max_examples=200)
@given(st.floats(-180, 180), st.floats(-90, 90), st.floats(0, 2.0015e7), st.integers(0, 2**32))
def test_circles_are_covered_at_their_rim(lon, lat, radius, seed):
    """Points placed on the rim by spherical trigonometry, most within a millimetre of it."""
    rng = np.random.default_rng(seed)
    bearing, angle = rng.uniform(0, 2 * np.pi, 400), (radius + rng.normal(0, 1e-3, 400)) / 6371008.8
    p = math.radians(lat)
    lats = np.arcsin(np.clip(math.sin(p) * np.cos(angle) + math.cos(p) * np.sin(angle) * np.cos(bearing), -1, 1))
    turn = np.arctan2(np.sin(bearing) * np.sin(angle) * math.cos(p), np.cos(angle) - math.sin(p) * np.sin(lats))
    lons, lats = np.clip((lon + np.degrees(turn) + 180) % 360 - 180, -180, 180), np.degrees(lats)
    circle = Circle(lon, lat, radius)
    held = np.zeros(400, int)
    for west, south, east, north in pieces(circle, GLOBE):
        held += (west <= lons) & (lons <= east) & (south <= lats) & (lats <= north)
    hit = inside(circle, GLOBE, lons, lats)
    assert (held[hit] == 1).all()
    assert held.max() <= 1


@given(st.lists(REGIONS, min_size=1, max_size=8), POINTS)
def test_pairs_equal_single_regions(regions, points):
    table = RegionTable.from_regions(regions)
    rows = np.array([(7 * i) % len(regions) for i in range(3 * len(points))])
    xs, ys = columns(points * 3)
    got = inside_pairs(table, GLOBE, rows, xs, ys)
    assert got.tolist() == [is_inside(regions[r], GLOBE, x, y) for r, x, y in zip(rows, xs, ys, strict=True)]


@given(st.lists(REGIONS, max_size=8))
def test_pieces_of_a_table_are_those_of_its_rows(regions):
    owner, boxes = table_pieces(RegionTable.from_regions(regions), GLOBE)
    expected = [(i, tuple(box)) for i, region in enumerate(regions) for box in pieces(region, GLOBE).tolist()]
    assert list(zip(owner.tolist(), map(tuple, boxes.tolist()), strict=True)) == expected
    assert owner.dtype == np.int32


XY = st.one_of(st.integers(0, 1000).map(float), st.floats(0, 1000), st.floats(-1e11, 1e11))


PLANAR_BOXES = st.builds(
    lambda a, b, c, d: Box(min(a, c), min(b, d), max(a, c), max(b, d), planar=True), XY, XY, XY, XY
)
PLANAR_CIRCLES = st.builds(
    lambda x, y, r: Circle(x, y, r, planar=True), XY, XY, st.one_of(st.floats(0, 1000), st.floats(0, 1e12))
)


@given(PLANAR_BOXES | PLANAR_CIRCLES, st.lists(st.tuples(XY, XY)))
def test_planar_spaces(region, points):
    if isinstance(region, Circle):
        x, y, r = region.lon, region.lat, region.radius_m
        points = [*points, (x, y), (x + r, y), (x, y - r), (x - r - 0.0004, y), (x + 0.6 * r, y + 0.8 * r)]
    else:
        points = [*points, (region.west, region.south), (region.east, region.north)]
    got = inside(region, PLANE, *columns(points))
    assert got.tolist() == [is_inside(region, PLANE, x, y) for x, y in points]
    ((west, south, east, north),) = pieces(region, PLANE)
    for (x, y), hit in zip(points, got, strict=True):
        assert not hit or (west <= x <= east and south <= y <= north)


def test_a_planar_polygon():
    triangle = Polygon([(0, 0), (600, 0), (0, 900)], planar=True)
    points = [(0.0, 0.0), (200.0, 600.0), (200.0, 600.0000001), (599.0, 1.0), (600.0, 0.0), (601.0, 0.0)]
    assert inside(triangle, PLANE, *columns(points)).tolist() == [True, True, False, True, True, False]
    assert pieces(triangle, PLANE).tolist() == [[0, 0, 600, 900]]


def test_edges_and_holes_of_a_polygon():
    square = Polygon([(0, 0), (8, 0), (8, 8), (0, 8)], [[(2, 2), (6, 2), (6, 6), (2, 6)]])
    points = [
        (0, 0),
        (8, 8),
        (4, 0),
        (0, 4),
        (1, 1),
        (2, 2),
        (2, 4),
        (6, 6),
        (4, 4),
        (3, 5),
        (9, 4),
        (-1e-300, 4),
    ]
    expected = [True, True, True, True, True, True, True, True, False, False, False, False]
    assert inside(square, GLOBE, *columns(points)).tolist() == expected


def test_the_antimeridian_and_the_poles():
    def hits(region, *points):
        return inside(region, GLOBE, *columns(points)).tolist()

    ends = [(180.0, 0.0), (-180.0, 0.0), (179.0, 0.0), (-179.0, 0.0), (0.0, 0.0)]
    assert hits(Box(170, -5, -170, 5), *ends) == [True, True, True, True, False]
    assert hits(Box(170, -5, 180, 5), *ends) == [True, False, True, False, False]  # -180 is another longitude
    assert hits(Box(180, 0, -180, 0), *ends) == [True, True, False, False, False]
    assert hits(Circle(180, 0, 0), *ends) == [True, True, False, False, False]  # one point for a circle
    assert hits(Box(-180, -90, 180, 90), *ends) == [True] * 5
    assert hits(Circle(50, 90, 0), (-120.0, 90.0), (50.0, 89.9)) == [True, False]
    assert pieces(Circle(50, 90, 1000), GLOBE)[0, [0, 2, 3]].tolist() == [-180, 180, 90]
    assert pieces(Circle(0, 0, 1e9), GLOBE).tolist() == [[-180, -90, 180, 90]]
    assert pieces(Box(170, -5, -170, 5), GLOBE).tolist() == [[170, -5, 180, 5], [-180, -5, -170, 5]]


def test_pieces_of_circles_are_tight():
    """Work: a loose cover would be correct and slow."""
    (box,) = pieces(Circle(10, 50, 10_000), GLOBE)
    half = 10_000 / 6371008.8
    assert box[3] - box[1] == pytest.approx(math.degrees(2 * half), rel=1e-5)
    assert box[2] - box[0] == pytest.approx(
        math.degrees(2 * math.asin(math.sin(half) / math.cos(math.radians(50)))), rel=1e-5
    )


def test_wrong_lengths_and_rows():
    table = RegionTable.from_regions([Box(0, 0, 1, 1)])
    with pytest.raises(ValueError, match="length"):
        inside_pairs(table, GLOBE, [0, 0], [1.0], [1.0])
    for rows in ([1], [-1]):
        with pytest.raises(IndexError):
            inside_pairs(table, GLOBE, rows, [1.0], [1.0])
    assert inside_pairs(table, GLOBE, [], [], []).size == 0
