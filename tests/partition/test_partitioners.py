"""What the engine relies on, for every registered partitioner."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.flat.arrays import frozen
from sightline.index.protocol import NO_BOUND, NearestBounds, ObjectColumns
from sightline.index.registry import NEAREST_INDEXES, STANDING_INDEXES
from sightline.index.standing.block import KIND_NEAREST, KIND_TOP_TERMS, QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.errors import UnknownPlugin
from sightline.partition import PARTITIONERS, routing_class, routing_from_arrays
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.optional import owners_of
from sightline.text.term_batch import TermBatch
from sightline.text.tokeniser import tokenise
from tests.stages import worlds

CONFIG = StoreConfig(seed=1)
every_partitioner = pytest.mark.parametrize("name", sorted(PARTITIONERS))


def objects_at(places):
    lon, lat = (np.array(values, np.float64) for values in zip(*((x, y) for x, y, _ in places), strict=True))
    terms = tokenise(pa.array([text for _, _, text in places]), CONFIG.text, CONFIG.seed)
    return ObjectColumns(lon, lat, np.arange(len(places), dtype=np.int64), terms)


def block_of(queries):
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), 0, 1 << 40, CONFIG)


def matching(objects, block):
    """Pairs (object, query) whose place and keywords match, by the reference indexes; top terms by place."""
    found = STANDING_INDEXES["scan"].build(block, CONFIG.space).match(objects)
    n = len(block)
    everything = NearestBounds(np.full(n, NO_BOUND), np.zeros(n, np.int32), np.zeros(n, np.int64), np.full(n, 1 << 40))
    near = NEAREST_INDEXES["scan"].build(block, CONFIG.space).candidates(objects, everything)
    pairs = {*zip(found.object.tolist(), found.query.tolist(), strict=True)}
    nearest = {*zip(near.object.tolist(), near.query.tolist(), strict=True)}
    return {(o, q) for o, q in pairs if block.kind[q] != KIND_NEAREST} | {
        (o, q) for o, q in nearest if block.kind[q] == KIND_NEAREST
    }


texts = st.lists(st.sampled_from(worlds.WORDS), max_size=4).map(" ".join)
places = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(worlds.LONS), st.sampled_from(worlds.LATS), texts),
        st.tuples(st.floats(-180, 180), st.floats(-90, 90), texts),
    ),
    min_size=1,
    max_size=30,
)
asked = st.lists(st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), min_size=1, max_size=8)
histories = st.one_of(st.none(), st.tuples(st.one_of(st.just([]), places), st.one_of(st.just([]), asked), asked))


def made(name, history, workers):
    """A plain routing, or one fitted to a history (objects, standing queries, searches)."""
    if history is None:
        return routing_class(name).start(CONFIG.space, workers)
    objects, standing, searches = history
    terms = TermBatch.empty()
    empty = ObjectColumns(np.empty(0), np.empty(0), np.empty(0, np.int64), terms)
    past = History(objects_at(objects) if objects else empty, block_of(standing), block_of(searches), 60_000_000)
    return routing_class(name).fitted(past, CONFIG.space, workers)


def pairs_of(first, second):
    return list(zip(first.tolist(), second.tolist(), strict=True))


@every_partitioner
@settings(max_examples=40)
@given(history=histories, places=places, queries=asked, workers=st.integers(1, 7))
def test_what_can_match_meets(name, history, places, queries, workers):
    """Completeness, and no pair twice unless declared; top terms meet the owner. Company moves no query; a search
    visits the owners of what it finds."""
    routing = made(name, history, workers)
    objects, block = objects_at(places), block_of(queries)
    routes, stands = routing.router().route_objects(objects), routing.route_queries(block)
    assert routes.worker.tolist() == sorted(routes.worker.tolist())
    sent = pairs_of(routes.row, routes.worker)
    assert len(set(sent)) == len(sent)
    assert all((row, owner) in set(sent) for row, owner in enumerate(routes.owner.tolist()))
    assert routing.spreads or len(sent) == len(places)
    assert routes.worker.min() >= 0
    assert routes.worker.max() < workers
    standing = pairs_of(stands.query, stands.worker)
    assert len(set(standing)) == len(standing)
    assert stands.worker.tolist() == sorted(stands.worker.tolist())
    some = np.arange(len(queries))[::-2]
    fewer = routing.route_queries(block.take(some))
    assert {(some[q], w) for q, w in pairs_of(fewer.query, fewer.worker)} == {p for p in standing if p[0] in some}
    asked = owners_of(routing, block)
    visits = set(pairs_of(asked.query, asked.leaf))
    for row, q in matching(objects, block):
        met = {w for r, w in sent if r == row} & {w for p, w in standing if p == q}
        assert met, (queries[q], places[row])
        assert (q, routes.leaf[row]) in visits
        if block.kind[q] == KIND_TOP_TERMS:
            assert routes.owner[row] in met
        elif not routing.duplicates:
            assert len(met) == 1


@every_partitioner
@settings(max_examples=20)
@given(history=histories, places=places, workers=st.integers(1, 5))
def test_the_owner_is_the_objects_own(name, history, places, workers):
    """Neither order nor company changes it, unless the routing learns; a mapped routing says the same."""
    routing = made(name, history, workers)
    owner = routing.router().route_objects(objects_at(places)).owner
    assert routing.router().route_objects(objects_at(places)).owner.tolist() == owner.tolist()
    if not routing.learns:
        assert routing.router().route_objects(objects_at(places[::-1])).owner.tolist() == owner[::-1].tolist()
        alone = [int(routing.router().route_objects(objects_at([place])).owner[0]) for place in places]
        assert alone == owner.tolist()
    again = routing_from_arrays(name, {key: frozen(array, array.dtype) for key, array in routing.to_arrays().items()})
    assert again.router().route_objects(objects_at(places)).owner.tolist() == owner.tolist()
    assert (again.name, again.workers) == (name, workers)


@every_partitioner
@settings(max_examples=20)
@given(history=histories, places=places, queries=asked, workers=st.integers(1, 5))
def test_what_was_learnt_is_not_forgotten(name, history, places, queries, workers):
    """Routers that know what others have learnt are as exact."""
    routing = made(name, history, workers)
    first, second = routing.router(), routing.router()
    half = len(places) // 2
    if half:
        first.route_objects(objects_at(places[:half]))
    second.route_objects(objects_at(places[half:]))
    parts = [learnt for learnt in (first.learnt(), second.learnt()) if learnt]
    assert bool(parts) <= routing.learns
    if not parts:
        return
    whole = routing.merged([{key: frozen(a, a.dtype) for key, a in part.items()} for part in parts])
    objects, block = objects_at(places), block_of(queries)
    routes, stands = routing.router([whole]).route_objects(objects), routing.route_queries(block)
    sent, standing = pairs_of(routes.row, routes.worker), pairs_of(stands.query, stands.worker)
    for row, q in matching(objects, block):
        assert {w for r, w in sent if r == row} & {w for p, w in standing if p == q}


@every_partitioner
@settings(max_examples=15)
@given(history=histories, places=places, queries=asked, workers=st.integers(1, 5))
def test_leaves_can_be_looked_at(name, history, places, queries, workers):
    routing = made(name, history, workers)
    table = routing.leaf_table()
    assert table.column_names == ["leaf", "worker", "split", "west", "south", "east", "north", "keywords"]
    assert table["leaf"].to_pylist() == list(range(table.num_rows))
    assert set(table["worker"].to_pylist()) <= set(range(workers))
    leaf = routing.router().route_objects(objects_at(places)).leaf
    assert 0 <= leaf.min() <= leaf.max() < table.num_rows
    leaves = routing.leaves_of(block_of(queries))
    visited = pairs_of(leaves.query, leaves.leaf)
    assert visited == sorted(set(visited))
    assert {q for q, _ in visited} == set(range(len(queries)))
    assert leaves.leaf.max() < table.num_rows


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
    with pytest.raises(UnknownPlugin, match="a-grid, broadcast"):
        routing_class("hexagons")
