"""What an index of standing range queries must do: find exactly the pairs of a double loop.

Every check takes the class. Run all of them over your own:

>>> import pytest
>>> from sightline.testing.standing_indexes import RANGE_CHECKS
>>> @pytest.mark.parametrize("check", RANGE_CHECKS, ids=lambda check: check.__name__)
... def test_my_index(check):
...     check(MyIndex)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.protocol import MatchPairs, StandingIndex
from sightline.model.expression import parse
from sightline.model.queries import RangeQuery, TopTermsQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.testing import small_worlds as worlds
from sightline.testing.small_worlds import PLANE, Row, block_of, columns_of, config_of, has_words, lies_in

__all__ = ["RANGE_CHECKS", "pairs_by_a_double_loop", "pairs_found"]


def pairs_found(pairs: MatchPairs) -> list[tuple[int, int]]:
    """Pairs (object, query), sorted, from an answer of the form that is promised."""
    assert pairs.object.dtype == pairs.query.dtype == np.int32
    assert (np.diff(pairs.object) >= 0).all(), "pairs ascend by object"
    return sorted(zip(pairs.object.tolist(), pairs.query.tolist(), strict=True))


def pairs_by_a_double_loop(world: Sequence[Row], asked: Sequence[RangeQuery], space: Space) -> list[tuple[int, int]]:
    """All pairs, by the oracle."""
    return [
        (i, j)
        for i, row in enumerate(world)
        for j, query in enumerate(asked)
        if has_words(query.keywords, row) and lies_in(query.region, row, space)
    ]


def _agrees(
    kind: type[StandingIndex],
    world: Sequence[Row],
    asked: Sequence[RangeQuery],
    bits: int = 64,
    space: Space | None = None,
) -> None:
    config = config_of(bits, space)
    found = kind.build(block_of(asked, config), config.space).match(columns_of(world, config))
    assert pairs_found(found) == pairs_by_a_double_loop(world, asked, config.space)
    assert found.candidates >= len({*pairs_found(found)}), "what was found was looked at"


@given(
    world=st.lists(worlds.rows, max_size=12),
    asked=st.lists(worlds.ranges, max_size=8),
    bits=st.sampled_from([64, 8, 1]),
)
@settings(max_examples=80, deadline=None)
def pairs_equal_a_double_loop(kind: type[StandingIndex], world: list[Row], asked: list[RangeQuery], bits: int) -> None:
    """Any keywords and regions; terms whose hashes collide are told apart."""
    _agrees(kind, world, asked, bits)


@given(world=st.lists(worlds.rows, max_size=8), asked=st.lists(worlds.planar_ranges, max_size=6))
@settings(max_examples=40, deadline=None)
def pairs_in_a_plane(kind: type[StandingIndex], world: list[Row], asked: list[RangeQuery]) -> None:
    """Metres instead of degrees."""
    _agrees(kind, world, asked, space=PLANE)


def _near(values: list[float]) -> st.SearchStrategy[float]:
    """Values, their neighbours among the floats, and places less than a quantisation step (1.7e-7) away."""
    steps: list[Callable[[float], float]] = [
        lambda v: v,
        lambda v: float(np.nextafter(v, -1000)),
        lambda v: float(np.nextafter(v, 1000)),
        lambda v: v + 1e-9,
        lambda v: v - 1e-9,
        lambda v: v + 2e-7,
    ]
    return st.builds(lambda v, step: step(v), st.sampled_from(values), st.sampled_from(steps))


_edges = st.tuples(_near([0.0, 0.125, 11.25, 45.0]), _near([0.0, 0.1, 22.5]))
Corner = tuple[float, float]


@given(world=st.lists(_edges, max_size=12), corners=st.lists(st.tuples(_edges, _edges), max_size=8), wide=st.booleans())
@settings(max_examples=100, deadline=None)
def edges_are_exact(
    kind: type[StandingIndex], world: list[Corner], corners: list[tuple[Corner, Corner]], wide: bool
) -> None:
    """Points on, and a float beside, the edges of boxes that may be narrower than a quantisation step."""
    asked = [
        RangeQuery("", Box(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))) for a, b in corners
    ]
    if wide:  # else the block's own extent may decide how places are quantised
        asked.append(RangeQuery("rain", Box(-180, -90, 180, 90)))
    _agrees(kind, [Row(x, y, 0, "rain") for x, y in world], asked)


def many_conjuncts_negatives_and_duplicates(kind: type[StandingIndex]) -> None:
    """256 conjuncts; the same query twice."""
    wide = parse(" OR ".join(f"(w{i} v{i} NOT x{i})" for i in range(256)))
    box = Box(-10, -10, 10, 10)
    asked = [RangeQuery(wide, box), RangeQuery(wide, box), RangeQuery("a b c d e NOT z", box), RangeQuery("", box)]
    said = ["w0 v0 w9 v9 w255 v255", "w3 v3 x3", "w3 v3 x4", "a b c d e", "a b c d e z", "a b c d", "", "w1 v2"]
    _agrees(kind, [Row(0, 0, 0, text) for text in said], asked)


def top_terms_match_by_region_alone(kind: type[StandingIndex]) -> None:
    """Across the antimeridian, with and without words."""
    config = config_of()
    asked = [TopTermsQuery(Box(170, 0, -170, 10), 3, window="1h", every="10min")]
    world = [Row(175, 5, 0, ""), Row(-175, 5, 0, "rain"), Row(0, 5, 0, "rain")]
    index = kind.build(block_of(asked, config), config.space)
    assert pairs_found(index.match(columns_of(world, config))) == [(0, 0), (1, 0)]


@given(world=st.lists(worlds.rows, max_size=8), asked=st.lists(worlds.ranges, max_size=8))
@settings(max_examples=20, deadline=None)
def a_mapped_index_answers_alike(kind: type[StandingIndex], world: list[Row], asked: list[RangeQuery]) -> None:
    """Another process has the arrays from a file."""
    config = config_of(8)
    index = kind.build(block_of(asked, config), config.space)
    again = kind.from_arrays(worlds.mapped(index.to_arrays()), config.space)
    objects = columns_of(world, config)
    assert pairs_found(again.match(objects)) == pairs_found(index.match(objects))


RANGE_CHECKS: tuple[Callable[[type[StandingIndex]], None], ...] = (
    pairs_equal_a_double_loop,
    pairs_in_a_plane,
    edges_are_exact,
    many_conjuncts_negatives_and_duplicates,
    top_terms_match_by_region_alone,
    a_mapped_index_answers_alike,
)
