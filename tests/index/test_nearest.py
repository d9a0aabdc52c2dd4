"""Every registered index of standing nearest queries finds the pairs of a double loop that can matter."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_worlds import (
    FAR,
    LATS,
    LONS,
    PLANE,
    Row,
    block_of,
    columns_of,
    config_of,
    expressions,
    naive_distance,
    naive_words,
    rows,
)

from sightline.index.protocol import NearestBounds, NearestPairs
from sightline.index.registry import NEAREST_INDEXES, nearest_index
from sightline.index.standing.balls import NearestState, _kernels
from sightline.index.standing.inverted import index as inverted
from sightline.model.queries import NearestQuery
from sightline.model.space import Space
from sightline.store.array_file import ArrayFile, write_array_file

Pair = tuple[int, int, int]

every_index = pytest.mark.parametrize("name", sorted(NEAREST_INDEXES))
points = st.tuples(st.sampled_from(LONS), st.sampled_from(LATS))
queries = st.builds(NearestQuery, expressions, points, st.sampled_from([1, 1, 2, 3, 20]))
radii = st.sampled_from([-1, 0, 27_798_731, 55_597_463, 10**10, 2 * 10**10, FAR])
lives = st.sampled_from([(0, 21), (0, 21), (5, 12), (-FAR, FAR), (9, 9)])


def found(pairs: NearestPairs) -> list[Pair]:
    out = sorted(zip(pairs.object.tolist(), pairs.query.tolist(), pairs.distance_mm.tolist(), strict=True))
    assert len({(i, j) for i, j, _ in out}) == len(out)
    return out


def naive(world: list[Row], asked: list[NearestQuery], bounds: NearestBounds, space: Space) -> list[Pair]:
    """All pairs within radius and lifetime."""
    out = []
    for i, row in enumerate(world):
        for j, query in enumerate(asked):
            mm = naive_distance(space, query.at, (row.lon, row.lat))
            inside = mm <= bounds.radius_mm[j] and bounds.start[j] <= row.ts < bounds.end[j]
            if inside and naive_words(query.keywords, row):
                out.append((i, j, mm))
    return out


def cut(pairs: list[Pair], k: list[int]) -> list[Pair]:
    """The pairs that matter: up to the k-th distance of their query."""
    out = []
    for j, most in enumerate(k):
        own = sorted(mm for _, q, mm in pairs if q == j)
        limit = own[most - 1] if 0 < most <= len(own) else FAR
        out += [pair for pair in pairs if pair[1] == j and pair[2] <= limit]
    return sorted(out)


def bounds_of(
    radius: list[int], k: list[int] | None = None, alive: list[tuple[int, int]] | None = None
) -> NearestBounds:
    n = len(radius)
    start, end = np.array(alive or [(-FAR, FAR)] * n, np.int64).reshape(n, 2).T
    return NearestBounds(np.array(radius, np.int64), np.array(k or [0] * n, np.int32), start, end)


@every_index
@given(
    world=st.lists(rows, max_size=10),
    asked=st.lists(st.tuples(queries, radii, lives), max_size=8),
    planar=st.booleans(),
    bits=st.sampled_from([64, 8, 1]),
    feedback=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_pairs_equal_a_double_loop(
    name: str,
    world: list[Row],
    asked: list[tuple[NearestQuery, int, tuple[int, int]]],
    planar: bool,
    bits: int,
    feedback: bool,
) -> None:
    config = config_of(bits, PLANE if planar else None)
    nearest = [q for q, _, _ in asked]
    k = [q.k if feedback else 0 for q in nearest]
    bounds = bounds_of([r for _, r, _ in asked], k, [alive for _, _, alive in asked])
    index = nearest_index(name).build(block_of(nearest, config), config.space)
    pairs = found(index.candidates(columns_of(world, config), bounds))
    within = naive(world, nearest, bounds, config.space)
    assert set(pairs) <= set(within)
    assert cut(pairs, k) == cut(within, k)
    if name != "scan":  # nothing is returned that cannot matter
        assert pairs == cut(within, k)


@every_index
@given(
    world=st.lists(rows, min_size=1, max_size=12),
    asked=st.lists(queries, min_size=1, max_size=6),
    steps=st.lists(st.lists(radii, min_size=6, max_size=6), min_size=2, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_one_index_serves_radii_that_shrink_and_grow(
    name: str, world: list[Row], asked: list[NearestQuery], steps: list[list[int]]
) -> None:
    config = config_of()
    index = nearest_index(name).build(block_of(asked, config), config.space)
    objects = columns_of(world, config)
    for step in steps:
        bounds = bounds_of(step[: len(asked)], [q.k for q in asked])
        got = cut(found(index.candidates(objects, bounds)), [q.k for q in asked])
        assert got == cut(naive(world, asked, bounds, config.space), [q.k for q in asked])


@every_index
@given(
    world=st.lists(rows, max_size=20),
    asked=st.lists(queries, max_size=6),
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
    pairs = naive(world, asked, bounds_of([FAR] * len(asked)), config.space)
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
    expected = cut(naive(world, asked, bounds, config.space), [k] * 900)
    assert found(nearest_index(name).build(block, config.space).candidates(objects, bounds)) == expected
    monkeypatch.setattr(inverted, "FIRST_ROOM", 1)
    assert found(nearest_index(name).build(block, config.space).candidates(objects, bounds)) == expected


def test_balls_far_away_are_not_read() -> None:
    config = config_of()
    world, asked = crowd(60, 900)
    objects, block = columns_of(world, config), block_of(asked, config)
    bounds = bounds_of([10**8] * 900)
    every = nearest_index("inverted").build(block, config.space).candidates(objects, bounds)
    near = nearest_index("balls").build(block, config.space).candidates(objects, bounds)
    assert found(near) == found(every)
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
    assert found(swept.candidates(objects, bounds)) == found(balls.candidates(objects, bounds))
    assert balls.candidates(objects, bounds).checked * 4 < swept.candidates(objects, bounds).checked


@every_index
def test_a_mapped_index_answers_alike(name: str, tmp_path: Path) -> None:
    config = config_of()
    world, asked = crowd(10, 40)
    index = nearest_index(name).build(block_of(asked, config), config.space)
    write_array_file(tmp_path / "index.sl", index.to_arrays(), {}, durable=False)
    file = ArrayFile.open(tmp_path / "index.sl")
    mapped = nearest_index(name).from_arrays({n: file.array(n) for n in file.names}, config.space)
    bounds, objects = bounds_of([FAR] * 40, [2] * 40), columns_of(world, config)
    assert found(mapped.candidates(objects, bounds)) == found(index.candidates(objects, bounds))
    if name == "balls":
        assert len(getattr(_kernels.balls_match, "signatures", [0])) == 1


@pytest.mark.parametrize("name", ["balls", "inverted"])
def test_bounds_must_fit_the_queries(name: str) -> None:
    config = config_of()
    world, asked = crowd(2, 3)
    index = nearest_index(name).build(block_of(asked, config), config.space)
    with pytest.raises(ValueError, match="3 queries"):
        index.candidates(columns_of(world, config), bounds_of([0, 0]))
