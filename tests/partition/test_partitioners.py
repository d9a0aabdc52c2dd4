"""What the engine relies on, for every registered partitioner."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.geo.contains import inside
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.errors import UnknownPlugin
from sightline.partition import PARTITIONERS, routing_class, routing_from_arrays
from sightline.partition.allocate import longest_first
from sightline.text.tokeniser import tokenise
from tests.stages import worlds

CONFIG = StoreConfig(seed=1)
every_partitioner = pytest.mark.parametrize("name", sorted(PARTITIONERS))


def objects_at(places):
    lon, lat = (np.array(values, np.float64) for values in zip(*places, strict=True))
    terms = tokenise(pa.array(["flood"] * len(places)), CONFIG.text, CONFIG.seed)
    return ObjectColumns(lon, lat, np.zeros(len(places), np.int64), terms)


def block_of(queries):
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), 0, 1, CONFIG)


places = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(worlds.LONS), st.sampled_from(worlds.LATS)),
        st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
    ),
    min_size=1,
    max_size=30,
)


@every_partitioner
@given(
    places=places,
    queries=st.lists(st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), min_size=1, max_size=8),
    workers=st.integers(1, 7),
)
def test_what_can_match_meets(name, places, queries, workers):
    """Completeness, and no pair twice unless declared; top terms meet the owner."""
    routing = routing_class(name).start(CONFIG.space, workers)
    objects, block = objects_at(places), block_of(queries)
    routes, stands = routing.route_objects(objects), routing.route_queries(block)
    assert routes.worker.tolist() == sorted(routes.worker.tolist())
    sent = list(zip(routes.row.tolist(), routes.worker.tolist(), strict=True))
    assert len(set(sent)) == len(sent)
    assert all((row, owner) in set(sent) for row, owner in enumerate(routes.owner.tolist()))
    assert routes.worker.min() >= 0
    assert routes.worker.max() < workers
    at = {
        q: {w for p, w in zip(stands.query.tolist(), stands.worker.tolist(), strict=True) if p == q}
        for q in range(len(queries))
    }
    for q, query in enumerate(queries):
        for row, (lon, lat) in enumerate(places):
            if not isinstance(query, sl.NearestQuery) and not inside(query.region, CONFIG.space, [lon], [lat])[0]:
                continue
            met = {worker for r, worker in sent if r == row} & at[q]
            assert met, (query, lon, lat)
            if block.kind[q] == KIND_TOP_TERMS:
                assert routes.owner[row] in met
            elif not routing.duplicates:
                assert len(met) == 1


@every_partitioner
@given(places=places, workers=st.integers(1, 5))
def test_the_owner_is_the_objects_own(name, places, workers):
    """Neither order nor company changes it, and a mapped routing says the same."""
    routing = routing_class(name).start(CONFIG.space, workers)
    owner = routing.route_objects(objects_at(places)).owner
    assert routing.route_objects(objects_at(places[::-1])).owner.tolist() == owner[::-1].tolist()
    alone = [int(routing.route_objects(objects_at([place])).owner[0]) for place in places]
    assert alone == owner.tolist()
    again = routing_from_arrays(name, routing.to_arrays())
    assert again.route_objects(objects_at(places)).owner.tolist() == owner.tolist()
    assert (again.name, again.workers) == (name, workers)


@every_partitioner
def test_leaves_can_be_looked_at(name):
    routing = routing_class(name).start(CONFIG.space, 3)
    table = routing.leaf_table()
    assert table.column_names == ["leaf", "worker", "west", "south", "east", "north"]
    assert set(table["worker"].to_pylist()) == {0, 1, 2}
    assert table["leaf"].to_pylist() == list(range(table.num_rows))


def test_grid_deals_heavy_leaves_apart():
    routing = routing_class("grid").start(CONFIG.space, 2)
    loads = np.zeros(64 * 64)
    loads[[5, 6, 7, 8]] = [10, 9, 8, 7]
    dealt = routing.reassigned(loads).leaf_worker
    assert sum(loads[dealt == 0]) == sum(loads[dealt == 1]) == 17
    assert abs(int((dealt == 0).sum()) - 2048) <= 2


def test_a_small_region_stands_on_few_workers():
    """Work done: a box inside one cell is not sent everywhere."""
    routing = routing_class("grid").start(CONFIG.space, 8)
    assert len(routing.route_queries(block_of([sl.RangeQuery("x", sl.Box(10.1, 50.1, 10.2, 50.2))])).worker) == 1
    assert len(routing.route_queries(block_of([sl.RangeQuery("x", sl.Box(-180, -90, 180, 90))])).worker) == 8


@given(st.lists(st.integers(0, 50), max_size=9), st.integers(1, 3))
def test_longest_first_is_within_its_bound(loads, workers):
    """LPT: makespan at most 4/3 - 1/(3m) of the optimum, found by trying everything."""
    dealt = longest_first(np.array(loads, np.float64), workers)
    makespan = max((sum(x for x, w in zip(loads, dealt, strict=True) if w == k) for k in range(workers)), default=0)
    best = {(0,) * workers}
    for load in loads:
        best = {tuple(sorted((*s[:i], s[i] + load, *s[i + 1 :]))) for s in best for i in range(workers)}
    assert makespan <= min(max(s) for s in best) * (4 / 3 - 1 / (3 * workers)) + 1e-9


def test_an_unknown_name_lists_the_known():
    with pytest.raises(UnknownPlugin, match="broadcast, grid"):
        routing_class("hexagons")
