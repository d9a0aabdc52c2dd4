"""Tornado's Equations 1-3 against the definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.partition.cost import tornado


def test_equations_by_hand():
    """Figure 5(b): one query checked at (2, 3), two at (4, 2), one at (4, 4)."""
    cells = [3 * 5 + 2, 2 * 5 + 4, 4 * 5 + 4]
    costs = tornado.cell_costs(cells, [1, 2, 1], 25).reshape(5, 5)
    assert costs.sum() == 4
    sums = tornado.SummedCosts.of(costs)
    columns, rows = sums.columns(0, 0, 4, 4), sums.rows(0, 0, 4, 4)
    assert columns.tolist() == [0, 0, 1, 0, 3]
    assert rows.tolist() == [0, 0, 2, 1, 1]
    assert min(abs(2 * rows[:i].sum() - 4) for i in range(1, 5)) == 0  # between rows 2 and 3
    assert min(abs(2 * columns[:i].sum() - 4) for i in range(1, 5)) == 2
    assert tornado.partition_cost(costs, 2, 2, 4, 3) == sums.cost(2, 2, 4, 3) == 3
    assert tornado.largest_cost([3, 1]) == 3
    assert tornado.largest_cost([]) == 0


def test_objects_of_one_cell_add_up():
    assert tornado.cell_costs([1, 1, 0], [2, 3, 4], 3).tolist() == [4, 5, 0]
    assert tornado.cell_costs(np.zeros(0, np.int64), [], 2).tolist() == [0, 0]


@given(st.data())
def test_rectangles_against_the_sum_of_their_cells(data):
    height, width = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    costs = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 9, (height, width))
    x0, y0 = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    x1, y1 = data.draw(st.integers(x0, width - 1)), data.draw(st.integers(y0, height - 1))
    expected = sum(int(costs[y, x]) for y in range(y0, y1 + 1) for x in range(x0, x1 + 1))
    sums = tornado.SummedCosts.of(costs)
    assert sums.cost(x0, y0, x1, y1) == tornado.partition_cost(costs, x0, y0, x1, y1) == expected
    assert sums.columns(x0, y0, x1, y1).tolist() == costs[y0 : y1 + 1, x0 : x1 + 1].sum(0).tolist()
    assert sums.rows(x0, y0, x1, y1).tolist() == costs[y0 : y1 + 1, x0 : x1 + 1].sum(1).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_candidates_are_counted_by_term_and_place(seed):
    rng = np.random.default_rng(seed)
    objects = [sorted(rng.choice(6, rng.integers(0, 4), replace=False).tolist()) for _ in range(20)]
    lon, lat = rng.integers(0, 5, 20) * 1.0, rng.integers(0, 5, 20) * 1.0
    corner = rng.integers(0, 5, (15, 2)) * 1.0
    boxes = np.concatenate([corner, corner + rng.integers(0, 3, (15, 2))], axis=1)
    keys = rng.integers(-1, 6, 15)  # -1: looked at by every object
    expected = [
        sum(
            (keys[q] < 0 or keys[q] in terms) and bool(w <= lon[i] <= e and s <= lat[i] <= n)
            for q, (w, s, e, n) in enumerate(boxes)
        )
        for i, terms in enumerate(objects)
    ]
    posted = [q for t in range(6) for q in np.flatnonzero(keys == t).tolist()]
    starts = np.cumsum([0] + [int((keys == t).sum()) for t in range(6)])
    offsets = np.cumsum([0] + [len(terms) for terms in objects])
    ids = np.array([term for terms in objects for term in terms], np.int32)
    found = tornado.checked(lon, lat, offsets, ids, starts, posted, boxes, np.flatnonzero(keys < 0))
    assert found.tolist() == expected
