from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.store import cut, slice_of, stack_of

DAY = 86_400_000_000


def test_slices_are_half_open_and_floor() -> None:
    assert slice_of(np.array([-1, 0, 9, 10, -10, -11]), 10).tolist() == [-1, 0, 0, 1, -1, -2]


def test_a_sparse_batch_over_decades_makes_few_groups() -> None:
    ts = np.arange(5000, dtype=np.int64) * 3 * DAY  # one row per slice, 41 years
    assert len(cut(ts, 3 * DAY, 1000)) == 5
    assert len(cut(ts, 3 * DAY, 1)) == 5000


def test_full_slices_stand_alone() -> None:
    ts = np.array([0] * 10 + [DAY] * 2 + [5 * DAY] + [9 * DAY] * 10, np.int64)
    assert [(c.lo, c.hi, len(c.rows)) for c in cut(ts, DAY, 5)] == [(0, 1, 10), (1, 6, 3), (9, 10, 10)]
    assert cut(np.empty(0, np.int64), DAY, 5) == []
    with pytest.raises(ValueError, match="positive"):
        cut(ts, 0, 5)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200), max_size=60),
    st.integers(1, 50),
    st.integers(1, 20),
)
def test_cut_is_a_partition_in_time_order(values: list[int], slice_us: int, min_rows: int) -> None:
    ts = np.array(values, np.int64)
    groups = cut(ts, slice_us, min_rows)
    assert sorted(row for group in groups for row in group.rows.tolist()) == list(range(len(ts)))
    for group in groups:
        numbers = [value // slice_us for value in ts[group.rows].tolist()]
        assert (min(numbers), max(numbers) + 1) == (group.lo, group.hi)
        assert group.rows.tolist() == sorted(group.rows.tolist())
        if len(set(numbers)) > 1:  # joined slices are small ones
            assert max(numbers.count(number) for number in numbers) < min_rows
    assert all(a.hi <= b.lo for a, b in pairwise(groups))
    assert len(groups) <= 2 * len(ts) / min_rows + 1


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20))
def test_stack_covers_its_slices(lo: int, width: int) -> None:
    owner, _, run = stack_of(4, lo, lo + width).partition("/")
    assert owner == "4"
    if run == "all":
        assert lo < 0 <= lo + width - 1
        return
    number, _, size = run.partition("+")
    first = int(number) << int(size or 0)
    assert first <= lo
    assert lo + width <= first + (1 << int(size or 0))
    if width == 1:
        assert run == str(lo)
