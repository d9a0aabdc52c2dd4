"""Median cuts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.partition.kd_tree import KdTreeRouting, median_cut
from sightline.partition.tiles.cuts import halved
from sightline.partition.tiles.sampled import TileParams
from tests.partition.tilings import GLOBE, assert_complete, assert_tiles, block_of, crowd, history_of

WORLD = GLOBE.bounds


def cut(x, y, tile=WORLD):
    return median_cut(np.array(x, float), np.array(y, float), tile)


def test_cuts_by_hand():
    assert cut([1, 2, 3, 4], [0, 0, 0, 1]) == (0, 3.0)  # two and two; objects on the cut are above it
    assert cut([0, 0, 0, 1], [1, 2, 3, 40]) == (1, 3.0)  # wider in latitude
    assert cut([1, 2, 2, 2, 9], [0] * 5) == (0, 2.0)  # 1 and 4; at 9 it were 4 and 1: the lower
    assert cut([2, 2, 2, 3], [0] * 4) == (0, 3.0)  # nothing is below 2
    assert cut([5, 5, 5], [1, 1, 2]) == (1, 2.0)
    assert cut([5, 5, 5], [1, 1, 1]) is None
    assert cut([5], [1]) is None
    assert cut([], []) is None


def test_no_cut_on_an_edge():
    assert cut([170, 180, 180], [0, 0, 0]) is None  # only 180 parts them, and nothing lies beyond
    assert cut([170, 180, 180], [0, 0, 1]) == (1, 1.0)
    assert cut([-180, -180, -179], [0, 0, 0]) == (0, -179.0)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=12))
def test_no_cut_of_the_side_is_more_even(places):
    x, y = [p[0] for p in places], [p[1] for p in places]
    found = cut(x, y)
    sides = sorted([(-(max(x, default=0) - min(x, default=0)), 0, x), (-(max(y, default=0) - min(y, default=0)), 1, y)])
    for _, axis, values in sides:
        uneven = [abs(2 * sum(v < at for v in values) - len(values)) for at in set(values) if at > min(values)]
        if uneven:
            assert found is not None
            assert found[0] == axis
            assert abs(2 * sum(v < found[1] for v in values) - len(values)) == min(uneven)
            return
    assert found is None


def test_heaviest_first():
    """Four objects, three leaves: the halves {1, 2} and {8, 9} tie, the lower number is cut again."""
    x = np.array([8.0, 1.0, 9.0, 2.0])
    tiles = KdTreeRouting.tiles_of(x, np.zeros(4), WORLD, 3)
    assert tiles == [(-180, -90, 2.0, 90), (8.0, -90, 180, 90), (2.0, -90, 8.0, 90)]


def test_leaves_are_even():
    places = crowd(20_000)
    routing = KdTreeRouting.fitted(history_of(places), GLOBE, 8)
    assert len(routing.spans) == 64
    count = np.bincount(routing.leaves_at(*places.T), minlength=64)
    assert count.max() <= 2 * count.min()
    load = np.bincount(routing.leaf_worker, count, 8)
    assert load.max() < 1.05 * load.mean()
    assert_tiles(routing)
    assert_complete(routing)


def test_dealt_by_objects_times_queries():
    """Two leaves with objects 3 and 2; the second has 4 standing queries: 3 x 1 against 2 x 5."""
    places = [(-10, 0), (-10, 1), (-10, 2), (10, 0), (10, 1)]
    queries = [sl.RangeQuery("x", sl.Box(20, 0, 21, 1))] * 4
    routing = KdTreeRouting.fitted(history_of(places, queries), GLOBE, 1, TileParams(leaves=2))
    assert routing.leaf_table()["west"].to_pylist() == [-180, 10]
    three = KdTreeRouting.fitted(history_of(places, queries), GLOBE, 2, TileParams(leaves=3))
    loads = np.bincount(three.leaves_at(*np.array(places, float).T), minlength=3) * (
        1 + np.bincount(three.leaves_of(block_of(queries)).leaf, minlength=3)
    )
    heaviest = int(np.argmax(loads))
    alone = three.leaf_worker == three.leaf_worker[heaviest]
    assert alone.sum() == 1
    assert three.leaf_worker[heaviest] == 0


def test_the_start_is_even():
    table = KdTreeRouting.start(GLOBE, 4).leaf_table().to_pydict()
    widths = {
        (e - w, n - s) for w, s, e, n in zip(*(table[k] for k in ("west", "south", "east", "north")), strict=True)
    }
    assert widths == {(22.5, 45.0)}  # 16 x 4: squares are cut at a longitude
    assert np.bincount(table["worker"]).tolist() == [16] * 4


def test_halving_by_hand():
    assert halved([(0, 0, 4, 2)], 3) == [(0, 0, 1.0, 2), (2.0, 0, 4, 2), (1.0, 0, 2.0, 2)]
    assert halved([(0, 0, 1, 1), (1, 0, 9, 1)], 3) == [(0, 0, 1, 1), (1, 0, 5.0, 1), (5.0, 0, 9, 1)]
    speck = [(0.0, 0.0, 5e-324, 5e-324)]
    assert halved(speck, 5) == speck
