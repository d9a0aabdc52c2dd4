"""Panes against the definition of the windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_worlds import Row, columns_of, config_of

from sightline.index.standing import panes
from sightline.index.standing.panes import (
    NO_PANE,
    last_window,
    pane_counts,
    pane_end,
    pane_of,
    panes_of_window,
    windows_of_pane,
)


@given(ts=st.integers(-60, 60), anchor=st.integers(-9, 9), window=st.integers(1, 25), every=st.integers(1, 12))
@settings(max_examples=400, deadline=None)
def test_a_pane_lies_in_exactly_the_windows_of_its_instants(ts: int, anchor: int, window: int, every: int) -> None:
    pane = int(pane_of(ts, anchor, window, every))
    wanted = [i for i in range(-90, 90) if anchor + i * every - window < ts <= anchor + i * every]
    if pane == NO_PANE:
        assert wanted == []
        return
    assert list(windows_of_pane(pane, window, every)) == wanted
    assert [i for i in range(-90, 90) if pane in panes_of_window(i, window, every)] == wanted
    assert int(last_window(pane, window, every)) == wanted[-1]
    end = pane_end(pane, anchor, window, every)
    assert ts <= end
    assert int(pane_of(end, anchor, window, every)) == pane != int(pane_of(end + 1, anchor, window, every))


@given(anchor=st.integers(-5, 5), window=st.integers(1, 25), every=st.integers(1, 12), i=st.integers(-3, 5))
@settings(max_examples=200, deadline=None)
def test_the_panes_of_a_window_cover_it_and_nothing_else(anchor: int, window: int, every: int, i: int) -> None:
    t = anchor + i * every
    instants = np.arange(t - window - 30, t + 31)
    covered = np.isin(pane_of(instants, anchor, window, every), list(panes_of_window(i, window, every)))
    assert covered.tolist() == ((instants > t - window) & (instants <= t)).tolist()


def test_a_whole_ratio_has_one_pane_per_period() -> None:
    assert len(panes_of_window(10, 60, 10)) == 6
    assert len(panes_of_window(10, 65, 10)) == 13
    assert list(panes_of_window(4, 3, 10)) == [9]


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([NO_PANE, 1, 2, 3])), max_size=20)


@given(pairs=pairs.map(lambda p: sorted(set(p))), room=st.sampled_from([1, 2, 65536]))
@settings(max_examples=60, deadline=None)
def test_counts_equal_a_loop(pairs: list[tuple[int, int, int]], room: int) -> None:
    texts = ["rain flood", "rain", "", "#flood rain boat boat"]
    objects = columns_of([Row(0, 0, 0, text) for text in texts], config_of())
    expected: dict[tuple[int, int, str], int] = {}
    for row, query, pane in pairs:
        for term in objects.terms.row_strings(row) if pane != NO_PANE else ():
            expected[query, pane, term] = expected.get((query, pane, term), 0) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panes, "FIRST_ROOM", room)
        columns = [np.array([p[j] for p in pairs], np.int64) for j in range(3)]
        counts = pane_counts(objects, *columns)
    strings = objects.terms.dictionary.strings().to_pylist()
    keys = zip(counts.query.tolist(), counts.pane.tolist(), [strings[t] for t in counts.term], strict=True)
    assert dict(zip(keys, counts.objects.tolist(), strict=True)) == expected
    assert len(counts.term) == len(expected)
