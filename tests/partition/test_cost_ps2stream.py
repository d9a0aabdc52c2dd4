"""PS2Stream's Definitions 1-3 by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sightline.partition.cost.ps2stream import (
    LoadCosts,
    balance_factor,
    cell_loads,
    is_balanced,
    stored_on_average,
    total_load,
    worker_loads,
)

COSTS = LoadCosts(check=1, object=2, insertion=3, deletion=4)


def test_definition_1_counts_stored_queries():
    """10 objects, 3 stored, 2 inserted, 1 deleted: 30 + 20 + 6 + 4. Old queries cost though none is inserted."""
    assert worker_loads(10, 3, 2, 1, COSTS) == 60
    assert worker_loads(10, 3, costs=COSTS) == 50
    loads = worker_loads([10, 0, 5], [3, 8, 0], [2, 0, 0], [1, 1, 0], COSTS)
    assert loads.tolist() == [60, 4, 10]


def test_definition_1_written_out():
    rng = np.random.default_rng(1)
    o, q, i, d = rng.integers(0, 100, (4, 50))
    c = LoadCosts()
    expected = [
        c.check * a * b + c.object * a + c.insertion * e + c.deletion * f
        for a, b, e, f in zip(o.tolist(), q.tolist(), i.tolist(), d.tolist(), strict=True)
    ]
    assert worker_loads(o, q, i, d).tolist() == expected


def test_definition_2():
    assert total_load([60, 4, 10]) == 74
    assert balance_factor([60, 4, 10]) == 15
    assert is_balanced([3, 2], 1.5)
    assert not is_balanced([3, 2], 1.4)


@pytest.mark.parametrize(("loads", "factor"), [([], 1.0), ([0, 0], 1.0), ([0, 1], math.inf), ([2], 1.0)])
def test_workers_without_load(loads, factor):
    """Nobody has any: balanced; one has none: not."""
    assert balance_factor(loads) == factor


def test_definition_3():
    assert cell_loads([4, 0, 3], [2.5, 7, 0]).tolist() == [10, 0, 0]
    assert stored_on_average([2, 0], [3, 4]).tolist() == [2.5, 2]
