"""DkM-SKS's Equations 1-7 by hand and against the definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.partition.cost import dkm_sks

# Four objects with terms a = 0, b = 1, c = 2 on a line; subscriptions {a}, {a, b}, {} and {c, b}.
LON = np.array([0.0, 1.0, 2.0, 3.0])
LAT = np.zeros(4)
OFFSETS = np.array([0, 2, 3, 4, 6])
IDS = np.array([0, 1, 0, 2, 0, 2], np.int32)
SUB_OFFSETS = np.array([0, 1, 3, 3, 5])
SUB_TERMS = np.array([0, 0, 1, 1, 2], np.int32)


def test_equation_1():
    """P(a) = 3/4, P(b) = 1/4, P(c) = 2/4; expected matches may exceed 1."""
    counts = dkm_sks.term_counts(IDS, 3)
    assert counts.tolist() == [3, 1, 2]
    assert dkm_sks.keyword_costs(SUB_OFFSETS, SUB_TERMS, counts, 4).tolist() == [0.75, 1.0, 0, 0.75]
    assert dkm_sks.keyword_costs([0, 2], [0, 2], counts, 4).tolist() == [1.25]


def test_equations_2_and_3():
    within = dkm_sks.objects_within(LON, LAT, [[1, 0, 2, 0], [-1, -1, 9, 1], [5, 0, 6, 0]])
    assert within.tolist() == [2, 4, 0]
    assert dkm_sks.region_probability(within, 4).tolist() == [0.5, 1, 0]
    assert dkm_sks.subset_cost_by_space(within, [3, 2, 7], 4).tolist() == [1.5, 2, 0]


def test_equations_4_to_6():
    """Of the objects in [1, 3], two have a, none b, two c."""
    within = dkm_sks.terms_within(LON, LAT, OFFSETS, IDS, [1, 0, 3, 0], 3)
    assert within.tolist() == [2, 0, 2]
    costs = dkm_sks.subscription_costs(SUB_OFFSETS, SUB_TERMS, within, 4)
    assert costs.tolist() == [0.5, 0.5, 0, 0.5]
    assert dkm_sks.subset_cost(costs) == 1.5


def test_without_objects_everything_is_free():
    none = np.zeros(0)
    assert dkm_sks.keyword_costs(SUB_OFFSETS, SUB_TERMS, [0, 0, 0], 0).tolist() == [0, 0, 0, 0]
    assert dkm_sks.region_probability(dkm_sks.objects_within(none, none, [[0, 0, 1, 1]]), 0).tolist() == [0]


def test_equation_7():
    """Most area; a point prefers what touches it; else the lower number."""
    rectangles = [[0, 0, 2, 2], [1, 1, 5, 5], [4, 4, 9, 9]]
    boxes = [[0, 0, 2, 3], [3, 3, 5, 5], [1, 1, 2, 2], [8, 8, 8, 8], [20, 20, 30, 30]]
    assert dkm_sks.most_overlapping(rectangles, boxes).tolist() == [0, 1, 0, 2, 0]


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


@pytest.mark.parametrize("seed", range(4))
def test_equations_written_out(seed):
    rng = np.random.default_rng(seed)
    objects = [set(rng.choice(8, rng.integers(0, 5), replace=False).tolist()) for _ in range(40)]
    subscriptions = [set(rng.choice(8, rng.integers(1, 4), replace=False).tolist()) for _ in range(12)]
    lon, lat = rng.uniform(0, 10, (2, 40))
    r = (2.0, 1.0, 8.0, 9.0)
    inside = [bool(r[0] <= x <= r[2] and r[1] <= y <= r[3]) for x, y in zip(lon, lat, strict=True)]
    expected = [
        sum(sum(k and term in o for k, o in zip(inside, objects, strict=True)) / 40 for term in s)
        for s in subscriptions
    ]
    offsets, ids = flat(objects)
    within = dkm_sks.terms_within(lon, lat, offsets, ids, r, 8)
    assert dkm_sks.subscription_costs(*flat(subscriptions), within, 40) == pytest.approx(expected)
    assert dkm_sks.objects_within(lon, lat, r).tolist() == [sum(inside)]


def flat(sets):
    offsets = np.cumsum([0] + [len(one) for one in sets])
    return offsets, np.array([term for one in sets for term in sorted(one)], np.int32)
