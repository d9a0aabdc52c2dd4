"""Terms put together: nets, limits of load, the greedy passes and their refinement."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.flat.arrays import frozen
from sightline.partition.terms.groups._kernels import (
    Limits,
    choose,
    cosines_to,
    deal_by_distance,
    far_seeds,
    refine_by_nets,
)
from sightline.partition.terms.groups.balance import fair_share, heaviest_first, limits_of
from sightline.partition.terms.groups.hypergraph import HypergraphParams, hypergraph_groups
from sightline.partition.terms.groups.metric import MetricParams, metric_groups
from sightline.partition.terms.groups.nets import nets_between, nets_of
from sightline.partition.terms.vocabulary import Vocabulary
from tests.partition.term_corpora import hash_of, history, topical


def made(lists, terms):
    """Nets from lists of terms."""
    net = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
    return nets_between(net, np.array([t for one in lists for t in one], np.int64), terms)


def cut(lists, worker):
    """Workers beyond the first, over all nets."""
    return sum(len({int(worker[t]) for t in one}) - 1 for one in lists if one)


def even(n):
    return frozen(np.ones(n), np.float64)


lists_of_terms = st.lists(st.lists(st.integers(0, 6), max_size=4), max_size=8)
loads = st.lists(st.integers(1, 9), min_size=7, max_size=7)


@given(lists_of_terms)
def test_nets_are_the_lists_both_ways_round(lists):
    """Sets of two terms or more, in their order."""
    nets = made(lists, 7)
    expected = [sorted(set(one)) for one in lists if len(set(one)) >= 2]
    found = [nets.terms[a:b].tolist() for a, b in zip(nets.offsets, nets.offsets[1:], strict=False)]
    assert found == expected
    for term in range(7):
        back = nets.nets[nets.term_offsets[term] : nets.term_offsets[term + 1]].tolist()
        assert back == [e for e, one in enumerate(expected) if term in one]


def test_nets_of_a_history():
    """Objects by their terms, queries by the keys of their conjuncts; what has less than two asks for nothing."""
    past = history(["w1 w2 w3", "w1", "w2 w3 w3", ""], ["w1 w2", "w1 OR w2", "(w1 AND w2) OR w3"])
    vocabulary = Vocabulary.of(past)
    nets = nets_of(past, vocabulary, 2, 100)
    words = {hash_of(w): w for w in ("w1", "w2", "w3")}
    named = [words[int(h)] for h in vocabulary.hashes]
    found = [{named[t] for t in nets.terms[a:b]} for a, b in zip(nets.offsets, nets.offsets[1:], strict=False)]
    # w1, w2 and w3 are in two objects each: of equals the lowest hash is the key.
    lower = min(("w1", "w2"), key=hash_of)
    assert found == [{"w1", "w2", "w3"}, {"w2", "w3"}, {"w1", "w2"}, {lower, "w3"}]
    assert len(nets_of(past, vocabulary, 2, 1).offsets) - 1 == 2  # one object, one query
    assert len(nets_of(past, vocabulary, 2**22, 100).offsets) - 1 == 2


def test_the_fair_share_leaves_giants_out():
    """60 of 100 takes one of four workers; the other three share 40."""
    assert fair_share(np.array([10.0, 60, 10, 10, 10]), 4) == 40 / 3
    assert fair_share(np.array([50.0, 40, 10]), 3) == 10
    assert fair_share(np.array([50.0]), 3) == 0
    assert fair_share(np.array([]), 3) == 0
    assert fair_share(np.array([3.0, 3]), 1) == 6
    assert limits_of(np.array([1.0, 1, 1, 1]), 2, 0.25) == Limits(2.5, 1.5)
    assert heaviest_first(np.array([1.0, 3, 3, 2])).tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("score", "total", "held", "left", "worker", "why"),
    [
        ([0, 2, 1], [0, 0, 0], [0, 0, 0], (30, 9), 1, "the best score"),
        ([0, 2, 1], [0, 10, 0], [0, 1, 0], (30, 9), 2, "that has room"),
        ([1, 1, 1], [2, 1, 1], [0, 2, 1], (30, 9), 2, "of equals the lighter, then the one with fewer terms"),
        ([1, 1, 1], [1, 1, 1], [0, 0, 0], (30, 9), 0, "then the lower number"),
        ([9, 0, 0], [8, 9, 4], [1, 1, 1], (4, 2), 2, "what is left is needed below the floor"),
        ([9, 5, 0], [1, 1, 0], [1, 1, 0], (30, 1), 2, "the last term is needed by an idle worker"),
        ([9, 0, 1], [10, 9, 9], [1, 1, 1], (2, 1), 2, "nowhere: a least loaded"),
    ],
)
def test_choosing_a_worker(score, total, held, left, worker, why):
    """A term of load 2, at most 10 and at least 8 per worker; left are a load and a number of terms."""
    arrays = np.array(score, float), np.array(total, float), np.array(held, np.int64)
    assert choose(*arrays, 2.0, float(left[0]), left[1], Limits(10.0, 8.0)) == worker, why


PAIRS = [[0, 1], [0, 1], [2, 3], [2, 3], [1, 2]]


def test_greedy_keeps_pairs_together():
    """a-b and c-d twice, b-c once: of the even halvings {ab}{cd} cuts one net, the others four or five."""
    worker = hypergraph_groups(even(4), made(PAIRS, 4), 2, HypergraphParams(sweeps=0))
    assert worker.tolist() == [0, 0, 1, 1]
    assert cut(PAIRS, worker) == 1


@pytest.mark.parametrize(
    ("limits", "after", "moves"),
    [
        (Limits(4.0, 0.0), [1, 1, 0, 0], [2, 0, 0]),  # a follows b; c is the last of its worker; d follows c
        (Limits(2.0, 0.0), [0, 1, 0, 1], [0, 0, 0]),  # both workers are full
        (Limits(3.0, 2.0), [0, 1, 0, 1], [0, 0, 0]),  # nobody may fall below two
    ],
)
def test_refinement_by_hand(limits, after, moves):
    worker = np.array([0, 1, 0, 1], np.int32)
    order = frozen(np.arange(4), np.int64)
    assert refine_by_nets(order, even(4), made(PAIRS, 4), worker, 2, limits, 3).tolist() == moves
    assert worker.tolist() == after


@given(lists_of_terms, loads, st.integers(1, 4), st.lists(st.integers(0, 3), min_size=7, max_size=7))
def test_refinement_never_cuts_more_and_stays_within_limits(lists, load, workers, start):
    worker = np.array(start, np.int32) % workers
    before, weights = worker.copy(), frozen(load, np.float64)
    limits = limits_of(weights, workers, 0.3)
    moves = refine_by_nets(frozen(np.arange(7), np.int64), weights, made(lists, 7), worker, workers, limits, 9)
    lists = [one for one in lists if len(set(one)) > 1]
    assert cut(lists, worker) <= cut(lists, before) - moves.sum()
    was, now = (np.bincount(w, weights, workers) for w in (before, worker))
    assert all(b <= max(a, limits.cap) and b >= min(a, limits.floor) for a, b in zip(was, now, strict=True))


@pytest.mark.parametrize("grouped", [hypergraph_groups, metric_groups])
@given(lists=lists_of_terms, load=loads, workers=st.integers(1, 9))
def test_every_term_has_a_worker_and_no_worker_is_idle(grouped, lists, load, workers):
    weights = np.array(load, np.float64)
    worker = grouped(weights, made(lists, 7), workers)
    assert worker.min() >= 0
    assert worker.max() < workers
    assert grouped(weights, made(lists, 7), workers).tolist() == worker.tolist()
    assert len(set(worker.tolist())) == min(workers, 7)


@pytest.mark.parametrize("grouped", [hypergraph_groups, metric_groups])
def test_no_load_and_no_nets(grouped):
    assert grouped(np.zeros(4), made([], 4), 2).tolist() == [0, 1, 0, 1]
    assert grouped(np.zeros(0), made([], 0), 3).tolist() == []
    assert grouped(np.zeros(2), made([[0, 1]], 2), 5).tolist() == [0, 1]


def test_near_the_best_cut_of_all():
    """Twelve equal terms of three topics on three workers: as good as the best of all even divisions."""
    lists = [[4 * t + i, 4 * t + j] for t in range(3) for i in range(4) for j in range(i)] + [[3, 4], [7, 8]]
    divisions = (d for d in product(range(3), repeat=11) if sorted(map((0, *d).count, range(3))) == [4, 4, 4])
    best = min(cut(lists, (0, *d)) for d in divisions)
    for grouped in (hypergraph_groups, metric_groups):
        worker = grouped(np.ones(12), made(lists, 12), 3)
        assert np.bincount(worker).tolist() == [4, 4, 4]
        assert cut(lists, worker) == best == 2


OCCURRENCES = [[0, 1], [0, 1], [0, 2], [2, 3]]  # a in 3 nets, b and c in 2, d in 1


def test_cosines_by_hand():
    nets = made(OCCURRENCES, 5)
    assert cosines_to(0, nets).tolist() == pytest.approx([1, 2 / 6**0.5, 1 / 6**0.5, 0, 0])
    assert cosines_to(2, nets).tolist() == pytest.approx([1 / 6**0.5, 0, 1, 1 / 2**0.5, 0])
    assert cosines_to(4, nets).tolist() == [0] * 5


def test_seeds_are_far_and_heavy():
    """From a: b at 0.18, c at 0.59, d at 1. From a and d: b at 0.18, c at 0.29."""
    nets = made(OCCURRENCES, 4)
    assert far_seeds(even(4), nets, 3).tolist() == [0, 3, 2]
    assert far_seeds(frozen([1.0, 9.0, 1.0, 0.5], np.float64), nets, 2).tolist() == [1, 2]  # c 1, d 0.5, a 0.18
    assert far_seeds(even(4), nets, 9).tolist() == [0, 3, 2, 1]


def test_terms_join_the_closest_seed():
    nets = made(OCCURRENCES, 4)
    assert metric_groups(np.ones(4), nets, 2, MetricParams(rounds=0)).tolist() == [0, 0, 1, 1]
    order, seeds = (frozen(x, np.int64) for x in ([0, 1, 2, 3], [0, 3]))
    worker, rounds = deal_by_distance(order, even(4), nets, seeds, 2, limits_of(np.ones(4), 2, 0.1), 5)
    assert (worker.tolist(), rounds) == ([0, 0, 1, 1], 1), "the first round changes nothing and is the last"


@pytest.mark.parametrize("grouped", [hypergraph_groups, metric_groups])
def test_loads_are_even_within_epsilon(grouped):
    """Work done: many small terms fill the workers to within a term of the limits."""
    past = history(topical(16, 40, 1500), [])
    vocabulary = Vocabulary.of(past)
    load = vocabulary.load()
    total = np.bincount(grouped(load, nets_of(past, vocabulary, 8, 10_000), 8), load, 8)
    limits = limits_of(load, 8, 0.1)
    assert total.max() <= limits.cap + load.max()
    assert total.min() >= limits.floor - load.max()
