"""Sort-tile-recursive leaves that cover the space."""

from __future__ import annotations

import numpy as np

import sightline as sl
from sightline.partition.r_tree import RTreeRouting, cuts_every
from sightline.partition.tiles.sampled import TileParams
from tests.partition.tilings import GLOBE, assert_complete, assert_tiles, crowd, history_of


def test_cuts_by_hand():
    def cuts(values, step):
        return cuts_every(np.array(values, float), step, -180, 180).tolist()

    assert cuts([1, 2, 3, 4, 5], 2) == [3, 5]
    assert cuts([1, 2, 3], 3) == []
    assert cuts([1, 1, 1, 2], 2) == []  # the third object is with the first
    assert cuts([1, 2, 2, 2, 2, 3], 2) == [2]
    assert cuts([-180, 180, 180], 1) == []  # nothing lies beyond
    assert cuts([], 1) == []


def test_eight_objects_in_four_leaves():
    """c = 2, P = 4, two slices of four objects, each cut in two runs."""
    lon = np.arange(8.0)
    lat = np.array([3.0, 0.0, 2.0, 1.0, 10.0, 40.0, 30.0, 20.0])
    tiles = RTreeRouting.tiles_of(lon, lat, GLOBE.bounds, 4)
    assert tiles == [(-180, -90, 4, 2), (-180, 2, 4, 90), (4, -90, 180, 30), (4, 30, 180, 90)]


def test_ten_objects_in_at_most_seven_leaves():
    """c = 2, P = 5, three slices of six objects: 6 + 4, that is 3 + 2 runs."""
    tiles = RTreeRouting.tiles_of(np.arange(10.0), np.arange(10.0), GLOBE.bounds, 7)
    assert [tile[0] for tile in tiles] == [-180, -180, -180, 6, 6]
    assert [tile[1] for tile in tiles] == [-90, 2, 4, -90, 8]


def test_leaves_are_even():
    rng = np.random.default_rng(3)
    places = np.column_stack([rng.normal(10, 5, 10_000), rng.normal(50, 3, 10_000)])
    routing = RTreeRouting.fitted(history_of(places), GLOBE, 8)
    count = np.bincount(routing.leaves_at(*places.T), minlength=len(routing.spans))
    assert len(count) == 64
    assert count.max() == -(-10_000 // 64)
    load = np.bincount(routing.leaf_worker, count, 8)
    assert load.max() < 1.05 * load.mean()
    assert_tiles(routing)
    assert_complete(routing)


def test_a_road_and_a_city():
    """A quarter of the objects shares its latitude: they cannot be parted in a slice, and nothing is lost."""
    places = crowd(4_000)
    routing = RTreeRouting.fitted(history_of(places), GLOBE, 4, TileParams(leaves=100))
    assert_tiles(routing)
    assert_complete(routing)
    count = np.bincount(routing.leaves_at(*places.T), minlength=len(routing.spans))
    assert count.sum() == 4_000
    assert np.median(count) <= 40


def test_queries_make_a_leaf_heavy():
    places = np.column_stack([np.arange(8.0), [3, 0, 2, 1, 10, 40, 30, 20]])
    queries = [sl.RangeQuery("x", sl.Box(5, 0, 6, 1))] * 9  # in the third leaf
    routing = RTreeRouting.fitted(history_of(places, queries), GLOBE, 2, TileParams(leaves=4))
    assert routing.leaf_worker.tolist() == [1, 1, 0, 1]
