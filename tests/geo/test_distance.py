import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.geo import distance_mm, pair_distance_mm
from sightline.geo.distance import haversine_mm, planar_mm
from sightline.model.space import Space

GLOBE, PLANE = Space.geographic(), Space.planar((-1000, -1000, 1000, 1000))
LON, LAT = st.floats(-180, 180), st.floats(-90, 90)
XY = st.floats(-1e11, 1e11)


def by_definition(lon1, lat1, lon2, lat2):
    p1, p2 = math.radians(lat1), math.radians(lat2)
    h = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return round(2000 * 6371008.8 * math.asin(min(1, math.sqrt(h))))


def pairs(rng, n):
    """Random pairs; a quarter each anywhere, nearly equal, nearly antipodal, and on a coarse lattice."""
    lon1, lat1, lon2, lat2 = rng.uniform(-1, 1, (4, n)) * np.array([[180], [90], [180], [90]])
    near, far, lattice = slice(0, n // 4), slice(n // 4, n // 2), slice(n // 2, 3 * n // 4)
    scale = 10.0 ** rng.uniform(-9, -2, n)
    lon2[near], lat2[near] = (
        (lon1 + scale * rng.normal(size=n))[near],
        (lat1 + scale * rng.normal(size=n))[near],
    )
    lon2[far] = (np.where(lon1 > 0, lon1 - 180, lon1 + 180) + scale * rng.normal(size=n))[far]
    lat2[far] = (-lat1 + scale * rng.normal(size=n))[far]
    for values in (lon1, lat1, lon2, lat2):
        values[lattice] = np.round(values[lattice] / 45) * 45
    return np.clip(lon1, -180, 180), np.clip(lat1, -90, 90), np.clip(lon2, -180, 180), np.clip(lat2, -90, 90)


def test_bit_equal_to_python_on_many_pairs():
    columns = pairs(np.random.default_rng(7), 100_000)
    expected = [by_definition(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    assert np.array_equal(pair_distance_mm(GLOBE, *columns), expected)


@given(LON, LAT, LON, LAT)
def test_scalar_kernel_is_the_definition(lon1, lat1, lon2, lat2):
    assert haversine_mm(lon1, lat1, lon2, lat2) == by_definition(lon1, lat1, lon2, lat2)


@given(XY, XY, XY, XY)
def test_planar_is_euclidean(x1, y1, x2, y2):
    dx, dy = x2 - x1, y2 - y1
    expected = round(1000 * math.sqrt(dx * dx + dy * dy))
    assert planar_mm(x1, y1, x2, y2) == expected
    assert distance_mm(PLANE, x1, y1, [x2], [y2]).tolist() == [expected]


def test_known_distances():
    half = round(math.pi * 6371008.8 * 1000)
    lons, lats = [0, 0, 180, -180, 0, 90, 77], [0, 90, 0, 0, -90, 0, 90]
    got = distance_mm(GLOBE, 0, 0, lons, lats)
    assert got.dtype == np.int64
    assert abs(got - np.array([0, half // 2, half, half, half // 2, half // 2, half // 2])).max() <= 1
    assert distance_mm(GLOBE, 180, 10, [-180], [10]).tolist() == [0]  # the antimeridian has one side
    assert distance_mm(GLOBE, 33, 90, [-120], [90]).tolist() == [0]  # the pole is one point
    assert distance_mm(PLANE, 0, 0, [3, 0.0005, 0.0015], [4, 0, 0]).tolist() == [5000, 0, 2]  # half to even


@given(LON, LAT, LON, LAT)
def test_symmetric(lon1, lat1, lon2, lat2):
    assert haversine_mm(lon1, lat1, lon2, lat2) == haversine_mm(lon2, lat2, lon1, lat1)


def test_one_to_many_equals_pairs_also_on_mapped_arrays():
    _, _, lons, lats = pairs(np.random.default_rng(8), 1000)
    expected = pair_distance_mm(GLOBE, np.full(1000, 12.5), np.full(1000, -7.25), lons, lats)
    for array in (lons, lats):
        array.flags.writeable = False
    assert np.array_equal(distance_mm(GLOBE, 12.5, -7.25, lons, lats), expected)
    assert np.array_equal(distance_mm(GLOBE, 12.5, -7.25, lons[::2], lats[::2]), expected[::2])


def test_empty_and_uneven():
    assert distance_mm(GLOBE, 0, 0, [], []).size == 0
    with pytest.raises(ValueError, match="length"):
        distance_mm(GLOBE, 0, 0, [1], [1, 2])
    with pytest.raises(ValueError, match="length"):
        pair_distance_mm(GLOBE, [1], [1], [1, 2], [1, 2])
