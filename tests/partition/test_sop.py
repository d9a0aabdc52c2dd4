"""Space-oriented partition: balls over O_init, Eq. 2 and 3, quarters, whole subsets to workers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.index.protocol import NO_BOUND
from sightline.partition.allocate import longest_first
from sightline.partition.sample import ObjectSample
from sightline.partition.subsets import SopParams, SopRouting
from sightline.partition.subsets.sop import assigned_whole, space_subsets
from sightline.partition.subsets.splitting import Subset, quarters, split_until
from tests.partition.subset_cases import (
    GLOBE,
    PLANE,
    block_of,
    box,
    held,
    history_of,
    homes,
    kth_mm,
    near,
    objects_of,
    settled_homes,
    subscriptions_of,
)
from tests.stages import worlds

# Figure 2 is lost; places that fit Example 2. The nearest objects to s1 have none of its words.
EXAMPLE_2 = [
    (1, 2, "a"), (1, 1.5, "d"), (1.5, 1, "e"), (2, 2.5, "b d"), (2, 1, "f"), (5, 5, "c"), (6, 6, "a b"), (7, 1, "g"),
    (0, 0.5, "d e"),
]  # fmt: skip
WHOLE = (0.0, 0.0, 8.0, 8.0)


def radii(subscriptions):
    """Radius of the ball of each nearest query, infinite below k matches, and the objects looked at."""
    rows = np.arange(len(subscriptions))
    found, looked = subscriptions.sample.reach_mm(subscriptions.words, rows, subscriptions.at, subscriptions.block.k)
    return [math.inf if radius == NO_BOUND else radius for radius in found.tolist()], looked


def test_example_2():
    """Golden E9: O(s1) = {o1, o4, o6, o7}, and the two nearest are o1 and o4."""
    found, _ = radii(subscriptions_of(EXAMPLE_2, [near("a OR b OR c", 1, 1, k) for k in (1, 2, 3, 4, 5)]))
    at = {o: math.ceil(1000 * math.dist((1, 1), EXAMPLE_2[o - 1][:2])) for o in (1, 4, 6, 7)}
    assert found == [at[1], at[4], at[6], at[7], math.inf]


words = st.lists(st.sampled_from("abcd"), max_size=3).map(" ".join)
expressions = st.sampled_from(["", "a", "a OR b", "a b", "a AND NOT b", "(a b) OR (c AND NOT d)", "a OR zz"])
axis = st.one_of(st.integers(0, 8), st.floats(0, 8))


@given(
    st.lists(st.tuples(axis, axis, words), min_size=1, max_size=25),
    st.lists(st.builds(near, expressions, axis, axis, st.integers(1, 6)), min_size=1, max_size=5),
)
def test_balls_on_the_plane_are_those_of_brute_force(rows, queries):
    found, looked = radii(subscriptions_of(rows, queries))
    assert found == pytest.approx([kth_mm(query, rows) for query in queries], abs=1.001)
    assert looked <= len(rows) * sum(len(query.keywords.dnf(PLANE.text).conjuncts) for query in queries)


@given(
    st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90), words), min_size=1, max_size=25),
    st.lists(worlds.nearests.filter(lambda query: query.k < 9), min_size=1, max_size=4),
)
def test_balls_on_the_globe_are_those_of_brute_force(rows, queries):
    rows = [(x, y, f"{text} flood" if "a" in text else text) for x, y, text in rows]
    found, _ = radii(subscriptions_of(rows, queries, GLOBE))
    # A chord of the unit sphere near the antipode is short of its diameter by the square of the angle.
    assert found == pytest.approx([kth_mm(query, rows, GLOBE) for query in queries], rel=1e-6, abs=2000)


def test_a_search_looks_at_few_objects():
    """Work done: a band around the query's parallel, not the list."""
    side = np.arange(64) / 8
    rows = [(x, y, "a" if (i + j) % 2 else "b") for i, x in enumerate(side) for j, y in enumerate(side)]
    _, looked = radii(subscriptions_of(rows, [near("a", 4, 4, 4)]))
    assert looked < 64 * 6
    _, looked = radii(subscriptions_of(rows, [near("a AND zz", 4, 4, 4), near("a", 4, 4, 5000)]))
    assert looked == 0


def test_equation_2_counts_like_brute_force():
    """Blocks and ragged edges, ties and degenerate rectangles."""
    rng = np.random.default_rng(5)
    for n in (1, 40, 700, 1500):
        rows = [(x, y, "") for x, y in rng.integers(0, 30, (n, 2)) / 4]
        sample = ObjectSample.of(objects_of(rows), geographic=False)
        corners = rng.integers(-4, 34, (60, 2, 2)) / 4
        boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        boxes[::7, 2:] = boxes[::7, :2]
        boxes[::11] = (-9, -9, 9, 9)
        assert sample.counts_in(boxes).tolist() == [held(rows, rectangle) for rectangle in boxes]


def test_rectangles_by_hand():
    """Ball, infinite ball, region, ball over the edge of the space."""
    rows = [(2, 2, "a"), (5, 2, "a"), (0, 7, "b")]
    queries = [near("a", 3, 2, 1), near("a", 3, 2, 3), box("a", 1, 2, 3, 4), near("b", 1, 7, 1)]
    boxes = subscriptions_of(rows, queries).rectangles()
    assert boxes.tolist() == [
        pytest.approx([2, 1, 4, 3], abs=0.002), [0, 0, 8, 8], [1, 2, 3, 4], pytest.approx([0, 6, 2, 8], abs=0.002)
    ]  # fmt: skip


