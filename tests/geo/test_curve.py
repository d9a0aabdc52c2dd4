import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sightline.geo import curve_keys, quantise
from sightline.geo.curve import CURVE_BITS, gather, spread

GLOBE = (-180.0, -90.0, 180.0, 90.0)
TOP = 2**CURVE_BITS - 1
LON, LAT = st.floats(-180, 180), st.floats(-90, 90)


def interleave(x, y):
    return sum(((x >> i) & 1) << (2 * i) | ((y >> i) & 1) << (2 * i + 1) for i in range(CURVE_BITS))


@given(st.integers(0, TOP), st.integers(0, TOP))
def test_spread_and_gather(x, y):
    key = spread(x) | (spread(y) << 1)
    assert key == interleave(x, y)
    assert (gather(key), gather(key >> 1)) == (x, y)


@given(st.lists(st.tuples(LON, LAT), max_size=20))
def test_keys_interleave_the_cells(points):
    lons, lats = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    xs, ys = quantise(lons, -180, 180), quantise(lats, -90, 90)
    keys = curve_keys(lons, lats, GLOBE)
    assert keys.dtype == np.int64
    assert keys.tolist() == [interleave(int(x), int(y)) for x, y in zip(xs, ys, strict=True)]
    assert all(0 <= key < 2**62 for key in keys.tolist())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.floats(-1e11, 1e11),
       st.floats(0, 1e11))  # fmt: skip
def test_quantise_is_monotone_and_clamped(values, low, width):
    values = np.sort(np.array([*values, low, low + width, low + width / 3, np.nextafter(low + width, -np.inf)]))
    cells = quantise(values, low, low + width)
    assert (np.diff(cells) >= 0).all()
    assert cells.min() >= 0
    assert cells.max() <= TOP
    assert (cells[values <= low] == 0).all()
    if low + width > low:
        assert (cells[values >= low + width] == TOP).all()


@given(LON, LON, LAT, LAT, LON, LAT)
def test_a_box_lies_between_the_keys_of_its_corners(x1, x2, y1, y2, x, y):
    west, east, south, north = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
    x, y = min(max(x, west), east), min(max(y, south), north)
    low, key, high = curve_keys([west, x, east], [south, y, north], GLOBE)
    assert low <= key <= high


def test_ends_of_the_globe():
    assert curve_keys([-180, 180, 999], [-90, 90, 999], GLOBE).tolist() == [0, 2**62 - 1, 2**62 - 1]
    assert curve_keys([0.0], [0.0], GLOBE).tolist() == [0b11 << 60]
    assert quantise([5.0], 5.0, 5.0).tolist() == [0]
    assert curve_keys([], [], GLOBE).size == 0
