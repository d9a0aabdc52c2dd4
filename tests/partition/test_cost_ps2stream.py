"""PS2Stream's Definitions 1 and 2 by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sightline.partition.cost._kernels import steady_load, worker_load
from sightline.partition.cost.ps2stream import (
    LoadCosts,
    balance_factor,
    is_balanced,
    steady_loads,
    total_load,
    worker_loads,
)

COSTS = LoadCosts(check=1, object=2, insertion=3, deletion=4)


def test_definition_1_counts_stored_queries():
    """10 objects, 3 stored, 2 inserted, 1 deleted: 30 + 20 + 6 + 4. Old queries cost though none is inserted."""
    assert worker_loads(10, 3, 2, 1, COSTS).tolist() == [60]
    assert worker_loads(10, 3, 0, 0, COSTS).tolist() == [50]
    loads = worker_loads([10, 0, 5], [3, 8, 0], [2, 0, 0], [1, 1, 0], COSTS)
    assert loads.tolist() == [60, 4, 10]
    assert worker_loads([1, 2], 3, 0, 0, COSTS).tolist() == [5, 10]
    assert worker_loads([], [], 0, 0, COSTS).tolist() == []


def test_a_steady_stream_inserts_and_deletes_each_query_once():
    """2 objects, 3 queries: 6 + 4 + 9 + 12."""
    assert steady_loads(2, 3, COSTS).tolist() == worker_loads(2, 3, 3, 3, COSTS).tolist() == [31]
    assert steady_load(COSTS.weights, 2, 3) == worker_load(COSTS.weights, 2, 3, 3, 3) == 31


def test_definition_1_written_out():
    rng = np.random.default_rng(1)
    o, q, i, d = rng.integers(0, 100, (4, 50))
    c = LoadCosts()
    expected = [
        c.check * a * b + c.object * a + c.insertion * e + c.deletion * f
        for a, b, e, f in zip(o.tolist(), q.tolist(), i.tolist(), d.tolist(), strict=True)
    ]
    assert worker_loads(o, q, i, d, c).tolist() == expected


def test_definition_2():
    assert total_load([60, 4, 10]) == 74
    assert balance_factor([60, 4, 10]) == 15
    assert is_balanced([3, 2], 1.5)
    assert not is_balanced([3, 2], 1.4)


@pytest.mark.parametrize(("loads", "factor"), [([], 1.0), ([0, 0], 1.0), ([0, 1], math.inf), ([2], 1.0)])
def test_workers_without_load(loads, factor):
    """Nobody has any: balanced; one has none: not."""
    assert balance_factor(loads) == factor
