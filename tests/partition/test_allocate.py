"""Leaves to workers: golden divisions, brute force, and nobody empty without need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.partition.allocate import karmarkar_karp, longest_first

both = pytest.mark.parametrize("allocate", [karmarkar_karp, longest_first])


def parts(allocate, loads, workers):
    """Leaves of each worker, numbered from 1 as in the papers."""
    assigned = allocate(np.array(loads, np.float64), workers).tolist()
    return [[leaf + 1 for leaf, worker in enumerate(assigned) if worker == w] for w in range(workers)]


def sums(allocate, loads, workers):
    return [sum(loads[leaf - 1] for leaf in part) for part in parts(allocate, loads, workers)]


def least_makespan(loads, workers):
    """By trying every division."""
    reached = {(0,) * workers}
    for load in loads:
        reached = {tuple(sorted((*s[:i], s[i] + load, *s[i + 1 :]))) for s in reached for i in range(workers)}
    return min(max(s) for s in reached)


def test_sstd_example():
    """Section 5.2 prints the three subsets; these loads give exactly them."""
    loads = [13, 6, 2, 15, 19, 9, 7]
    assert parts(karmarkar_karp, loads, 3) == [[1, 3, 6], [2, 5], [4, 7]]
    assert sums(karmarkar_karp, loads, 3) == [24, 25, 22]


def test_dkm_sks_examples():
    """Examples 4 and 3, by longest first."""
    assert parts(longest_first, [0.36, 0.11, 0.2, 0.28], 2) == [[1, 2], [3, 4]]
    assert sums(longest_first, [0.36, 0.11, 0.2, 0.28], 2) == pytest.approx([0.47, 0.48])
    ninths = [3, 7, 6, 8, 3, 5, 3, 1, 9, 7]
    assert parts(longest_first, ninths, 2) == [[1, 6, 7, 9, 10], [2, 3, 4, 5, 8]]


def test_differencing_by_hand():
    """8-7, 6-5, then 4-1, 3-1: a difference of 2, where longest first has 4 and the optimum is 0."""
    loads = [8, 7, 6, 5, 4]
    assert parts(karmarkar_karp, loads, 2) == [[1, 3], [2, 4, 5]]
    assert sums(karmarkar_karp, loads, 2) == [14, 16]
    assert sorted(sums(longest_first, loads, 2)) == [13, 17]


@both
@given(st.lists(st.integers(0, 50), max_size=8), st.integers(1, 4))
def test_against_every_division(allocate, loads, workers):
    makespan = max(sums(allocate, loads, workers), default=0)
    best = least_makespan(loads, workers)
    assert best <= makespan <= best * (4 / 3 - 1 / (3 * workers)) + 1e-9
    assert sorted(leaf for part in parts(allocate, loads, workers) for leaf in part) == list(range(1, len(loads) + 1))


@both
@given(st.lists(st.sampled_from([0.0, 0.0, 0.1, 0.2, 0.3, 7.0]), max_size=30), st.integers(1, 9))
def test_no_worker_is_empty_without_need(allocate, loads, workers):
    sizes = [len(part) for part in parts(allocate, loads, workers)]
    assert sum(size > 0 for size in sizes) == min(workers, len(loads))
    if not any(loads):
        assert max(sizes) - min(sizes) <= 1


@both
def test_shapes_at_the_edges(allocate):
    for loads, workers in (([], 3), ([5.0], 1), ([5.0], 4), ([1.0, 2.0, 3.0], 1)):
        assigned = allocate(np.array(loads, np.float64), workers)
        assert assigned.dtype == np.int32
        assert assigned.tolist() == [0] * len(loads)


def test_differencing_of_many_leaves_is_nearly_even():
    loads = np.random.default_rng(4).pareto(1.5, 4096)
    shares = np.bincount(karmarkar_karp(loads, 64), loads, minlength=64)
    heaviest = loads.max()
    assert shares.max() <= max(heaviest, loads.sum() / 64 * 1.01)
    read_only = loads.copy()
    read_only.flags.writeable = False
    assert (karmarkar_karp(read_only, 64) == karmarkar_karp(loads, 64)).all()
