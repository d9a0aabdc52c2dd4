"""Panes against the definition of the windows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.standing.panes import (
    NO_PANE,
    PaneCounts,
    Series,
    WindowTerms,
    last_window,
    leaders_first,
    leading_counts,
    pane_end,
    pane_of,
    panes_of_window,
    sum_counts,
    top_terms,
    windows,
    windows_of_pane,
)
from sightline.index.standing.panes import leaders as leading
from sightline.text.dictionary import TermDictionary

WORDS = ["rain", "flood", "boat", "#flood", "a", "ab", "東", "zoë"]


@given(ts=st.integers(-60, 60), anchor=st.integers(-9, 9), window=st.integers(1, 25), every=st.integers(1, 12))
@settings(max_examples=400, deadline=None)
def test_a_pane_lies_in_exactly_the_windows_of_its_instants(ts: int, anchor: int, window: int, every: int) -> None:
    pane = int(pane_of(ts, anchor, window, every))
    wanted = [i for i in range(-120, 120) if anchor + i * every - window < ts <= anchor + i * every]
    if pane == NO_PANE:
        assert wanted == []
        return
    assert list(windows_of_pane(pane, window, every)) == wanted
    assert [i for i in range(-120, 120) if pane in panes_of_window(i, window, every)] == wanted
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


@st.composite
def slots(draw: st.DrawFn) -> list[tuple[int, dict[str, int]]]:
    """Panes in any order, also repeated, each with counts of some words."""
    words = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4), min_size=1, max_size=6)
    return draw(st.lists(st.tuples(st.integers(-20, 40), words), min_size=1, max_size=30))


def counts_of(world: list[tuple[int, dict[str, int]]]) -> PaneCounts:
    rows = [(WORDS.index(word), n) for _, words in world for word, n in words.items()]
    offsets = np.cumsum([0] + [len(words) for _, words in world])
    panes = np.array([pane for pane, _ in world], np.int64)
    return PaneCounts(
        np.arange(len(world)),
        panes,
        offsets,
        np.array([r[0] for r in rows], np.int32),
        np.array([r[1] for r in rows], np.int64),
        TermDictionary.from_strings(WORDS, 7),
    )


def expected_rows(world: list[tuple[int, dict[str, int]]], one: Series) -> list[tuple[int, int, str, int]]:
    out = []
    for i in range(max(one.first, -60), min(one.last, 120) + 1):
        total: Counter[str] = Counter()
        for pane, words in world:
            if pane in panes_of_window(i, one.window, one.every):
                total.update(words)
        ranked = sorted(total.items(), key=lambda item: (-item[1], item[0].encode()))
        out += [(i, rank, word, n) for rank, (word, n) in enumerate(ranked[: one.k], start=1)]
    return out


def rows_of(found: WindowTerms, counts: PaneCounts, number: int) -> list[tuple[int, int, str, int]]:
    names = counts.dictionary.strings().to_pylist()
    mine = np.flatnonzero(found.series == number)
    return [(int(found.window[r]), int(found.rank[r]), names[found.term[r]], int(found.objects[r])) for r in mine]


@given(
    world=slots(),
    window=st.integers(1, 30),
    every=st.integers(1, 5),
    first=st.integers(-30, 20),
    length=st.integers(-1, 60),
    k=st.sampled_from([1, 2, 3, 50]),
    room=st.sampled_from([1, 7, 16384]),
)
@settings(max_examples=150, deadline=None)
def test_sliding_sums_equal_sums_of_each_window(world, window, every, first, length, k, room) -> None:
    if window % every == 0 or window < every:
        world = [(pane | 1, words) for pane, words in world]  # the only ones `pane_of` gives
    counts = counts_of(world)
    series = [Series(np.arange(len(world)), window, every, first + i, first + length, k) for i in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "FIRST_ROOM", room)
        found, failed = top_terms(counts, np.zeros(len(world), np.int64), series)
    assert failed == []
    for number, one in enumerate(series):
        assert rows_of(found, counts, number) == expected_rows(world, one)


@given(world=slots(), window=st.integers(1, 30), k=st.sampled_from([1, 2, 3]), leaders=st.sampled_from([1, 2, 4]))
@settings(max_examples=150, deadline=None)
def test_leading_rows_give_the_same_or_say_that_they_cannot(world, window, k, leaders) -> None:
    world = [(pane | 1, words) for pane, words in world]
    series = [Series(np.arange(len(world)), window, 1, -30, 60, k)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leading, "LEADERS", leaders)
        counts, tail = leaders_first(counts_of(world))
        few = leading_counts([(counts, np.arange(5)[: len(world)]), (counts, np.arange(5, len(world)))])
    for slot, (_, words) in enumerate(world):
        front = counts.count[counts.offsets[slot] : counts.offsets[slot + 1]]
        assert sorted(front[:leaders]) == sorted(words.values())[-leaders:]
        assert tail[slot] == max(front[leaders:], default=0)
    found, failed = top_terms(few, tail, series)
    assert failed or rows_of(found, few, 0) == expected_rows(world, series[0])


def test_leading_rows_are_enough_where_a_few_terms_stand_out() -> None:
    world = [(pane, {**dict.fromkeys(WORDS, 1), "rain": 9, "boat": 8}) for pane in range(1, 13, 2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leading, "LEADERS", 2)
        counts, tail = leaders_first(counts_of(world))
        few = leading_counts([(counts, np.arange(len(world)))])
    assert few.rows == 2 * len(world) < counts.rows
    one = Series(np.arange(len(world)), 3, 1, -30, 60, 2)
    found, failed = top_terms(few, tail, [one])
    assert (rows_of(found, few, 0), failed) == (expected_rows(world, one), [])
    assert top_terms(few, tail, [replace(one, k=3)])[1] == [0]  # the third is in the tail


def test_a_hundred_thousand_windows_over_few_panes() -> None:
    """A window of 50,000 periods: each pane is added once and subtracted once, not summed per window."""
    world = [(2 * p + 1, {WORDS[p % 5]: 1 + p % 3}) for p in range(0, 50_000, 500)]
    counts = counts_of(world)
    found, _ = top_terms(counts, np.zeros(len(world), np.int64), [Series(np.arange(100), 50_000, 1, 0, 99_999, 2)])
    ends = np.array([pane >> 1 for pane, _ in world])
    assert np.unique(found.window).tolist() == list(range(ends[-1] + 50_000))
    for i in (0, 1, 499, 500, 49_999, 50_001, 77_777, ends[-1] + 49_999):
        total: Counter[str] = Counter()
        for pane, words in world:
            if i - 50_000 < pane >> 1 <= i:
                total.update(words)
        ranked = sorted(total.items(), key=lambda item: (-item[1], item[0].encode()))[:2]
        names = counts.dictionary.strings().to_pylist()
        rows = np.flatnonzero(found.window == i)
        assert [(names[found.term[r]], int(found.objects[r])) for r in rows] == ranked


@given(parts=st.lists(slots(), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_sums_of_parts_equal_a_loop(parts) -> None:
    made, expected = [], Counter()
    for world in parts:
        by_pane: dict[int, dict[str, int]] = {}
        for pane, words in world:
            by_pane.setdefault(pane, words)
        made.append(replace(counts_of(sorted(by_pane.items())), table=np.zeros(len(by_pane), np.int64)))
        for pane, words in by_pane.items():
            expected.update({(pane, word): n for word, n in words.items()})
    total = sum_counts(made)
    slot = np.repeat(total.pane, np.diff(total.offsets))
    names = total.dictionary.strings().to_pylist()
    rows = zip(slot.tolist(), total.term.tolist(), total.count.tolist(), strict=True)
    assert {(pane, names[term]): n for pane, term, n in rows} == expected
    assert total.rows == len(expected)