def test_a_rectangle_does_not_cross_the_antimeridian():
    rows = [(179.5, 0, "flood"), (-179.5, 0, "flood")]
    queries = [sl.NearestQuery("flood", (179.9, 0), 2), sl.RangeQuery("", sl.Box(179, -1, -179, 1))]
    seen = subscriptions_of(rows, queries, GLOBE)
    boxes = seen.rectangles()
    assert boxes[:, [0, 2]].tolist() == [[-180, 180]] * 2
    assert boxes[0, [1, 3]].tolist() == pytest.approx([-0.6, 0.6], abs=0.001)
    assert seen.at.tolist() == [[179.9, 0], [179.5, 0]]


def test_equation_3_by_hand():
    """Two subscriptions west, one east: P(R) |S_r| = 3/4 * 2 and 1/4 * 1."""
    rows = [(1, 1, "a"), (2, 1, "a"), (2, 2, "a"), (7, 7, "a")]
    queries = [box("a", 0, 0, 1, 1), box("a", 1, 0, 2, 2), box("zz", 6, 6, 8, 8)]
    subsets = space_subsets(subscriptions_of(rows, queries), np.arange(3), 2, SopParams(theta=1))
    assert [subset.rows.tolist() for subset in subsets] == [[0, 1], [2]]
    assert [subset.total for subset in subsets] == [3 * 2, 1 * 1]
    assert [subset.box.tolist() for subset in subsets] == [[0, 0, 2, 2], [6, 6, 8, 8]]
    assert [subset.space for subset in subsets] == [(0, 0, 4, 4), (4, 4, 8, 8)]


def test_example_4():
    """Golden E7, as costs and in hundredths of an O_init of 100."""
    assert longest_first(np.array([0.36, 0.11, 0.2, 0.28]), 2).tolist() == [0, 0, 1, 1]
    subsets = [
        Subset(np.array([i]), WHOLE, np.zeros(4), np.array([cost])) for i, cost in enumerate((36.0, 11.0, 20.0, 28.0))
    ]
    plan = assigned_whole(subsets, np.arange(4), 2)
    assert plan.worker.tolist() == [0, 0, 1, 1]
    assert [plan.weight[plan.worker == w].sum() for w in (0, 1)] == [47, 48]


def test_quarters():
    """Points on the lines between belong north and east; empty quarters are dropped."""
    at = np.array([[4.0, 4.0], [3.9, 4.0], [4.0, 3.9], [0.0, 0.0], [8.0, 8.0]])
    parts = quarters(np.arange(5), at, WHOLE)
    assert [own.tolist() for own, _ in parts] == [[3], [2], [1], [0, 4]]
    assert [space for _, space in parts] == [(0, 0, 4, 4), (4, 0, 8, 4), (0, 4, 4, 8), (4, 4, 8, 8)]
    assert [own.tolist() for own, _ in quarters(np.array([0, 4]), at, WHOLE)] == [[0, 4]]
    assert quarters(np.array([1, 1]), at, WHOLE) == []
    assert quarters(np.array([0, 1]), at, (4.0, 4.0, np.nextafter(4.0, 5), np.nextafter(4.0, 5))) == []


def test_splitting_ends():
    """Work done: a split of four adds three; points that floats cannot part are final."""
    rows = [(x, y, "a") for x in range(8) for y in range(8)]
    queries = [near("a", x + 0.2, y + 0.2) for x in range(8) for y in range(8)]
    subscriptions = subscriptions_of(rows, queries)
    calls = []

    def split(front):
        calls.append(len(front.rows))
        return [
            Subset(own, space, np.zeros(4), np.ones(len(own)))
            for own, space in quarters(front.rows, subscriptions.at, front.space)
        ]

    root = Subset(np.arange(64), WHOLE, np.zeros(4), np.ones(64))
    assert len(split_until(root, 16, split)) == 16
    assert calls == [64, 16, 16, 16, 16]
    assert len(split_until(root, 10**9, split)) == 64
    twins = [near("a", 1, 1), near("a", 1, 1), near("a", np.nextafter(1, 2), 1)]
    subsets = space_subsets(subscriptions_of(rows, twins), np.arange(3), 9)
    assert [subset.rows.tolist() for subset in subsets] == [[0, 1], [2]]


def test_subsets_stay_together_and_new_ones_go_by_equation_2():
    rows = [(1, 1, "a"), (1, 2, "a"), (2, 1, "a"), (6, 6, "a")]
    queries = [box("a", 0, 0, 2, 2), box("a", 1, 1, 2, 2), box("a", 6, 6, 7, 7), box("a", 5, 5, 7, 7)]
    history = history_of(rows, queries)
    routing = SopRouting.fitted(history, PLANE.space, 2)
    # theta = 20 parts all of them: costs 3, 3, 1, 1 -> loads 4 and 4
    assert homes(routing, history.standing) == {0: 0, 1: 1, 2: 1, 3: 0}
    assert routing.leaf_table()["split"].to_pylist() == ["hash"] * 2 + ["spatial"] * 4
    # P(R): 3 objects, none (weighs a half), 1, 4: loads 4 4 -> 7 4.5 -> 7 5.5
    new = [box("zz", 0, 0, 3, 3), box("a", 4, 0, 5, 1), near("a", 6, 6), near("a", 0, 0, 5)]
    assert settled_homes(routing, block_of(new, first=10)) == {0: 0, 1: 1, 2: 1, 3: 1}
