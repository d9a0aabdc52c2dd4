"""Equal rectangles."""

from __future__ import annotations

import numpy as np
import pytest

import sightline as sl
from sightline.partition.uniform import UniformRouting, rows_and_columns
from tests.partition.tilings import GLOBE, assert_complete, assert_tiles, block_of, crowd, history_of, objects_at


@pytest.mark.parametrize(
    ("workers", "width", "height", "rows", "columns"),
    [
        (1, 360, 180, 1, 1),
        (8, 360, 180, 2, 4),  # squares of 90 degrees
        (4, 360, 180, 2, 2),  # 180 x 90; 1 x 4 has the same shape, upright
        (6, 360, 180, 2, 3),
        (7, 360, 180, 1, 7),
        (7, 1, 100, 7, 1),
        (9, 1, 1, 3, 3),
        (6, 1, 1, 2, 3),
        (6, 1, 2, 3, 2),
    ],
)
def test_rectangles_are_nearest_to_squares(workers, width, height, rows, columns):
    assert rows_and_columns(workers, width, height) == (rows, columns)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 12, 64])
def test_one_equal_rectangle_each(workers):
    routing = UniformRouting.start(GLOBE, workers)
    table = routing.leaf_table().to_pydict()
    assert table["worker"] == list(range(workers))
    areas = (np.array(table["east"]) - table["west"]) * (np.array(table["north"]) - table["south"])
    assert np.allclose(areas, 360 * 180 / workers)
    assert_tiles(routing)
    assert_complete(routing)


def test_eight_by_hand():
    """2 x 4 squares of 90 degrees, from the south-west; a point on an edge is east or north of it."""
    routing = UniformRouting.start(GLOBE, 8)
    places = [(-180, -90), (-90, -1), (-90.001, -1), (0, 0), (180, 90), (179, -0.001), (-0.0, -0.0)]
    assert routing.route_objects(objects_at(places)).owner.tolist() == [0, 1, 0, 6, 7, 3, 6]
    box = block_of([sl.RangeQuery("x", sl.Box(-100, -10, -90, -5)), sl.RangeQuery("x", sl.Box(1, -1, 2, 0))])
    assert [list(pair) for pair in zip(*routing.leaves_of(box), strict=True)] == [[0, 0], [0, 1], [1, 2], [1, 6]]


def test_what_came_changes_nothing():
    routing = UniformRouting.start(GLOBE, 6)
    fitted = UniformRouting.fitted(history_of(crowd(50)), GLOBE, 6)
    assert fitted.leaf_table().equals(routing.leaf_table())
    assert routing.reassigned(np.arange(6.0)).leaf_table().equals(routing.leaf_table())


def test_both_sides_of_the_antimeridian():
    """Two pieces of one query: each leaf once, and the second piece is searched although the first met leaves."""
    routing = UniformRouting.start(GLOBE, 8)
    leaves = routing.leaves_of(block_of([sl.RangeQuery("x", sl.Box(170, -10, -170, 10))]))
    assert leaves.leaf.tolist() == [0, 3, 4, 7]
    wide = routing.leaves_of(block_of([sl.RangeQuery("x", sl.Box(10, -10, -10, 10))]))
    assert wide.leaf.tolist() == list(range(8))


def test_nearest_queries_stand_everywhere_and_small_ones_once():
    routing = UniformRouting.start(GLOBE, 8)
    block = block_of([sl.NearestQuery("x", (0, 0), 1), sl.RangeQuery("x", sl.Box(10, 10, 11, 11))])
    routes = routing.route_queries(block)
    assert sorted(zip(routes.query.tolist(), routes.worker.tolist(), strict=True)) == [(0, w) for w in range(8)] + [
        (1, 6)
    ]
    assert routing.searched(block.take([1]))[1] == 3  # one leaf, two pointers out of the range
