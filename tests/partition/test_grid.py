"""The uniform grid: cells of coordinates, and whom they are dealt to."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.flat.arrays import frozen
from sightline.partition._kernels import cell_of, cells_met
from sightline.partition.grid import SIDE, GridRouting
from tests.partition.tilings import GLOBE, SPACE_NAMES, SPACES, block_of, objects_at

FAR = [-math.inf, -1e300, -sys.float_info.max, 1e300, sys.float_info.max, math.inf]
SMALL = [5e-324, -5e-324, 2.2e-308, -2.2e-308, 0.0, -0.0]


@pytest.mark.parametrize("workers", [2, 3, 4, 8, 16])
def test_the_start_is_even_in_every_row_and_column(workers):
    dealt = GridRouting.start(GLOBE, workers).leaf_worker.reshape(SIDE, SIDE)
    for lines, off in ((dealt, 2), (dealt.T, 1)):
        counts = np.array([np.bincount(line, minlength=workers) for line in lines])
        assert np.abs(counts - SIDE / workers).max() <= off
    whole = np.bincount(dealt.ravel(), minlength=workers)
    assert whole.max() - whole.min() <= 1
    assert (dealt[:, 1:] != dealt[:, :-1]).mean() > 0.7  # most neighbours are apart
    assert (dealt[1:] != dealt[:-1]).mean() > 0.7


def test_heavy_leaves_are_dealt_apart():
    loads = np.zeros(SIDE * SIDE)
    loads[[5, 6, 7, 8]] = [10, 9, 8, 7]
    dealt = GridRouting.start(GLOBE, 2).reassigned(loads).leaf_worker
    assert sum(loads[dealt == 0]) == sum(loads[dealt == 1]) == 17
    assert abs(int((dealt == 0).sum()) - 2048) <= 2


def test_a_small_region_stands_on_few_workers():
    """Work done: a box inside one cell is not sent everywhere."""
    routing = GridRouting.start(GLOBE, 8)
    assert len(routing.route_queries(block_of([sl.RangeQuery("x", sl.Box(10.1, 50.1, 10.2, 50.2))])).worker) == 1
    assert len(routing.route_queries(block_of([sl.RangeQuery("x", sl.Box(-180, -90, 180, 90))])).worker) == 8


@pytest.mark.parametrize("space", SPACES, ids=SPACE_NAMES)
def test_cells_of_extreme_coordinates(space):
    """Clamped and ordered: whatever lies beyond the bounds, however far, is in the outermost cells."""
    low, _, high, _ = space.bounds
    edges = [math.nextafter(edge, way) for edge in (low, high) for way in (-math.inf, math.inf)]
    values = sorted([*FAR, *SMALL, *edges, low, high, low + (high - low) / 2])
    cells = [cell_of(value, low, high, SIDE) for value in values]
    assert cells == sorted(cells)
    assert all(0 <= cell < SIDE for cell in cells)
    assert all(cell == 0 for value, cell in zip(values, cells, strict=True) if value <= low)
    assert all(cell == SIDE - 1 for value, cell in zip(values, cells, strict=True) if value >= high)


@given(st.floats(-180, 180, allow_nan=False), st.sampled_from([1, 2, 64, 1000]))
def test_cells_are_equal(value, side):
    """Against fractions; a coordinate within a millionth of a cell of an edge may be on either side of it."""
    exact = (Fraction(value) + 180) * side / 360
    assert cell_of(value, -180.0, 180.0, side) in {
        min(max(math.floor(exact + shift), 0), side - 1) for shift in (-Fraction(1, 10**6), 0, Fraction(1, 10**6))
    }


def test_regions_far_outside_a_plane():
    """A box that begins far outside meets what it covers, and one that is wholly outside only the outermost cells."""
    space = sl.Space.planar((0.0, 0.0, 64.0, 64.0))
    routing = GridRouting.start(space, 4)
    everything = block_of([sl.RangeQuery("x", sl.Box(-1e10, -1e10, 1e10, 1e10, planar=True))], space)
    assert len(routing.leaves_of(everything).leaf) == SIDE * SIDE
    beyond = block_of([sl.RangeQuery("x", sl.Box(1e10, 3.5, 2e10, 3.6, planar=True))], space)
    assert routing.leaves_of(beyond).leaf.tolist() == [3 * SIDE + 63]
    assert routing.route_queries(beyond).worker.tolist() == [routing.leaf_worker[3 * SIDE + 63]]
    far = frozen([-math.inf, -1e300, 1e300, math.inf], np.float64)
    assert cells_met(far, routing.bounds, SIDE, 8) == (0, 0, SIDE - 1, 7)
    assert routing.route_objects(objects_at([(0.5, 1.5), (64, 64)], space=space)).leaf.tolist() == [SIDE, 64 * 64 - 1]
