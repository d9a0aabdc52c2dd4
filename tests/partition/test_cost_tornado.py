"""Tornado's Equations 1-3 against the definitions written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sightline.flat.arrays import frozen
from sightline.partition._kernels import cells_of
from sightline.partition.cost.tornado import SummedCosts, cell_costs, largest_cost


def test_equations_of_figure_5():
    """One query checked at (2, 3), two at (4, 2), one at (4, 4)."""
    costs = cell_costs([3 * 5 + 2, 2 * 5 + 4, 4 * 5 + 4], [1, 2, 1], 5, 5)
    assert costs.sum() == 4
    sums = SummedCosts.of(costs)
    columns, rows = sums.columns(sums.whole), sums.rows(sums.whole)
    assert columns.tolist() == [0, 0, 1, 0, 3]
    assert rows.tolist() == [0, 0, 2, 1, 1]
    assert min(abs(2 * rows[:i].sum() - 4) for i in range(1, 5)) == 0  # between rows 2 and 3
    assert min(abs(2 * columns[:i].sum() - 4) for i in range(1, 5)) == 2
    assert sums.cost((2, 2, 4, 3)) == 3


def test_costs_by_hand():
    """Eq. 1: objects 0 and 2 share a cell; Eq. 2: rectangles; Eq. 3: the costliest, also of several decompositions."""
    lon, lat = frozen([0.5, 3.9, 0.9, 4.0], np.float64), frozen([2.0, 0.0, 2.5, 4.0], np.float64)
    cell = cells_of(lon, lat, frozen([0.0, 0.0, 4.0, 4.0], np.float64), 4)
    costs = cell_costs(cell, [3, 1, 4, 5], 4, 4)
    assert costs.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [7, 0, 0, 0], [0, 0, 0, 5]]
    sums = SummedCosts.of(costs)
    assert sums.cost(sums.whole) == 13
    assert sums.cost((0, 0, 2, 3)) == 7
    assert sums.cost((3, 1, 3, 3)) == 5
    assert sums.cost((1, 1, 2, 2)) == 0
    assert largest_cost([7, 1, 5]) == 7
    assert largest_cost([]) == 0
    assert largest_cost([[7, 1, 5], [6, 2, 8]]).tolist() == [7, 2, 8]


def test_cells_without_objects_cost_nothing():
    assert cell_costs([1, 1, 0], [2, 3, 4], 1, 3).tolist() == [[4, 5, 0]]
    assert cell_costs([], [], 2, 1).tolist() == [[0], [0]]
    nothing = SummedCosts.nothing(2, 3)
    assert nothing.whole == (0, 0, 2, 1)
    assert nothing.cost(nothing.whole) == 0


@given(st.data())
def test_rectangles_against_the_sum_of_their_cells(data):
    height, width = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    costs = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 9, (height, width))
    x0, y0 = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    x1, y1 = data.draw(st.integers(x0, width - 1)), data.draw(st.integers(y0, height - 1))
    expected = sum(int(costs[y, x]) for y in range(y0, y1 + 1) for x in range(x0, x1 + 1))
    sums, span = SummedCosts.of(costs), (x0, y0, x1, y1)
    assert sums.cost(span) == expected
    assert sums.columns(span).tolist() == costs[y0 : y1 + 1, x0 : x1 + 1].sum(0).tolist()
    assert sums.rows(span).tolist() == costs[y0 : y1 + 1, x0 : x1 + 1].sum(1).tolist()
