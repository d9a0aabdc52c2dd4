"""Groups of top-terms queries: the same counts as without them and as a double loop, for less work."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.standing.block import QueryBlock
from sightline.index.standing.groups import Ages, Counted, SubscriptionGroups, build, count, count_objects
from sightline.index.standing.panes import counts as pane_counts
from sightline.index.standing.panes import windows_of_pane
from sightline.model.queries import TopTermsQuery
from sightline.model.regions import Box, Circle
from sightline.model.space import Space
from sightline.model.terms import terms_of
from sightline.model.time import MAX_US, MIN_US
from sightline.testing.small_worlds import (
    PLANE,
    Row,
    block_of,
    columns_of,
    config_of,
    lies_in,
    planar_regions,
    regions,
    rows,
)

SPANS = range(-60, 90)


def ctq(region: object, window: int = 4, every: int = 2, k: int = 3) -> TopTermsQuery:
    return TopTermsQuery(region, k, window=f"{window}us", every=f"{every}us")  # type: ignore[arg-type]


def ctqs(areas: st.SearchStrategy[object]) -> st.SearchStrategy[list[TopTermsQuery]]:
    one = st.builds(ctq, areas, st.sampled_from([1, 2, 3, 4, 6, 7]), st.sampled_from([1, 2, 3, 5]))
    return st.lists(one, min_size=1, max_size=12)


def as_row(query: TopTermsQuery, counted: Counted, groups: SubscriptionGroups, number: int) -> Counter[tuple[int, str]]:
    """Counts of one query: those of every table that counts for it, by the windows of the pane."""
    counts, out = counted.counts, Counter()
    names = counts.dictionary.strings().to_pylist()
    for slot, (table, pane) in enumerate(zip(counts.table.tolist(), counts.pane.tolist(), strict=True)):
        if number in groups.members[groups.member_offsets[table] : groups.member_offsets[table + 1]]:
            block = groups.block
            shared = windows_of_pane(pane, int(block.window[number]), int(block.every[number]))
            for row in range(counts.offsets[slot], counts.offsets[slot + 1]):
                for window in shared:
                    out[window, names[counts.term[row]]] += int(counts.count[row])
    return out


def by_hand(block: QueryBlock, queries: list[TopTermsQuery], world: list[Row], ages: Ages, space: Space):
    """Counts of each query by (window from its phase, term), and how many pairs were late."""
    late, out = 0, []
    for q, query in enumerate(queries):
        mine: Counter[tuple[int, str]] = Counter()
        start, end, every, window = (int(getattr(block, name)[q]) for name in ("start", "end", "every", "window"))
        phase = int(block.anchor[q]) % every
        for row in world if ages.live[q] else ():
            if not start <= row.ts < end or not lies_in(query.region, row, space):
                continue
            ends = {i: phase + i * every for i in SPANS}
            if min(e for e in ends.values() if e >= row.ts and (start == MIN_US or e > start)) > end:
                continue  # after the last window
            has = [i for i in SPANS if ends[i] - window < row.ts <= ends[i]]
            exist = [i for i in has if ends[i] <= end and (start == MIN_US or ends[i] > start)]
            if ages.closed[q]:
                late += bool(exist)
                continue
            late += any(ends[i] < ages.passed[q] for i in exist)
            mine.update((i, term) for i in has for term in terms_of(row.text))
        out.append(mine)
    return out, late


@given(
    data=st.data(),
    world=st.lists(rows, max_size=25),
    bits=st.sampled_from([64, 8, 1]),
    planar=st.booleans(),
    small=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_counts_are_those_of_a_double_loop_with_and_without_groups(data, world, bits, planar, small) -> None:
    space = PLANE if planar else Space()
    areas = planar_regions if planar else regions
    pool = data.draw(st.lists(areas, min_size=1, max_size=5))
    queries = data.draw(ctqs(st.sampled_from(pool)))
    config = config_of(bits, space)
    n = len(queries)
    flags = st.lists(st.booleans(), min_size=n, max_size=n).map(lambda values: np.array(values, np.bool_))
    age = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    starts = np.array(data.draw(st.lists(st.sampled_from([MIN_US, 3, 5]), min_size=n, max_size=n)))
    ends = np.array(data.draw(st.lists(st.sampled_from([MAX_US, 12]), min_size=n, max_size=n)))
    block = QueryBlock.from_queries(queries, [f"q{i}" for i in range(n)], np.arange(n), starts, ends, config)
    passed = np.where(age == 0, MIN_US, 14)
    ages = Ages(passed, (ends < MAX_US) & (ends <= passed), data.draw(flags))
    cut = data.draw(st.integers(0, len(world)))
    batches = [columns_of(part, config) for part in (world[:cut], world[cut:])]
    expected, late = by_hand(block, queries, world, ages, space)
    made = []
    for shared in (True, False):
        groups = SubscriptionGroups.build(block, space, age, shared=shared)
        with pytest.MonkeyPatch.context() as patch:
            if small:
                patch.setattr(build, "FIRST_ROOM", 1)
                patch.setattr(pane_counts, "FIRST_ROOM", 1)
                patch.setattr(count, "FIRST_SLOTS", 1)
            made.append(count_objects(groups, batches, ages))
        for number, query in enumerate(queries):
            if ages.live[number]:
                assert as_row(query, made[-1], groups, number) == expected[number], (shared, number)
        assert made[-1].late == late
    assert made[0].pairs <= made[1].pairs


def live(n: int) -> Ages:
    return Ages(np.full(n, MIN_US), np.zeros(n, np.bool_), np.ones(n, np.bool_))


def counted(queries: list[TopTermsQuery], world: list[Row]) -> Counted:
    groups = SubscriptionGroups.build(block_of(queries, config_of()), Space())
    return count_objects(groups, [columns_of(world, config_of())], live(len(queries)))


WORLD = [Row(0.1 * i, 0.0, i % 7, "rain flood") for i in range(50)]


@pytest.mark.parametrize("region", [Box(-1, -1, 3, 1), Circle(0, 0, 300_000)])
def test_equal_regions_cost_one_count(region) -> None:
    one = counted([ctq(region)], WORLD)
    many = counted([ctq(region, window) for window in (2, 4, 8, 20) for _ in range(25)], WORLD)
    assert many.pairs == one.pairs > 0
    assert many.compared == one.compared
    assert many.counts.rows == one.counts.rows


def test_what_boxes_have_in_common_is_counted_once() -> None:
    boxes = [Box(0, -1, 3 + 0.1 * i, 1) for i in range(10)]
    group = counted([ctq(box) for box in boxes], WORLD)
    inside = sum(row.lon <= 3 for row in WORLD)
    rest = sum(3 < row.lon <= box.east for box in boxes for row in WORLD)
    assert group.pairs == inside + rest
    assert group.pairs < counted([ctq(boxes[0])], WORLD).pairs * 10


@pytest.mark.parametrize("other", [{"every": 3}, {"window": 3}])
def test_other_panes_are_not_shared(other) -> None:
    groups = SubscriptionGroups.build(
        block_of([ctq(Box(0, 0, 1, 1)), ctq(Box(0, 0, 1, 1), **other)], config_of()), Space()
    )
    assert len(groups.first_row) == 2


def test_a_box_joins_where_most_is_saved() -> None:
    """Continent and country share the country; a town inside would leave them only the town in common."""
    continent, country, town = Box(0, 0, 40, 40), Box(1, 1, 30, 30), Box(5, 5, 5.5, 5.5)
    groups = SubscriptionGroups.build(block_of([ctq(town), ctq(country), ctq(continent)], config_of()), Space())
    assert groups.row_group[1] == groups.row_group[2] != groups.row_group[0]
    assert groups.tables == 4  # one, and common + two own


def test_other_lifetimes_and_ages_are_not_shared() -> None:
    block = block_of([ctq(Box(0, 0, 1, 1))] * 3, config_of())
    block = replace(block, end=np.array([MAX_US, 50, MAX_US]))
    assert len(SubscriptionGroups.build(block, Space(), np.array([0, 0, 1])).first_row) == 3


def test_many_boxes_make_groups_of_bounded_size() -> None:
    rng = np.random.default_rng(7)
    west, south = rng.uniform(-1, 0, 300), rng.uniform(-1, 0, 300)
    queries = [ctq(Box(w, s, w + 2, s + 2)) for w, s in zip(west, south, strict=True)]
    groups = SubscriptionGroups.build(block_of(queries, config_of()), Space())
    sizes = np.bincount(groups.row_group)
    assert 300 / 64 <= len(sizes) < 60
    assert sizes.max() <= 64
