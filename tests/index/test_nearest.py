"""Nearest indexes beyond the conformance suite: the state they feed, long lists, and the work they do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.registry import NEAREST_INDEXES, nearest_index
from sightline.index.standing import inverted
from sightline.index.standing.balls import NearestState, _kernels
from sightline.model.queries import NearestQuery
from sightline.testing import small_worlds as worlds
from sightline.testing.nearest_indexes import (
    bounds_of,
    near_pairs_by_a_double_loop,
    near_pairs_found,
    that_matter,
)
from sightline.testing.small_worlds import FAR, PLANE, Row, block_of, columns_of, config_of

every_index = pytest.mark.parametrize("name", sorted(NEAREST_INDEXES))


@pytest.mark.parametrize("name", ["balls", "inverted"])
@given(world=st.lists(worlds.rows, max_size=10), asked=st.lists(worlds.nearests, max_size=8))
@settings(max_examples=40, deadline=None)
def test_nothing_is_returned_that_cannot_matter(name: str, world: list[Row], asked: list[NearestQuery]) -> None:
    config, k = config_of(), [query.k for query in asked]
    bounds = bounds_of([FAR] * len(asked), k)
    index = nearest_index(name).build(block_of(asked, config), config.space)
    within = near_pairs_by_a_double_loop(world, asked, bounds, config.space)
    assert near_pairs_found(index.candidates(columns_of(world, config), bounds)) == that_matter(within, k)


@every_index
@given(
    world=st.lists(worlds.rows, max_size=20),
    asked=st.lists(worlds.nearests, max_size=6),
    planar=st.booleans(),
    cuts=st.lists(st.integers(0, 20), max_size=4),
)
@settings(max_examples=80, deadline=None)
def test_the_state_is_the_k_nearest_in_any_batching(
    name: str, world: list[Row], asked: list[NearestQuery], planar: bool, cuts: list[int]
) -> None:
    config = config_of(64, PLANE if planar else None)
    block = block_of(asked, config)
    index, state = nearest_index(name).build(block, config.space), NearestState(block)
    edges = sorted({0, len(world), *(c for c in cuts if c < len(world))})
    for low, high in pairwise(edges):
        before = [state.of(j) for j in range(len(asked))]
        update = state.update(index, columns_of(world[low:high], config), low)
        assert update.changed.tolist() == [j for j in range(len(asked)) if state.of(j) != before[j]]
        assert update.entered <= update.offered
    pairs = near_pairs_by_a_double_loop(world, asked, bounds_of([FAR] * len(asked)), config.space)
    for j, query in enumerate(asked):
        assert state.of(j) == sorted((mm, i) for i, q, mm in pairs if q == j)[: query.k]


def crowd(n: int, m: int, k: int = 1) -> tuple[list[Row], list[NearestQuery]]:
    rng = np.random.default_rng(3)
    world = [
        Row(x, y, 0, "flood" if i % 2 else "flood rain")
        for i, (x, y) in enumerate(rng.uniform((-180, -90), (180, 90), (n, 2)).tolist())
    ]
    asked = [
        NearestQuery("flood OR rain" if i % 3 else "rain" if i % 2 else "flood rain", (x, y), k)
        for i, (x, y) in enumerate(rng.uniform((-180, -90), (180, 90), (m, 2)).tolist())
    ]
    return world, asked


@pytest.mark.parametrize("name", ["balls", "inverted"])
@pytest.mark.parametrize("k", [0, 3])
def test_long_lists_and_full_buffers(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of several nodes on two levels; buffers that fill in the middle of an object, and of its feedback."""
    config = config_of()
    world, asked = crowd(60, 900)
    radius = np.random.default_rng(4).choice([0, 10**8, 10**9, 3 * 10**9, FAR], 900).tolist()
    objects, block = columns_of(world, config), block_of(asked, config)
    bounds = bounds_of(radius, [k] * 900)
    expected = that_matter(near_pairs_by_a_double_loop(world, asked, bounds, config.space), [k] * 900)
    assert near_pairs_found(nearest_index(name).build(block, config.space).candidates(objects, bounds)) == expected
    monkeypatch.setattr(inverted, "FIRST_ROOM", 1)
    assert near_pairs_found(nearest_index(name).build(block, config.space).candidates(objects, bounds)) == expected


def test_balls_far_away_are_not_read() -> None:
    config = config_of()
    world, asked = crowd(60, 900)
    objects, block = columns_of(world, config), block_of(asked, config)
    bounds = bounds_of([10**8] * 900)
    every = nearest_index("inverted").build(block, config.space).candidates(objects, bounds)
    near = nearest_index("balls").build(block, config.space).candidates(objects, bounds)
    assert near_pairs_found(near) == near_pairs_found(every)
    assert every.checked > 60 * 600
    assert near.checked * 3 < every.checked


@pytest.mark.parametrize("name", ["balls", "inverted"])
def test_radii_shrink_within_a_call_and_between_calls(name: str) -> None:
    config = config_of()
    world, asked = crowd(2000, 900, k=2)
    block = block_of(asked, config)
    index, state = nearest_index(name).build(block, config.space), NearestState(block)
    first = state.update(index, columns_of(world[:1000], config))
    everything = index.candidates(columns_of(world[:1000], config), bounds_of([FAR] * 900))
    assert first.offered * 20 < len(everything.object)  # k and its ties of each query, not all that match
    second = state.update(index, columns_of(world[1000:], config), 1000)
    assert second.offered < first.offered
    if name == "balls":
        assert second.checked < first.checked
        assert first.checked * 3 < everything.checked


def test_a_sweep_does_not_shrink_a_ball_again_and_again() -> None:
    """Objects that come nearer one by one: coarse to fine, a cold query is not offered all of them."""
    config = config_of()
    world = [Row(-170 + 0.1 * i, 0.0, 0, "flood") for i in range(3400)]
    asked = [NearestQuery("flood", (170.0, 0.01 * i), 1) for i in range(64)]
    block = block_of(asked, config)
    objects = columns_of(world, config)
    swept = nearest_index("inverted").build(block, config.space)
    balls = nearest_index("balls").build(block, config.space)
    bounds = bounds_of([FAR] * 64, [1] * 64)
    assert near_pairs_found(swept.candidates(objects, bounds)) == near_pairs_found(balls.candidates(objects, bounds))
    assert balls.candidates(objects, bounds).checked * 4 < swept.candidates(objects, bounds).checked


def test_a_mapped_index_is_not_compiled_again() -> None:
    config = config_of()
    world, asked = crowd(10, 40)
    index = nearest_index("balls").build(block_of(asked, config), config.space)
    mapped = nearest_index("balls").from_arrays(worlds.mapped(index.to_arrays()), config.space)
    bounds, objects = bounds_of([FAR] * 40, [2] * 40), columns_of(world, config)
    assert near_pairs_found(mapped.candidates(objects, bounds)) == near_pairs_found(index.candidates(objects, bounds))
    assert len(getattr(_kernels.balls_match, "signatures", [0])) == 1


@pytest.mark.parametrize("name", ["balls", "inverted"])
def test_bounds_must_fit_the_queries(name: str) -> None:
    config = config_of()
    world, asked = crowd(2, 3)
    index = nearest_index(name).build(block_of(asked, config), config.space)
    with pytest.raises(ValueError, match="3 queries"):
        index.candidates(columns_of(world, config), bounds_of([0, 0]))
