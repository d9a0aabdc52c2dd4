import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from sightline.geo import _kernels, polygon
from sightline.geo._kernels import orientation
from sightline.geo.polygon import inside_polygon

NUMBERS = st.one_of(
    st.integers(-9, 9).map(float), st.floats(-180, 180), st.sampled_from([5e-324, -1e-310, 0.1, 1e-160])
)


def exact_side(ax, ay, bx, by, x, y):
    ax, ay, bx, by, x, y = map(Fraction, (ax, ay, bx, by, x, y))
    cross = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
    return (cross > 0) - (cross < 0)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_orientation_is_right_or_undecided(ax, ay, bx, by, x, y):
    assert orientation(ax, ay, bx, by, x, y) in (exact_side(ax, ay, bx, by, x, y), 2)


@given(st.floats(-90, 90), st.floats(-90, 90), st.integers(-50, 50), st.integers(-50, 50), st.integers(0, 16),
       st.integers(-2, 2))  # fmt: skip
def test_orientation_next_to_the_line(ax, ay, dx, dy, sixteenths, nudge):
    bx, by = ax + dx, ay + dy
    x, y = ax + (bx - ax) * sixteenths / 16, ay + (by - ay) * sixteenths / 16
    for _ in range(abs(nudge)):
        y = math.nextafter(y, math.copysign(math.inf, nudge))
    assert orientation(ax, ay, bx, by, x, y) in (exact_side(ax, ay, bx, by, x, y), 2)


def test_orientation_decides_lattices_by_itself():
    """Work: points on slanted edges of a lattice must not need rational arithmetic."""
    for bx, by in ((3, 2), (7, -5), (1000, 999)):
        for t in range(-3, 4):
            assert orientation(0.0, 0.0, float(bx), float(by), float(bx * t), float(by * t)) == 0
            assert orientation(0.0, 0.0, float(bx), float(by), float(bx * t), by * t + 2.0**-40) == (
                1 if bx > 0 else -1
            )


def naive(shape, x, y):
    def side(ring):
        odd = False
        for (ax, ay), (bx, by) in pairwise(ring):
            turn = exact_side(ax, ay, bx, by, x, y)
            if turn == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
                return 0
            if (ay > y) != (by > y) and (turn > 0) == (by > ay):
                odd = not odd
        return 1 if odd else -1

    holes = [hole.coords[:] for hole in shape.interiors]
    return side(shape.exterior.coords[:]) >= 0 and all(side(hole) <= 0 for hole in holes)


def star(points, seed, size=80.0):
    """A jagged ring around the origin, always valid."""
    rng = np.random.default_rng(seed)
    angle = (np.arange(points) + rng.uniform(0, 0.4, points)) * 2 * np.pi / points
    radius = size * rng.uniform(0.4, 1.0, points)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def tried(shape, rng, n):
    """Random points, vertices, points level with vertices, and points on edges as far as floats can be."""
    vertices = shapely.get_coordinates(shape)
    a = vertices[rng.integers(0, len(vertices) - 1, n)]
    level = np.column_stack([rng.uniform(-90, 90, n), a[:, 1]])
    edges, _ = polygon.edges_of(shape)
    e, t = edges[rng.integers(0, len(edges), n)], rng.integers(0, 9, (n, 1)) / 8
    on = e[:, :2] + (e[:, 2:] - e[:, :2]) * t
    return np.concatenate([rng.uniform(-90, 90, (n, 2)), a, level, on])


@pytest.mark.parametrize(("corners", "n"), [(3, 40), (12, 30), (300, 5)])
def test_many_corners_with_a_hole(corners, n):
    for seed in range(3):
        shape = shapely.Polygon(star(corners, seed), [star(corners, seed + 10, size=8.0)] if corners > 3 else [])
        points = tried(shape, np.random.default_rng(seed), n)
        got = inside_polygon(shape, points[:, 0].copy(), points[:, 1].copy())
        assert got.tolist() == [naive(shape, x, y) for x, y in points.tolist()]
        assert 0 < got.sum() < len(points)


def test_the_rational_path_is_used_and_agrees(monkeypatch):
    """Undecided points are rare; deciding all of them that way gives the same."""
    shape = shapely.Polygon(star(40, 5), [star(12, 6, size=8.0)])
    assert shape.is_valid
    points = tried(shape, np.random.default_rng(5), 80)
    lons, lats = points[:, 0].copy(), points[:, 1].copy()
    expected = inside_polygon(shape, lons, lats)
    edges, shell = polygon.edges_of(shape)
    assert expected.tolist() == [polygon._exactly(edges, shell, x, y) for x, y in points.tolist()]
    calls = []
    exactly = polygon._exactly
    monkeypatch.setattr(polygon, "_exactly", lambda *args: calls.append(args) or exactly(*args))
    inside_polygon(shape, lons, lats)
    assert 0 < len(calls) < len(points) / 2


def test_tall_zigzags_do_not_blow_up_the_strips():
    x = np.linspace(-80, 80, 4001)
    edges = np.column_stack([x[:-1], np.where(np.arange(4000) % 2, 80.0, -80.0), x[1:],
                             np.where(np.arange(4000) % 2, -80.0, 80.0)])  # fmt: skip
    offsets, numbers = _kernels.strips_of(edges, -80.0, 80.0, 1000)
    assert numbers.size <= 8 * len(edges)
    assert offsets[-1] == numbers.size


def test_strips_save_work():
    """Work: a point meets a small part of the edges of a long ring."""
    edges, _ = polygon.edges_of(shapely.Polygon(star(4000, 1)).buffer(0).convex_hull.segmentize(0.05))
    offsets, _ = _kernels.strips_of(edges, edges[:, 1].min(), edges[:, 1].max(), len(edges) // 4)
    assert np.diff(offsets).mean() < len(edges) / 50
