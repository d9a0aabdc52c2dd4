"""What the engine relies on, for every registered partitioner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.model.errors import UnknownPlugin
from sightline.partition import PARTITIONERS, routing_class
from sightline.partition.allocate import longest_first
from sightline.testing.partitioners import PARTITIONER_CHECKS


@pytest.mark.parametrize("name", sorted(PARTITIONERS))
@pytest.mark.parametrize("check", PARTITIONER_CHECKS, ids=lambda check: check.__name__)
def test_conforms(check, name):
    check(routing_class(name))


@given(st.lists(st.integers(0, 50), max_size=9), st.integers(1, 3))
def test_longest_first_is_within_its_bound(loads, workers):
    """LPT: makespan at most 4/3 - 1/(3m) of the optimum, found by trying everything."""
    dealt = longest_first(np.array(loads, np.float64), workers)
    makespan = max((sum(x for x, w in zip(loads, dealt, strict=True) if w == k) for k in range(workers)), default=0)
    best = {(0,) * workers}
    for load in loads:
        best = {tuple(sorted((*s[:i], s[i] + load, *s[i + 1 :]))) for s in best for i in range(workers)}
    assert makespan <= min(max(s) for s in best) * (4 / 3 - 1 / (3 * workers)) + 1e-9


def test_an_unknown_name_lists_the_known():
    with pytest.raises(UnknownPlugin, match="a-grid, broadcast"):
        routing_class("hexagons")
