"""Standing range indexes beyond the conformance suite: full buffers, any levels, and the work they do."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.drawn_loads import drawn_block, drawn_rows

from sightline.index.registry import STANDING_INDEXES, standing_index
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.gi2_kernels import gi2_match
from sightline.index.standing.levels import index as levels
from sightline.index.standing.levels._kernels import MAX_DEPTH, levels_match
from sightline.index.standing.levels.choice import LevelChoice
from sightline.model.errors import UnknownPlugin
from sightline.model.queries import RangeQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.testing import small_worlds as worlds
from sightline.testing.small_worlds import Row, block_of, columns_of, config_of
from sightline.testing.standing_indexes import pairs_by_a_double_loop, pairs_found

resuming = pytest.mark.parametrize(
    "name", sorted(n for n, index in STANDING_INDEXES.items() if hasattr(sys.modules[index.__module__], "FIRST_ROOM"))
)


@resuming
@given(world=st.lists(worlds.rows, min_size=1, max_size=8), asked=st.lists(worlds.ranges, max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_full_buffer_resumes(name: str, world: list[Row], asked: list[RangeQuery]) -> None:
    config = config_of()
    index = standing_index(name).build(block_of(asked, config), config.space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[standing_index(name).__module__], "FIRST_ROOM", 1)
        assert pairs_found(index.match(columns_of(world, config))) == pairs_by_a_double_loop(world, asked, config.space)


@given(
    world=st.lists(worlds.rows, max_size=8),
    asked=st.lists(worlds.ranges, min_size=1, max_size=6),
    depths=st.sets(st.integers(0, 6), min_size=1, max_size=4),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_any_levels_give_the_same_pairs(
    world: list[Row], asked: list[RangeQuery], depths: set[int], data: st.DataObject
) -> None:
    config = config_of()
    level_of = data.draw(st.lists(st.integers(0, len(depths) - 1), min_size=MAX_DEPTH + 1, max_size=MAX_DEPTH + 1))
    choice = LevelChoice(np.array(sorted(depths), np.int32), np.array(level_of, np.int32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "choose_depths", lambda _: choice)
        index = standing_index("levels").build(block_of(asked, config), config.space)
    assert pairs_found(index.match(columns_of(world, config))) == pairs_by_a_double_loop(world, asked, config.space)


@pytest.mark.parametrize(("name", "kernel"), [("gi2", gi2_match), ("levels", levels_match)])
def test_a_mapped_index_is_not_compiled_again(name: str, kernel: object) -> None:
    """Read-only and writable arrays are one type to a kernel."""
    config = config_of()
    index = standing_index(name).build(block_of([RangeQuery("flood", Box(-1, -1, 1, 1))], config), config.space)
    mapped = standing_index(name).from_arrays(worlds.mapped(index.to_arrays()), config.space)
    objects = columns_of([Row(0, 0, 0, "flood")], config)
    assert pairs_found(mapped.match(objects)) == pairs_found(index.match(objects)) == [(0, 0)]
    assert len(getattr(kernel, "signatures", [0])) == 1


def random_load(n: int, m: int, sides: list[float], words: int = 60) -> tuple[QueryBlock, list[Row]]:
    """m queries of 2 keywords and regions of the given sides (share of the world's), words drawn as 1 / rank."""
    rng = np.random.default_rng(5)
    vocabulary, share = np.array([f"w{i}" for i in range(words)]), 1 / np.arange(1, words + 1)
    side, share = rng.choice(sides, m), share / share.sum()
    west, south = rng.uniform(-180, 180 - 360 * side), rng.uniform(-90, 90 - 180 * side)
    block = drawn_block(rng.choice(vocabulary, (m, 2), p=share).tolist(), west, south, 360 * side, 180 * side)
    return block, drawn_rows(rng, rng.choice(vocabulary, (n, 8), p=share))


@resuming
def test_few_entries_are_looked_at(name: str) -> None:
    block, world = random_load(300, 5000, [0.01, 0.03])
    objects = columns_of(world, config_of())
    fast, slow = (standing_index(n).build(block, Space()).match(objects) for n in (name, "scan"))
    assert pairs_found(fast) == pairs_found(slow)
    assert len(fast.object) > 20
    assert fast.candidates * 100 < slow.candidates
    assert fast.candidates >= len(fast.object)


def test_levels_look_at_fewer_entries_where_sizes_differ() -> None:
    block, world = random_load(500, 20_000, [0.0005, 0.2])
    objects = columns_of(world, config_of())
    flat, several = (standing_index(n).build(block, Space()) for n in ("gi2", "levels"))
    assert several.to_arrays()["depths"].size > 1
    one, two = flat.match(objects), several.match(objects)
    assert pairs_found(one) == pairs_found(two)
    assert two.candidates * 2 < one.candidates


def test_regions_alike_need_one_level() -> None:
    block, _ = random_load(0, 2000, [0.01], 5000)
    assert standing_index("levels").build(block, Space()).to_arrays()["depths"].size == 1


@pytest.mark.parametrize("name", ["gi2", "levels"])
def test_a_subscription_takes_at_most_160_bytes(name: str) -> None:
    block, _ = random_load(0, 50_000, [0.01], 20_000)
    arrays = standing_index(name).build(block, Space()).to_arrays()
    assert sum(array.nbytes for array in arrays.values()) <= 160 * len(block)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownPlugin, match="delta, fast, gi2, levels, scan"):
        standing_index("rtree")
