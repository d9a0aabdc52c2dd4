"""DkM-SKS: Eq. 4-6, Alg. 2 and 3, and the most overlapping rectangle for new subscriptions (Eq. 7)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.partition.subsets import DkmSksParams, DkmSksRouting
from sightline.partition.subsets.division import HYBRID, SPATIAL
from sightline.partition.subsets.dkm_sks import assigned_apart, hybrid_subsets
from sightline.partition.subsets.splitting import Subset, hybrid_parts
from sightline.partition.subsets.subscriptions import SubscriptionCosts
from tests.partition.subset_cases import (
    PLANE,
    block_of,
    box,
    held,
    history_of,
    homes,
    near,
    settled_homes,
    subscriptions_of,
)

WHOLE = (0.0, 0.0, 8.0, 8.0)
ROWS = [(1, 1, "a"), (1, 2, "a b"), (2, 1, "b"), (2, 2, "c"), (6, 6, "a c"), (7, 6, "c"), (6, 7, "")]


def costs_of(queries, rectangle, rows=ROWS):
    return SubscriptionCosts(subscriptions_of(rows, queries)).within(
        np.arange(len(queries)), np.array(rectangle, np.float64)
    )


def test_equations_4_and_5_by_hand():
    """Four of the seven objects are in R; a and b are in two of them, c in one."""
    words = ["a", "a OR b", "a OR b OR c", "zz", "", "a b", "a AND NOT c"]
    costs = costs_of([near(text, 1, 1) for text in words], (0, 0, 3, 3))
    assert costs.tolist() == pytest.approx([2, 4, 5, 0, 4, 2 * 2 / 4, 2 * 3 / 4])
    assert costs_of([near("a OR c", 1, 1)], WHOLE).tolist() == [6]
    assert costs_of([near("a", 1, 1), near("", 1, 1)], (4, 0, 5, 1)).tolist() == [0, 0]
    assert costs_of([near("a", 1, 1)], (1, 2, 1, 2)).tolist() == [1]  # closed


words = st.lists(st.sampled_from("abcd"), max_size=3).map(" ".join)
grid = st.integers(0, 8)


@given(
    st.lists(st.tuples(grid, grid, words), min_size=1, max_size=30),
    st.lists(st.sets(st.sampled_from("abcdz"), min_size=1), min_size=1, max_size=6),
    st.lists(st.tuples(grid, grid, grid, grid), min_size=1, max_size=3),
)
def test_equation_5_counts_like_brute_force(rows, keywords, corners):
    """One tally for several rectangles, one after the other."""
    queries = [near(" OR ".join(sorted(words)), 1, 1) for words in keywords]
    costs = SubscriptionCosts(subscriptions_of(rows, queries))
    for x1, y1, x2, y2 in corners:
        r = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        want = [sum(held(rows, r, word) for word in words) for words in keywords]
        assert costs.within(np.arange(len(queries)), np.array(r, np.float64)).tolist() == want


def test_example_6():
    """Golden E9: {1,2} {3} {4,5} {6} {7-10}, costs 9 6 4 3 13."""
    cost = np.array([4, 5, 6, 2, 2, 3, 6, 1, 3, 3], np.float64)
    parts = [[0, 1], [2], [3, 4], [5], [6, 7, 8, 9]]
    subsets = [Subset(np.array(rows), WHOLE, np.zeros(4), cost[rows]) for rows in parts]
    assert [subset.total for subset in subsets] == [9, 6, 4, 3, 13]
    plan = assigned_apart(subsets, np.arange(10), 2)
    own = [{row + 1 for row in np.flatnonzero(plan.worker == w).tolist()} for w in (0, 1)]
    assert own == [{1, 3, 7, 8}, {2, 4, 5, 6, 9, 10}]
    assert [plan.weight[plan.worker == w].sum() for w in (0, 1)] == [17, 18]
    assert plan.subset.tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 4, 4]


def test_hybrid_partition():
    """Descending cost, each to the set with the least sum; costs of 0 are spread; few give few sets."""
    parts = hybrid_parts(np.arange(6), np.array([1.0, 9, 5, 5, 4, 2]))
    assert [part.tolist() for part in parts] == [[1], [0, 2], [3], [4, 5]]
    assert [part.tolist() for part in hybrid_parts(np.arange(8), np.zeros(8))] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert [part.tolist() for part in hybrid_parts(np.array([3, 7]), np.zeros(2))] == [[3], [7]]


CORNERS = [(x + dx, y + dy) for x in (1, 6) for y in (1, 6) for dx in (0, 0.5) for dy in (0, 0.5)]


def test_small_balls_are_parted_by_space():
    """Figure 5(a): every quarter has its own small rectangle."""
    rows = [(x + 0.1, y, "a") for x, y in CORNERS]
    subscriptions = subscriptions_of(rows, [near("a", x, y) for x, y in CORNERS])
    subsets = hybrid_subsets(subscriptions, np.arange(16), 1, DkmSksParams(gamma1=4))
    assert [subset.split for subset in subsets] == [SPATIAL] * 4
    assert sorted(subset.rows.tolist() for subset in subsets) == [[*range(i, i + 4)] for i in (0, 4, 8, 12)]
    assert sum(subset.total for subset in subsets) == 16 * 4  # each rectangle has four objects


def test_large_balls_are_parted_by_cost():
    """Figure 5(b): every ball is the whole space whatever is cut, and ties are hybrid."""
    rows = [(x, y, "a" if i % 4 else "a b c") for i, (x, y) in enumerate(CORNERS)]
    queries = [near("a OR b" if i < 8 else "c", x, y, 99) for i, (x, y) in enumerate(CORNERS)]
    subsets = hybrid_subsets(subscriptions_of(rows, queries), np.arange(16), 1, DkmSksParams(gamma1=4))
    assert [subset.split for subset in subsets] == [HYBRID] * 4
    assert [subset.total for subset in subsets] == [2 * 20 + 2 * 4] * 4
    assert {subset.space for subset in subsets} == {WHOLE}


def test_above_gamma2_only_space_is_tried():
    rows = [(x, y, "a") for x, y in CORNERS]
    queries = [near("a", x, y, 99) for x, y in CORNERS]
    subsets = hybrid_subsets(subscriptions_of(rows, queries), np.arange(16), 1, DkmSksParams(gamma1=4, gamma2=15))
    assert [subset.split for subset in subsets] == [SPATIAL] * 4
    stacked = subscriptions_of(rows, [near("a", 1, 1, 99)] * 5)
    assert len(hybrid_subsets(stacked, np.arange(5), 1, DkmSksParams(gamma2=4))) == 1
    assert len(hybrid_subsets(stacked, np.arange(5), 1, DkmSksParams(gamma2=5))) == 5


@pytest.mark.parametrize(("gamma1", "gamma2"), [(20, 100_000), (100_000, 20)])
def test_both_orders_of_the_parameters(gamma1, gamma2):
    """Errata 20. Ours makes 20 subsets per worker; the printed order cuts down to single subscriptions."""
    rng = np.random.default_rng(7)
    rows = [(x, y, " ".join(rng.choice(list("abcdef"), 2))) for x, y in rng.uniform(0, 8, (200, 2))]
    queries = [
        near(" OR ".join(rng.choice(list("abcdef"), 2, replace=False)), *at, int(k))
        for at, k in zip(rng.uniform(0, 8, (150, 2)).tolist(), rng.integers(1, 9, 150), strict=True)
    ]
    subscriptions = subscriptions_of(rows, queries)
    chosen = np.arange(150)
    subsets = hybrid_subsets(subscriptions, chosen, 2, DkmSksParams(gamma1, gamma2))
    assert sorted(np.concatenate([subset.rows for subset in subsets]).tolist()) == chosen.tolist()
    totals = [subset.total for subset in subsets]
    assert totals == sorted(totals, reverse=True)
    assert len(subsets) == 150 if gamma1 > 150 else 40 <= len(subsets) <= 42
    for subset in subsets:
        rectangle = subscriptions.rectangles()[subset.rows]
        assert subset.box.tolist() == [*rectangle[:, :2].min(axis=0), *rectangle[:, 2:].max(axis=0)]
    plan = assigned_apart(subsets, chosen, 2)
    loads = [plan.weight[plan.worker == w].sum() for w in (0, 1)]
    assert abs(loads[0] - loads[1]) <= plan.weight.max()


def test_a_split_looks_at_eight_rectangles_at_most(monkeypatch):
    """Work done: the root, then four quarters and four hybrid sets for each split."""
    asked = []
    plain = SubscriptionCosts.within
    monkeypatch.setattr(
        SubscriptionCosts, "within", lambda self, rows, box: asked.append(len(rows)) or plain(self, rows, box)
    )
    rows = [(x, y, "a") for x, y in CORNERS]
    subscriptions = subscriptions_of(rows, [near("a", x, y, 3) for x, y in CORNERS])
    subsets = hybrid_subsets(subscriptions, np.arange(16), 1, DkmSksParams(gamma1=7))
    assert len(subsets) == 7
    assert asked == [16, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1, 1, 1]  # the second has all its points in one quarter


def test_a_new_subscription_costs_what_its_rectangle_says():
    """Section 4.4: Eq. 5 with R* of the most overlapping subset, then the worker with the least C(w)."""
    rows = [(1, 1, "a"), (1, 2, "a"), (2, 2, "b"), (6, 6, "a"), (7, 7, "b"), (6, 7, "b")]
    queries = [box("a", 0, 0, 3, 3), box("b", 5, 5, 8, 8)]
    history = history_of(rows, queries)
    routing = DkmSksRouting.fitted(history, PLANE.space, 2)
    assert homes(routing, history.standing) == {0: 0, 1: 1}
    assert routing.loads().tolist() == [2, 2]
    new = [
        box("a OR b", 2, 2, 4, 4),
        box("a OR b", 4, 4, 8, 8),
        box("b", 2, 2, 3, 7),
        near("a", 6.5, 6.5),
        near("zz", 1, 1),
    ]
    block = block_of(new, first=10)
    # The third shares 1 with the first rectangle and nothing with the second; the ball of the fourth is in the second,
    # that of the last is everything: a tie, and the lower number.
    costs = routing.new_costs(subscriptions_of(rows, new))
    assert costs.tolist() == [3, 3, 1, 1, 0]
    assert settled_homes(routing, block) == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}


def test_a_subset_is_spread_over_the_workers():
    """Parts: what each worker has of a subset, with the subset's rectangle; new queries see one rectangle."""
    rows = [(1, 1, "a")] * 3
    queries = [near("a", 1, 1, 9)] * 100
    history = history_of(rows, queries)
    routing = DkmSksRouting.fitted(history, PLANE.space, 2)
    home = list(homes(routing, history.standing).values())
    assert np.bincount(home).tolist() == [50, 50]
    division = routing.division
    assert len(division.subset_boxes()) == division.subset.max() + 1
    assert len(division.subset_boxes()) in (40, 41, 42)
    assert len(division) > len(division.subset_boxes())  # some subsets have parts on both workers
    leaves = routing.leaves_of(history.standing)
    assert routing.leaf_table()["worker"].to_numpy()[leaves.leaf].tolist() == [
        homes(routing, history.standing)[row] for row in range(100)
    ]
    assert set(routing.leaf_table()["split"].to_pylist()) == {"hash", "hybrid"}
