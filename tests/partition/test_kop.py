"""Keyword-oriented partition: Eq. 1, Alg. 1, insertion; and what the three ways to divide share."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.partition.allocate import in_turn, longest_first
from sightline.partition.subsets import DkmSksRouting, KopRouting, SopRouting
from sightline.partition.subsets.kop import keyword_costs
from tests.partition.subset_cases import (
    GLOBE,
    PLANE,
    block_of,
    box,
    history_of,
    homes,
    near,
    objects_of,
    settled_homes,
    subscriptions_of,
)
from tests.stages import worlds

ALL = [KopRouting, SopRouting, DkmSksRouting]

# nine objects; word nC is in C of them
NINE = [(i % 3, i // 3, " ".join(f"n{c}" for c in range(1, 10) if i < c)) for i in range(9)]
EXAMPLE_3 = [3, 7, 6, 8, 3, 5, 3, 1, 9, 7]


def test_equation_1_by_hand():
    queries = ["n3", "n3 OR n4", "n3 OR n4 OR n5", "nowhere", "", "n3 AND n6", "n3 AND NOT n6"]
    queries += ["(n3 AND n6) OR n1", "n3 AND NOT nowhere", "n3 AND nowhere"]
    costs = keyword_costs(subscriptions_of(NINE, [near(words, 1, 1, 2) for words in queries])) / 9
    by_hand = [3 / 9, 7 / 9, 12 / 9, 0, 1, 3 / 9 * 6 / 9, 3 / 9 * 3 / 9, 3 / 9 * 6 / 9 + 1 / 9, 3 / 9, 0]
    assert costs.tolist() == pytest.approx(by_hand)


def test_a_region_takes_its_share():
    """Ours: the objects of its region, here 4, 9, 1 and none of 9."""
    queries = [box("n3", 0, 0, 1, 1), box("n3", 0, 0, 8, 8), box("n3 OR n6", 2, 2, 3, 3), box("n3", 5, 5, 6, 6)]
    costs = keyword_costs(subscriptions_of(NINE, queries))
    assert costs.tolist() == pytest.approx([3 * 4 / 9, 3, 9 * 1 / 9, 0])


def test_both_pieces_of_a_region_count():
    rows = [(179, 0, "a"), (-179, 0, "a"), (0, 0, "a")]
    across = sl.RangeQuery("a", sl.Box(178, -1, -178, 1))
    assert keyword_costs(subscriptions_of(rows, [across], GLOBE)).tolist() == pytest.approx([3 * 2 / 3])


def test_example_3():
    """Golden E9: costs in ninths, ties by number."""
    queries = [near(f"n{cost}", 1, 1) for cost in EXAMPLE_3]
    routing = KopRouting.fitted(history_of(NINE, queries, first=1), PLANE.space, 2)
    home = homes(routing, block_of(queries, first=1))
    assert [{row + 1 for row in home if home[row] == w} for w in (0, 1)] == [{1, 6, 7, 9, 10}, {2, 3, 4, 5, 8}]
    assert routing.loads().tolist() == [27, 25]
    # A new subscription goes to the least C(w), which it raises: 25 + 1, 26 + 5, 27 + 1, 28 + 9.
    new = block_of([near(f"n{cost}", 1, 1) for cost in (1, 5, 1, 9)], first=100)
    assert settled_homes(routing, new) == {0: 1, 1: 1, 2: 0, 3: 0}
    assert homes(routing, new) == {0: 1, 1: 1, 2: 1, 3: 1}  # unknown: where the next one would go


def test_what_no_object_matched_is_spread():
    """Costs of 0 would all go to the worker with the least load."""
    queries = [near("nowhere", 1, 1) for _ in range(40)] + [near("n9", 1, 1)]
    routing = KopRouting.fitted(history_of(NINE, queries), PLANE.space, 2)
    assert sorted(np.bincount(list(homes(routing, block_of(queries)).values())).tolist()) == [12, 29]  # 9 = 18 halves
    fresh = settled_homes(routing, block_of(queries[:40], first=100))
    assert np.bincount(list(fresh.values())).tolist() == [20, 20]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5))
def test_each_goes_to_the_least_loaded(costs, workers):
    """Alg. 1 written out for the given order."""
    begin = [float(3 * w) for w in range(workers)]
    loads, taken, want = begin.copy(), [0] * workers, []
    for cost in costs:
        least = min(range(workers), key=lambda w: (loads[w], taken[w], w))
        loads[least] += cost
        taken[least] += 1
        want.append(least)
    assert in_turn(np.array(costs, np.float64), np.array(begin)).tolist() == want
    assert begin == [float(3 * w) for w in range(workers)]


def test_leaves_are_owners_then_parts():
    queries = [box("n3 n4", 0, 0, 1, 1), box("n3 OR n5", 2, 3, 4, 5), box("", 6, 6, 7, 7)]
    top = sl.TopTermsQuery(sl.Box(0, 0, 1, 1, planar=True), 3, window=timedelta(seconds=2), every=timedelta(seconds=1))
    history = history_of(NINE, [*queries, top])
    routing = KopRouting.fitted(history, PLANE.space, 2)
    table = routing.leaf_table().to_pylist()
    assert [row["leaf"] for row in table] == [0, 1, 2, 3]
    assert [(row["worker"], row["split"]) for row in table] == [
        (0, "hash"), (1, "hash"), (0, "keyword"), (1, "keyword")
    ]  # fmt: skip
    # costs 3*4/9*4/9, 8*0, 0 -> one worker has the first, the other the second and third
    assert [row["keywords"] for row in table] == [0, 0, 2, 0]
    assert [tuple(row[side] for side in ("west", "south", "east", "north")) for row in table] == [
        (0, 0, 8, 8), (0, 0, 8, 8), (0, 0, 1, 1), (2, 3, 7, 7)
    ]  # fmt: skip
    leaves = routing.leaves_of(history.standing)
    assert list(zip(leaves.query.tolist(), leaves.leaf.tolist(), strict=True)) == [
        (0, 2), (1, 3), (2, 3), (3, 0), (3, 1)
    ]  # fmt: skip
    routes = routing.route_queries(history.standing)
    assert list(zip(routes.worker.tolist(), routes.query.tolist(), strict=True)) == [
        (0, 0), (0, 3), (1, 1), (1, 2), (1, 3)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ALL)
def test_parts_are_dealt_anew_on_top_of_what_owners_do(kind):
    queries = [near(f"n{cost}", i % 3, i // 3) for i, cost in enumerate(EXAMPLE_3)]
    routing = kind.fitted(history_of(NINE, queries), PLANE.space, 2)
    loads = np.zeros(2 + len(routing.division))
    loads[:2], loads[2] = (18, 4), 70
    again = routing.reassigned(loads)
    # 22 objects came: a part matches 22 / 9 of what it did in the nine, and the first has 70 of its own.
    parts = loads[2:] + routing.division.cost * 22 / 9
    assert again.division.worker.tolist() == longest_first(parts, 2, loads[:2]).tolist()
    assert set(homes(again, block_of(queries)).values()) == {0, 1}
    assert again.loads().sum() == pytest.approx(routing.loads().sum())


@pytest.mark.parametrize("kind", ALL)
def test_what_came_since_is_remembered(kind):
    """One block after the other is as good as both at once; what is settled stays, whatever it is asked with."""
    queries = [near(f"n{cost}", i % 3, i // 3) for i, cost in enumerate(EXAMPLE_3)]
    routing = kind.fitted(history_of(NINE, queries), PLANE.space, 3)
    new = block_of([*queries[::-1], box("n5", 0, 0, 1, 1), near("n9", 2, 2, 5)], first=100)
    none = np.empty(0, np.int64)
    whole = routing.settled(new, none)
    first = routing.settled(new.take(np.arange(5)), none)
    both = first.settled(new.take(np.arange(5, 12)), none)
    assert homes(both, new) == homes(whole, new) == settled_homes(whole, new)
    backwards = homes(whole, new.take(np.arange(12)[::-1]))
    assert backwards == {11 - row: worker for row, worker in homes(whole, new).items()}
    assert homes(whole, block_of(queries)) == homes(routing, block_of(queries))
    assert whole.loads().sum() == pytest.approx(routing.loads().sum() + whole.later.cost.sum())
    leaves = whole.leaves_of(new)
    assert leaves.leaf.tolist() == [homes(whole, new)[row] for row in range(12)]
    assert whole.owners_of(new).leaf.tolist() == [0, 1, 2] * 12


def test_a_drop_lowers_the_load():
    """Golden E9 again, loads 27 and 25. Without 9 (a cost of 9 of the first) and the new 100 (of the second)."""
    routing = KopRouting.fitted(history_of(NINE, [near(f"n{c}", 1, 1) for c in EXAMPLE_3], first=1), PLANE.space, 2)
    one = routing.settled(block_of([near("n8", 1, 1)], first=100), np.empty(0, np.int64))
    assert one.loads().tolist() == [27, 33]
    new = block_of([near("n3", 1, 1), near("n6", 1, 1)], first=101)
    two = one.settled(new, np.array([9, 100]))
    assert two.loads().tolist() == [27 - 9 + 3 + 6, 25]
    assert homes(two, new) == {0: 0, 1: 0}
    three = two.settled(new.take([0]), np.array([9, 102, 7777]))  # registered before; dropped before, or never seen
    assert three.loads().tolist() == [27 - 9 + 3, 25]


@pytest.mark.parametrize("kind", ALL)
def test_objects_go_everywhere_and_have_one_owner(kind):
    routing = kind.start(PLANE.space, 3)
    routes = routing.router().route_objects(objects_of(NINE))
    assert routes.worker.tolist() == [w for w in range(3) for _ in range(9)]
    assert routes.row.tolist() == [*range(9)] * 3
    assert routes.leaf.tolist() == routes.owner.tolist()
    assert set(routes.owner.tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("kind", ALL)
def test_without_a_past(kind):
    """No objects: by number. No subscriptions: new ones by cost. Neither needs the other."""
    block = block_of([near("n3", 1, 1), box("n4", 0, 0, 1, 1), near("", 1, 1, 5)], first=4)
    for routing in (kind.start(PLANE.space, 2), kind.fitted(history_of([], []), PLANE.space, 2)):
        assert homes(routing, block) == {0: 0, 1: 1, 2: 0}
        assert routing.leaf_table()["split"].to_pylist() == ["hash", "hash"]
        assert routing.leaves_of(block).leaf.tolist() == [0, 1] * 3
    routing = kind.fitted(history_of(NINE, []), PLANE.space, 2)
    assert set(settled_homes(routing, block).values()) == {0, 1}
    routing = kind.fitted(history_of([], [near("n3", 1, 1)]), PLANE.space, 2)
    assert len(routing.division) == 0


@pytest.mark.parametrize("kind", ALL)
def test_more_workers_than_anything(kind):
    """One point, few subscriptions, terms that no object has."""
    rows = [(3, 3, "a")] * 5
    queries = [near("a", 3, 3), near("a", 3, 3, 9), box("b", 3, 3, 3, 3)]
    routing = kind.fitted(history_of(rows, queries), PLANE.space, 7)
    assert len(set(homes(routing, block_of(queries)).values())) == (1 if kind is SopRouting else 3)
    assert set(settled_homes(routing, block_of(queries * 7, first=50)).values()) == set(range(7))


@pytest.mark.parametrize("kind", ALL)
@settings(max_examples=40)
@given(
    places=st.lists(
        st.tuples(st.sampled_from(worlds.LONS), st.sampled_from(worlds.LATS), st.sampled_from(["", "flood", "boat"])),
        max_size=12,
    ),
    known=st.lists(st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), max_size=8),
    new=st.lists(st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), max_size=5),
    workers=st.integers(1, 4),
)
def test_each_stands_once_and_loads_are_even(kind, places, known, new, workers):
    """Range and nearest queries on one worker, top terms on all; the file says the same; greedy keeps loads close."""
    history = history_of(places, known, GLOBE)
    routing = kind.fitted(history, GLOBE.space, workers)
    arrays = {name: array.copy() for name, array in routing.to_arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    mapped = kind.from_arrays(arrays)
    later = block_of(new, GLOBE, first=1000)
    none = np.empty(0, np.int64)
    routing, mapped = (one.settled(later, none) for one in (routing, mapped))
    for block in (history.standing, later):
        routes = routing.route_queries(block)
        pairs = list(zip(routes.worker.tolist(), routes.query.tolist(), strict=True))
        assert pairs == sorted(set(pairs))
        for row, query in enumerate(known if block is history.standing else new):
            stands = [worker for worker, r in pairs if r == row]
            assert stands == [*range(workers)] if isinstance(query, sl.TopTermsQuery) else len(stands) == 1
        for one, other in zip(routes, mapped.route_queries(block), strict=True):
            assert one.tolist() == other.tolist()
        leaves = routing.leaves_of(block)
        visits = list(zip(leaves.query.tolist(), leaves.leaf.tolist(), strict=True))
        assert visits == sorted(set(visits))
        assert leaves.leaf.tolist() == mapped.leaves_of(block).leaf.tolist()
    assert mapped.leaf_table().equals(routing.leaf_table())
    if len(routing.division):
        loads = routing.loads()
        heaviest = max(routing.division.cost.max(), routing.later.cost.max(initial=0))
        assert loads.max() - loads.min() <= heaviest + 1e-9
