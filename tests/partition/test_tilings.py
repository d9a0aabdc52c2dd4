"""What holds for every tiling, whatever makes its rectangles."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sightline as sl
from sightline.partition.a_grid import AGridParams, AGridRouting
from sightline.partition.kd_tree import KdTreeRouting
from sightline.partition.r_tree import RTreeRouting
from sightline.partition.uniform import UniformRouting
from tests.partition import tilings
from tests.partition.tilings import GLOBE, SPACE_NAMES, SPACES, crowd, history_of

small_grid = partial(AGridRouting.fitted, params=AGridParams(side=32))
fits = {"a-grid": small_grid, "kd-tree": KdTreeRouting.fitted, "r-tree": RTreeRouting.fitted}
every_fit = pytest.mark.parametrize("fit", fits.values(), ids=list(fits))
every_tiling = pytest.mark.parametrize("tiling", [AGridRouting, KdTreeRouting, RTreeRouting, UniformRouting])


@every_fit
@pytest.mark.parametrize(
    "places", [[], [(5, 5)], [(5, 5)] * 100, [(180, 90)] * 3 + [(-180, -90)], [(0.0, 0), (-0.0, 0)]]
)
@pytest.mark.parametrize("workers", [1, 3, 100])
def test_few_places(fit, places, workers):
    """Every worker has a leaf, also where the objects give none."""
    routing = fit(history_of(places), GLOBE, workers)
    assert set(routing.leaf_worker.tolist()) == set(range(workers))
    assert len(routing.spans) == (workers if isinstance(routing, AGridRouting) else max(64, workers))
    tilings.assert_tiles(routing)
    tilings.assert_complete(routing)


@every_tiling
@pytest.mark.parametrize("space", SPACES, ids=SPACE_NAMES)
def test_the_start_in_any_space(tiling, space):
    for workers in (1, 5, 12):
        routing = tiling.start(space, workers)
        assert tiling in (KdTreeRouting, RTreeRouting) or len(routing.spans) <= workers
        tilings.assert_tiles(routing)
        tilings.assert_complete(routing)


@every_fit
@pytest.mark.parametrize("space", SPACES, ids=SPACE_NAMES)
def test_a_fit_in_any_space(fit, space):
    routing = fit(history_of(crowd(200, space), space=space), space, 3)
    tilings.assert_tiles(routing)
    tilings.assert_complete(routing)


@every_tiling
def test_same_history_same_routing_also_from_a_file(tiling):
    places, queries = crowd(500), [sl.RangeQuery("x", sl.Box(0, 0, 50, 50))]
    one, two = (tiling.fitted(history_of(places, queries), GLOBE, 5) for _ in range(2))
    assert one.leaf_table().equals(two.leaf_table())
    tilings.assert_mapped_alike(one, places[:100])
    assert one.leaf_table().schema.field("keywords").type == "int64"
    assert np.array_equal(one.leaf_table()["worker"].to_numpy(), one.leaf_worker)
