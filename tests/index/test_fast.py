"""FAST: exact whatever theta makes of the lists, and theta does what it is for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.drawn_loads import uniform_load

from sightline.index.registry import standing_index
from sightline.index.standing import fast
from sightline.index.standing.fast import FastIndex, FastParameters
from sightline.index.standing.fast_kernels import INNER, SCAN_CHILDREN
from sightline.model.queries import RangeQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.testing import small_worlds as worlds
from sightline.testing.small_worlds import Row, block_of, columns_of, config_of
from sightline.testing.standing_indexes import pairs_by_a_double_loop, pairs_found

thetas = st.sampled_from([0, 1, 2, 5])


@given(
    world=st.lists(worlds.rows, max_size=10),
    asked=st.lists(worlds.ranges, max_size=14),
    bits=st.sampled_from([64, 1]),
    theta=thetas,
)
@settings(max_examples=120, deadline=None)
def test_pairs_for_any_theta(world: list[Row], asked: list[RangeQuery], bits: int, theta: int) -> None:
    config = config_of(bits)
    index = FastIndex.build(block_of(asked, config), config.space, FastParameters(theta))
    assert pairs_found(index.match(columns_of(world, config))) == pairs_by_a_double_loop(world, asked, config.space)


@given(
    world=st.lists(worlds.rows, min_size=1, max_size=8),
    theta=thetas,
    asked=st.lists(st.builds(RangeQuery, worlds.expressions, worlds.boxes), max_size=8),
)
@settings(max_examples=40, deadline=None)
def test_a_full_buffer_resumes(world: list[Row], asked: list[RangeQuery], theta: int) -> None:
    config = config_of()
    index = FastIndex.build(block_of(asked, config), config.space, FastParameters(theta))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "FIRST_ROOM", 1)
        assert pairs_found(index.match(columns_of(world, config))) == pairs_by_a_double_loop(world, asked, config.space)


def test_it_looks_at_few_entries_and_fewer_for_a_smaller_theta() -> None:
    block, world = uniform_load(300, 5000, 5)
    objects = columns_of(world, config_of())
    slow = standing_index("scan").build(block, Space()).match(objects)
    looked = []
    for theta in (10**6, 64, 8):
        answer = FastIndex.build(block, Space(), FastParameters(theta)).match(objects)
        assert pairs_found(answer) == pairs_found(slow)
        looked.append(answer.candidates)
    assert looked[0] > 2 * looked[1] > 4 * looked[2]
    assert looked[2] * 20 < slow.candidates
    assert looked[2] >= len(slow.object)


def test_theta_moves_queries_into_the_trie_and_down_the_pyramid() -> None:
    block, _ = uniform_load(1, 5000, 5)
    root = FastIndex.build(block, Space(), FastParameters(10**6)).to_arrays()
    assert set(root["levels"].tolist()) == {0, 1}  # one level, no inner node; the wildcard has none
    assert len(root["entries"]) == 5000
    assert (root["nodes"][:, 3] == 0).all()
    divided = FastIndex.build(block, Space(), FastParameters(8)).to_arrays()
    assert (divided["levels"] & INNER).any()
    assert (divided["levels"] & ~np.uint8(INNER | 1)).any()  # below the root
    assert len(divided["entries"]) < 3 * 5000  # only single-keyword queries are copied
    assert divided["nodes"][:, 1].sum() == len(divided["entries"])


def test_a_rare_term_stands_once_whatever_its_region() -> None:
    block, _ = uniform_load(1, 400, 5, words=4000)
    arrays = FastIndex.build(block, Space(), FastParameters(8)).to_arrays()
    assert len(arrays["entries"]) == 400
    assert arrays["levels"].max() == 1


def test_many_children_are_found_through_the_table() -> None:
    config = config_of()
    box = Box(-10, -10, 10, 10)
    # `a` is the rarest: every other word occurs twice as often, so all pairs hang below it.
    others = [f"b{i}" for i in range(2 * SCAN_CHILDREN)]
    asked = [RangeQuery(f"a {word}", box) for word in others]
    asked += [RangeQuery(f"{word} z{i % 7}", box) for i, word in enumerate(others * (len(others) + 1))]
    index = FastIndex.build(block_of(asked, config), config.space, FastParameters(4))
    assert index.to_arrays()["nodes"][:, 3].max() > SCAN_CHILDREN
    world = [Row(0, 0, 0, "a b0 b5"), Row(0, 0, 0, "b7 a z1"), Row(0, 0, 0, "a"), Row(50, 0, 0, "a b0")]
    assert pairs_found(index.match(columns_of(world, config))) == pairs_by_a_double_loop(world, asked, config.space)
