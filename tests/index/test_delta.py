"""The delta: insertions in any portions, deletions, and a mapped delta that goes on growing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.drawn_loads import uniform_load

from sightline.index.registry import standing_index
from sightline.index.standing.delta import DeltaIndex, _kernels
from sightline.index.standing.delta import index as delta
from sightline.model.queries import RangeQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.testing import small_worlds as worlds
from sightline.testing.small_worlds import Row, block_of, columns_of, config_of
from sightline.testing.standing_indexes import pairs_by_a_double_loop, pairs_found

portions = st.lists(st.lists(worlds.ranges, max_size=4), max_size=5)


def pairs(index: DeltaIndex, world: list[Row], bits: int = 64) -> list[tuple[int, int]]:
    return pairs_found(index.match(columns_of(world, config_of(bits))))


def naive(world: list[Row], asked: list[RangeQuery], gone: frozenset[int] = frozenset()) -> list[tuple[int, int]]:
    return [(i, j) for i, j in pairs_by_a_double_loop(world, asked, Space()) if j not in gone]


@given(
    world=st.lists(worlds.rows, min_size=1, max_size=8),
    asked=portions,
    bits=st.sampled_from([64, 8, 1]),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_portions_and_deletions_equal_a_double_loop(
    world: list[Row], asked: list[list[RangeQuery]], bits: int, data: st.DataObject
) -> None:
    config = config_of(bits)
    index, every, gone = DeltaIndex.empty(config.space), [], set()
    for portion in asked:
        assert index.insert(block_of(portion, config)) == len(every)
        every += portion
        assert len(index) == len(every)
        if every:
            dropped = data.draw(st.sets(st.integers(0, len(every) - 1), max_size=2))
            index.delete(np.array(sorted(dropped), np.int64))
            gone |= dropped
        assert pairs(index, world, bits) == naive(world, every, frozenset(gone))


@given(world=st.lists(worlds.rows, min_size=1, max_size=8), asked=portions, data=st.data())
@settings(max_examples=50, deadline=None)
def test_order_of_insertion_does_not_matter(
    world: list[Row], asked: list[list[RangeQuery]], data: st.DataObject
) -> None:
    config = config_of()
    order = data.draw(st.permutations(range(len(asked))))
    first = np.concatenate([[0], np.cumsum([len(portion) for portion in asked])])
    number = np.concatenate([np.arange(first[p], first[p + 1]) for p in order] or [np.empty(0)]).astype(int).tolist()
    index = DeltaIndex.empty(config.space)
    for p in order:
        index.insert(block_of(asked[p], config))
    fresh = DeltaIndex.build(block_of([query for portion in asked for query in portion], config), config.space)
    assert sorted((i, number[j]) for i, j in pairs(index, world)) == pairs(fresh, world)


@given(
    world=st.lists(worlds.rows, min_size=1, max_size=8),
    asked=st.lists(st.builds(RangeQuery, worlds.expressions, worlds.boxes), max_size=8),
)
@settings(max_examples=40, deadline=None)
def test_a_full_buffer_resumes(world: list[Row], asked: list[RangeQuery]) -> None:
    config = config_of()
    index = DeltaIndex.build(block_of(asked, config), config.space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta, "FIRST_ROOM", 1)
        assert pairs(index, world) == naive(world, asked)


def test_a_mapped_delta_goes_on_without_touching_its_file(tmp_path: Path) -> None:
    config = config_of(8)
    asked = [RangeQuery("flood OR rain NOT boat", Box(-1, -1, 1, 1)), RangeQuery("boat", Box(179, -90, -179, 90))]
    more = [RangeQuery("drill", Box(-1, -1, 1, 1)), RangeQuery("", Box(0, 0, 0, 0))]
    world = [Row(0, 0, 0, "flood rain drill"), Row(180, 5, 0, "boat"), Row(1, 1, 0, "drill rain boat")]
    write_array_file(
        tmp_path / "delta.sl", DeltaIndex.build(block_of(asked, config), config.space).to_arrays(), {}, durable=False
    )
    file = ArrayFile.open(tmp_path / "delta.sl")
    mapped = DeltaIndex.from_arrays({name: file.array(name) for name in file.names}, config.space)
    again = DeltaIndex.from_arrays({name: file.array(name) for name in file.names}, config.space)
    mapped.insert(block_of(more, config))
    mapped.delete(np.array([1]))
    assert pairs(mapped, world, 8) == naive(world, asked + more, frozenset({1}))
    assert pairs(again, world, 8) == naive(world, asked)
    again.delete(np.array([0]))
    assert pairs(again, world, 8) == naive(world, asked, frozenset({0}))
    file.check()
    # Read-only and writable arrays are one type to the kernel: nothing compiled twice.
    assert len(getattr(_kernels.delta_match, "signatures", [0])) == 1
    assert len(getattr(_kernels.delta_insert, "signatures", [0])) == 1


def test_a_grown_delta_equals_a_fresh_one_and_looks_at_few_entries() -> None:
    block, world = uniform_load(300, 5000, seed=5, sides=(-1, 1.3))
    grown = DeltaIndex.empty(Space())
    for low in range(0, 5000, 311):
        grown.insert(block.take(np.arange(low, min(low + 311, 5000))))
    objects = columns_of(world, config_of())
    slow = standing_index("scan").build(block, Space()).match(objects)
    found, fresh = (index.match(objects) for index in (grown, DeltaIndex.build(block, Space())))
    expected = sorted(zip(slow.object.tolist(), slow.query.tolist(), strict=True))
    for answer in (found, fresh):
        assert sorted(zip(answer.object.tolist(), answer.query.tolist(), strict=True)) == expected
        assert len(expected) > 20
        assert len(expected) <= answer.candidates
        assert answer.candidates * 200 < slow.candidates


def test_room_doubles() -> None:
    """Many small insertions cost as many copies of the arrays as the logarithm of their number."""
    block, _ = uniform_load(1, 2000, seed=6)
    index = DeltaIndex.empty(Space())
    rooms = set()
    for row in range(2000):
        index.insert(block.take(np.array([row])))
        rooms.add(index.to_arrays()["slots"].shape[0])
    assert len(rooms) <= 12
    assert max(rooms) * 5 >= index.to_arrays()["used"][1] * 8
