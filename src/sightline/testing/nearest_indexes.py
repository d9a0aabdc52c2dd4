"""What an index of standing nearest queries must do: find every pair of a double loop that can matter.

Every check takes the class; ``NEAREST_CHECKS`` has all of them (see :mod:`sightline.testing.standing_indexes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.protocol import NearestBounds, NearestIndex, NearestPairs
from sightline.model.queries import NearestQuery
from sightline.model.space import Space
from sightline.testing import small_worlds as worlds
from sightline.testing.small_worlds import FAR, PLANE, Row, block_of, columns_of, config_of, has_words, mm_between

__all__ = ["NEAREST_CHECKS", "NearPair", "bounds_of", "near_pairs_by_a_double_loop", "near_pairs_found", "that_matter"]

NearPair = tuple[int, int, int]  # object, query, millimetres
Life = tuple[int, int]

_radii = st.sampled_from([-1, 0, 27_798_731, 55_597_463, 10**10, 2 * 10**10, FAR])
_lives = st.sampled_from([(0, 21), (0, 21), (5, 12), (-FAR, FAR), (9, 9)])


def bounds_of(
    radius_mm: Sequence[int], k: Sequence[int] | None = None, lives: Sequence[Life] | None = None
) -> NearestBounds:
    """Bounds of a call; by default all that match within the radius matter, whenever they are from."""
    n = len(radius_mm)
    start, end = np.array(lives or [(-FAR, FAR)] * n, np.int64).reshape(n, 2).T
    return NearestBounds(np.array(radius_mm, np.int64), np.array(k or [0] * n, np.int32), start, end)


def near_pairs_found(pairs: NearestPairs) -> list[NearPair]:
    """Pairs with their distance, sorted; each once."""
    out = sorted(zip(pairs.object.tolist(), pairs.query.tolist(), pairs.distance_mm.tolist(), strict=True))
    assert len({(i, j) for i, j, _ in out}) == len(out), "no pair twice"
    return out


def near_pairs_by_a_double_loop(
    world: Sequence[Row], asked: Sequence[NearestQuery], bounds: NearestBounds, space: Space
) -> list[NearPair]:
    """All pairs within radius and lifetime, by the oracle."""
    out = []
    for i, row in enumerate(world):
        for j, query in enumerate(asked):
            mm = mm_between(query.at, row, space)
            within = mm <= bounds.radius_mm[j] and bounds.start[j] <= row.ts < bounds.end[j]
            if within and has_words(query.keywords, row):
                out.append((i, j, mm))
    return out


def that_matter(pairs: Sequence[NearPair], k: Sequence[int]) -> list[NearPair]:
    """The pairs up to the k-th distance of their query, ties included."""
    out = []
    for j, most in enumerate(k):
        own = sorted(mm for _, query, mm in pairs if query == j)
        limit = own[most - 1] if 0 < most <= len(own) else FAR
        out += [pair for pair in pairs if pair[1] == j and pair[2] <= limit]
    return sorted(out)


@given(
    world=st.lists(worlds.rows, max_size=10),
    asked=st.lists(st.tuples(worlds.nearests, _radii, _lives), max_size=8),
    planar=st.booleans(),
    bits=st.sampled_from([64, 8, 1]),
    feedback=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def what_matters_is_found(
    kind: type[NearestIndex],
    world: list[Row],
    asked: list[tuple[NearestQuery, int, Life]],
    planar: bool,
    bits: int,
    feedback: bool,
) -> None:
    """Any keywords, radii and lifetimes; with k, only the k nearest and their ties have to be there."""
    config = config_of(bits, PLANE if planar else None)
    nearest = [query for query, _, _ in asked]
    k = [query.k if feedback else 0 for query in nearest]
    bounds = bounds_of([radius for _, radius, _ in asked], k, [life for _, _, life in asked])
    index = kind.build(block_of(nearest, config), config.space)
    pairs = near_pairs_found(index.candidates(columns_of(world, config), bounds))
    within = near_pairs_by_a_double_loop(world, nearest, bounds, config.space)
    assert set(pairs) <= set(within)
    assert that_matter(pairs, k) == that_matter(within, k)


@given(
    world=st.lists(worlds.rows, min_size=1, max_size=12),
    asked=st.lists(worlds.nearests, min_size=1, max_size=6),
    steps=st.lists(st.lists(_radii, min_size=6, max_size=6), min_size=2, max_size=4),
)
@settings(max_examples=60, deadline=None)
def radii_may_shrink_and_grow(
    kind: type[NearestIndex], world: list[Row], asked: list[NearestQuery], steps: list[list[int]]
) -> None:
    """One index serves call after call, each with bounds of its own."""
    config = config_of()
    index, objects = kind.build(block_of(asked, config), config.space), columns_of(world, config)
    k = [query.k for query in asked]
    for step in steps:
        bounds = bounds_of(step[: len(asked)], k)
        got = that_matter(near_pairs_found(index.candidates(objects, bounds)), k)
        assert got == that_matter(near_pairs_by_a_double_loop(world, asked, bounds, config.space), k)


@given(world=st.lists(worlds.rows, max_size=10), asked=st.lists(worlds.nearests, max_size=8))
@settings(max_examples=20, deadline=None)
def a_mapped_index_answers_alike(kind: type[NearestIndex], world: list[Row], asked: list[NearestQuery]) -> None:
    """Another process has the arrays from a file."""
    config = config_of()
    index = kind.build(block_of(asked, config), config.space)
    again = kind.from_arrays(worlds.mapped(index.to_arrays()), config.space)
    objects, bounds = columns_of(world, config), bounds_of([FAR] * len(asked))
    assert near_pairs_found(again.candidates(objects, bounds)) == near_pairs_found(index.candidates(objects, bounds))


NEAREST_CHECKS: tuple[Callable[[type[NearestIndex]], None], ...] = (
    what_matters_is_found,
    radii_may_shrink_and_grow,
    a_mapped_index_answers_alike,
)
