import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.geo import RegionTable, inside_pairs
from sightline.model.errors import BadQuery
from sightline.model.regions import Box, Circle, Polygon
from sightline.model.space import Space

SQUARE, HOLE = [(0, 0), (4, 0), (4, 4), (0, 4)], [(1, 1), (2, 1), (2, 2), (1, 2)]
REGIONS = [
    Box(-180, -90, 180, 90),
    Box(170, 0.1, -170, 0.3),
    Circle(12.5, -7.1, 0.001),
    Circle(180, 90, 1e9),
    Polygon(SQUARE),
    Polygon(SQUARE, [HOLE]),
    Polygon([(0.1, 0.2), (0.3, 0.7), (-0.1, 1 / 3)]),
    Box(0, 0, 500, 700),
    Circle(1e11, -1e11, 1e12),
    Polygon([(0, 0), (500, 0), (0, 700)]),
]
LISTS = st.lists(st.sampled_from(REGIONS), max_size=12)


def objects(table):
    return [table.region(i) for i in range(len(table))]


@given(LISTS)
def test_regions_come_back(regions):
    table = RegionTable.from_regions(regions)
    assert len(table) == len(regions)
    assert objects(table) == regions


@given(LISTS, st.data())
def test_take_and_concat(regions, data):
    table = RegionTable.from_regions(regions)
    rows = data.draw(st.lists(st.integers(0, len(regions) - 1))) if regions else []
    assert objects(table.take(rows)) == [regions[i] for i in rows]
    parts = RegionTable.concat([table, table.take(rows), RegionTable.from_regions([])])
    assert objects(parts) == regions + [regions[i] for i in rows]
    assert objects(RegionTable.concat([])) == []


@given(LISTS)
def test_arrays_round_trip_read_only(regions):
    table = RegionTable.from_regions(regions)
    arrays = table.to_arrays("region_")
    for array in arrays.values():
        array.flags.writeable = False
    back = RegionTable.from_arrays(arrays, prefix="region_")
    assert objects(back) == regions
    rows = np.arange(len(regions))
    points = np.full(len(regions), 1.5)
    expected = inside_pairs(table, Space(), rows, points, points)
    assert np.array_equal(inside_pairs(back, Space(), rows, points, points), expected)


def test_dtypes_are_those_of_the_file():
    table = RegionTable.from_regions(REGIONS)
    assert [a.dtype for a in table.to_arrays().values()] == [np.uint8, np.float64, np.int64, np.uint8]
    assert table.kind.tolist() == [0, 0, 1, 1, 2, 2, 2, 0, 1, 2]
    assert table.params[4].tolist() == [0, 0, 4, 4]  # bounding box of a polygon


def test_bulk_forms_equal_objects():
    boxes = np.array([[0, 1, 2, 3], [170, 0, -170, 5]], float)
    assert objects(RegionTable.from_boxes(boxes)) == [Box(0, 1, 2, 3), Box(170, 0, -170, 5)]
    assert objects(RegionTable.from_circles([1, 2], [3, 4], [5, 6000])) == [
        Circle(1, 3, 0.005),
        Circle(2, 4, 6),
    ]
    assert len(RegionTable.from_boxes(np.empty((0, 4)))) == 0
    assert len(RegionTable.from_circles([], [], [])) == 0


def test_refuses_what_is_no_region():
    with pytest.raises(BadQuery, match="'here'"):
        RegionTable.from_regions([Box(0, 0, 1, 1), "here"])
