from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.store import FileEntry, pick_merge
from sightline.store.merge_policy import level, lsm_insert, pick


def io_after(flushes: int, size: int = 1) -> list[int]:
    stack: tuple[int, ...] = ()
    total, seen = 0, []
    for _ in range(flushes):
        step = lsm_insert(stack, size)
        stack, total = step.stack, total + step.io
        seen.append(total)
    return seen


def test_golden_e2_cumulative_io_of_alg_8() -> None:
    assert io_after(16) == [1, 4, 5, 16, 17, 20, 21, 48, 49, 52, 53, 64, 65, 68, 69, 128]


@pytest.mark.parametrize("size", [1, 7])
def test_theorem_6_1_as_corrected(size: int) -> None:
    for n, io in enumerate(io_after(1024, size), start=1):
        if n >= 2:
            upper = 2 * n * math.log2(n)
            assert size * (upper - 4 * n + 5) <= io + 1e-6
            assert io <= size * upper + 1e-6


def test_the_bounds_are_met_so_they_can_fail() -> None:
    totals = io_after(64)
    assert totals[63] == 2 * 64 * 6  # a power of two meets the upper bound
    assert totals[62] == 2 * 64 * 6 - 4 * 64 + 5  # one flush before it, the lower bound of 64


def test_an_empty_stack_has_infinite_size() -> None:
    assert lsm_insert((), 5).stack == (5,)
    assert lsm_insert((), 5).io == 5


@given(st.lists(st.integers(1, 1000), max_size=40))
def test_alg_8_keeps_rows_and_a_falling_stack(sizes: list[int]) -> None:
    stack: tuple[int, ...] = ()
    for size in sizes:
        stack = lsm_insert(stack, size).stack
    assert sum(stack) == sum(sizes)
    assert all(a > b for a, b in pairwise(stack))


def test_level_is_exact_at_powers_of_two() -> None:
    for exponent in range(1, 50):
        assert level(2**exponent) == exponent
        assert level(2**exponent - 1) == exponent - 1
    assert level(0) == level(1) == 0
    assert level(3, unit=4) == -1
    assert level(4, unit=4) == 0


def test_pick_by_hand() -> None:
    assert pick([]) == []
    assert pick([8]) == []
    assert pick([8, 4, 2]) == []
    assert pick([8, 4, 2, 1, 1]) == [(0, 5)]  # one merge for the whole cascade
    assert pick([101, 100]) == [(0, 2)]  # by level; by size they would stay apart for ever
    assert pick([64, 8, 8]) == [(1, 3)]
    assert pick([10, 10, 10], max_rows=20) == [(0, 2)]


@given(st.lists(st.integers(0, 5000), max_size=60), st.sampled_from([1, 10, 1000]), st.sampled_from([4000, 10**9]))
def test_pick_leaves_few_files_and_is_then_content(sizes: list[int], unit: int, max_rows: int) -> None:
    groups = pick(sizes, unit, max_rows)
    assert all(stop - start > 1 for start, stop in groups)
    assert all(a[1] <= b[0] for a, b in pairwise(groups))
    after, at = [], 0
    for start, stop in [*groups, (len(sizes), len(sizes))]:
        after += sizes[at:start] + ([sum(sizes[start:stop])] if stop > start else [])
        at = stop
    assert sum(after) == sum(sizes)
    assert pick(after, unit, max_rows) == []
    assert all(size <= max_rows or size in sizes for size in after)
    if max_rows > sum(sizes):
        assert len(after) <= math.log2(sum(sizes) + 1) + 2


def entry(name: str, rows: int, version: int, stack: str = "s", kind: str = "matches") -> FileEntry:
    return FileEntry(kind, name, rows, rows, stack, version=version)


def test_groups_stay_within_kind_and_stack_and_are_neighbours_by_version() -> None:
    entries = [
        entry("c", 1, 3),
        entry("a", 1, 1),
        entry("other", 1, 2, stack="t"),
        entry("b", 4, 2),
        entry("kind", 1, 2, kind="segments"),
        entry("d", 1, 4),
    ]
    assert [[e.name for e in group] for group in pick_merge(entries)] == [["a", "b"], ["c", "d"]]
    assert pick_merge(entries[:1]) == []
