"""DkM-SKS's Equations 1-7 by hand and against the definitions written out; costs are times |O_init|."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.flat.records import frozen_fields
from sightline.partition.cost import dkm_sks

# Four objects with terms a = 0, b = 1, c = 2: a b, a, c, a c.
OBJECTS = [{0, 1}, {0}, {2}, {0, 2}]
COUNTS = [3, 1, 2]


def words_of(subscriptions):
    """Each subscription is a list of conjuncts (positive, negative)."""
    conjuncts = [conjunct for one in subscriptions for conjunct in one]
    first = np.cumsum([0] + [len(one) for one in subscriptions])
    lists = []
    for side in (0, 1):
        runs = [sorted(conjunct[side]) for conjunct in conjuncts]
        lists += [np.cumsum([0] + [len(run) for run in runs]), np.array([term for run in runs for term in run])]
    return frozen_fields(dkm_sks.QueryWords, (first, *lists))


def any_of(*terms):
    return [({term}, set()) for term in terms]


def costs_of(subscriptions, counts, objects):
    return dkm_sks.subscription_costs(words_of(subscriptions), np.arange(len(subscriptions)), counts, objects)


def test_equation_1():
    """P(a) = 3/4, P(b) = 1/4, P(c) = 2/4: {a}, {a, b}, {b, c}, {a, b, c} and a word nobody has."""
    asked = [any_of(0), any_of(0, 1), any_of(1, 2), any_of(0, 1, 2), any_of(-1)]
    assert (costs_of(asked, COUNTS, 4) / 4).tolist() == [0.75, 1, 0.75, 1.5, 0]
    assert dkm_sks.subscription_costs(words_of(asked), np.array([2, 0]), COUNTS, 4).tolist() == [3, 3]


def test_conjunctions_negations_and_no_word_at_all():
    """Ours: a and c have 3 * 2/4; a without c 3 * (1 - 2/4); nothing asked, all four; only "not c", half of them."""
    asked = [[({0, 2}, set())], [({0}, {2})], [(set(), set())], [(set(), {2})], [({0}, {-1})], [({0, -1}, set())]]
    assert costs_of(asked, COUNTS, 4).tolist() == [1.5, 1.5, 4, 2, 3, 0]
    assert costs_of([[({0, 2}, {1}), (set(), {0, 1})]], COUNTS, 4).tolist() == [1.5 * 3 / 4 + 4 * 1 / 4 * 3 / 4]


def test_equations_2_and_3():
    """Two of the objects are in R, three subscriptions: 2/4 each, 3 * 2/4 together."""
    costs = dkm_sks.space_costs(2, 3)
    assert costs.tolist() == [2, 2, 2]
    assert dkm_sks.subset_cost(costs) / 4 == 1.5
    assert dkm_sks.subset_cost(dkm_sks.space_costs(2, 0)) == 0


def test_equations_4_to_6():
    """Of the three objects in R two have a, none b, two c."""
    costs = costs_of([any_of(0), any_of(0, 1), any_of(1, 2)], [2, 0, 2], 3)
    assert costs.tolist() == [2, 2, 2]
    assert dkm_sks.subset_cost(costs) == 6


def test_without_objects_everything_is_free():
    assert costs_of([any_of(0), [(set(), set())], [({0}, {1})]], [0, 0, 0], 0).tolist() == [0, 0, 0]


def test_equation_7():
    """Most area; a point prefers what touches it; else the lower number."""
    rectangles = [[0, 0, 2, 2], [1, 1, 5, 5], [4, 4, 9, 9]]
    boxes = [[0, 0, 2, 3], [3, 3, 5, 5], [1, 1, 2, 2], [8, 8, 8, 8], [20, 20, 30, 30]]
    assert dkm_sks.most_overlapping(rectangles, boxes).tolist() == [0, 1, 0, 2, 0]
    rectangles = [[0, 0, 4, 4], [3, 0, 8, 4], [0, 0, 4, 4], [6, 6, 8, 8]]
    boxes = {(3, 1, 6, 2): 1, (3.5, 0, 4, 1): 0, (5, 5, 6, 6): 3, (1, 6, 2, 7): 0, (0, 0, 8, 8): 1, (7, 3, 7, 3): 1}
    assert dkm_sks.most_overlapping(rectangles, [*boxes]).tolist() == [*boxes.values()]


corner = st.integers(0, 6)
box = st.tuples(corner, corner, st.integers(0, 4), st.integers(0, 4)).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@given(st.lists(box, min_size=1, max_size=6), box)
def test_equation_7_written_out(rectangles, wanted):
    def area(r):
        sides = [min(r[2], wanted[2]) - max(r[0], wanted[0]), min(r[3], wanted[3]) - max(r[1], wanted[1])]
        return max(sides[0], 0) * max(sides[1], 0)

    chosen = int(dkm_sks.most_overlapping(rectangles, wanted)[0])
    assert area(rectangles[chosen]) == max(map(area, rectangles))


conjunct = st.tuples(st.frozensets(st.integers(0, 2), max_size=2), st.frozensets(st.integers(0, 2), max_size=2))


@given(
    st.lists(st.frozensets(st.integers(0, 2)), max_size=8),
    st.lists(st.lists(conjunct, min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_equations_written_out(objects, subscriptions):
    """|O| times the sum over conjuncts of the product of shares."""
    n = len(objects)
    counts = [sum(term in o for o in objects) for term in range(3)]

    def expected(positive, negative):
        shares = [counts[term] / n for term in positive] + [1 - counts[term] / n for term in negative]
        return n * float(np.prod(shares))

    wanted = [sum(expected(*one) for one in s) if n else 0 for s in subscriptions]
    assert costs_of(subscriptions, counts, n).tolist() == pytest.approx(wanted)
