"""Text partitionings: what can match meets, objects follow their terms, and what each of the four is for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.index.protocol import ObjectColumns
from sightline.model.config import StoreConfig
from sightline.partition.cost.ps2stream import LoadCosts
from sightline.partition.history import History
from sightline.partition.terms import FrequencyRouting, HypergraphRouting, MetricRouting, TextRoutRouting
from sightline.partition.terms._kernels import all_hashed_to
from sightline.partition.terms.vocabulary import TermParams, Vocabulary
from sightline.text.postings_kernels import rarest_terms
from sightline.text.term_batch import TermBatch
from tests.partition.term_corpora import CONFIG, WORLD, block_of, hash_of, history, posts, topical

ROUTINGS = [FrequencyRouting, HypergraphRouting, MetricRouting, TextRoutRouting]
every_routing = pytest.mark.parametrize("routing", ROUTINGS)
COLLIDING = StoreConfig(seed=1, hash_bits=3)

words = st.sampled_from([f"w{i}" for i in range(9)])
texts = st.lists(st.lists(words, max_size=5).map(" ".join), max_size=12)
conjuncts = st.tuples(st.frozensets(words, min_size=1, max_size=3), st.frozensets(words, max_size=2))
disjunctions = st.lists(conjuncts.map(lambda c: (c[0], c[1] - c[0])), max_size=3)  # [] matches all


def expression(conjuncts):
    return " OR ".join(f"({' AND '.join([*sorted(p), *(f'NOT {w}' for w in sorted(n))])})" for p, n in conjuncts)


def matches(text, conjuncts):
    have = set(text.split())
    return not conjuncts or any(p <= have and not (n & have) for p, n in conjuncts)


def sent(routes):
    out = {row: set() for row in range(len(routes.owner))}
    for row, worker in zip(routes.row.tolist(), routes.worker.tolist(), strict=True):
        out[row].add(worker)
    return out


def standing(routes, queries):
    out = {q: set() for q in range(queries)}
    for q, worker in zip(routes.query.tolist(), routes.worker.tolist(), strict=True):
        out[q].add(worker)
    return out


@every_routing
@settings(max_examples=25)
@pytest.mark.parametrize("config", [CONFIG, COLLIDING], ids=["64 bits", "3 bits"])
@given(past=texts, present=texts, known=st.lists(disjunctions, max_size=4), asked=st.lists(disjunctions, max_size=6),
       workers=st.integers(1, 5))  # fmt: skip
def test_what_can_match_meets(routing, config, past, present, known, asked, workers):
    """Fitted to one thing, shown another: keywords found by plain sets of words, range and nearest queries alike."""
    fitted = routing.fitted(history(past, [expression(q) for q in known], config), config.space, workers)
    queries = [sl.RangeQuery(expression(q), WORLD) for q in asked]
    queries += [sl.NearestQuery(expression(q), at=(0, 0), k=1) for q in asked]
    routes = fitted.route_objects(posts(present, config))
    where, at = sent(routes), standing(fitted.route_queries(block_of(queries, config)), len(queries))
    assert sum(map(len, where.values())) == len(routes.row), "no pair twice"
    assert list(zip(routes.worker, routes.row, strict=True)) == sorted(zip(routes.worker, routes.row, strict=True))
    assert all(owner in where[row] for row, owner in enumerate(routes.owner.tolist()))
    for row, text in enumerate(present):
        if not text:
            assert where[row] == {int(routes.owner[row])}
        for q, query in enumerate([*asked, *asked]):
            if matches(text, query):
                assert where[row] & at[q], (text, query)
    for q, query in enumerate(asked):
        if len(query) == 1:
            assert len(at[q]) == 1
        if not query:
            assert at[q] == set(range(workers))


@every_routing
def test_an_empty_history_is_a_start(routing):
    nothing = ObjectColumns(np.empty(0), np.empty(0), np.empty(0, np.int64), TermBatch.empty())
    fitted = routing.fitted(History(nothing, block_of([]), block_of([]), 0), CONFIG.space, 3)
    start = routing.start(CONFIG.space, 3)
    for name, array in fitted.to_arrays().items():
        assert array.tolist() == start.to_arrays()[name].tolist(), name
    assert fitted.leaf_table()["keywords"].to_pylist() == [0, 0, 0]
    for texts, queries in ((["w1 w2"], []), ([], ["w1 w2"]), (["", ""], [""])):
        some = routing.fitted(history(texts, queries), CONFIG.space, 3)
        assert len(sent(some.route_objects(posts(["w1 w2", ""])))) == 2


@every_routing
def test_a_mapped_routing_says_the_same(routing):
    """Arrays of a file are read-only; two fits to one history are one."""
    texts = topical(4, 20, 200)
    one, two = (routing.fitted(history(texts, ["t1w1", "t2w2 OR t3w3"]), CONFIG.space, 4) for _ in range(2))
    arrays = {name: array.copy() for name, array in two.to_arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    mapped = routing.from_arrays(arrays)
    block = block_of(["t1w1 t1w2", "t2w3 OR unheard"])
    for a, b in zip(one.route_objects(posts(texts)), mapped.route_objects(posts(texts)), strict=True):
        assert a.tolist() == b.tolist()
    for a, b in zip(one.route_queries(block), mapped.route_queries(block), strict=True):
        assert a.tolist() == b.tolist()
    assert (mapped.workers, mapped.learns, mapped.duplicates) == (4, False, True)
    assert mapped.reassigned(np.ones(4)) is mapped


@every_routing
def test_leaves_are_workers(routing):
    fitted = routing.fitted(history(topical(4, 20, 200), ["t1w1 t1w2"]), CONFIG.space, 3)
    table = fitted.leaf_table()
    assert table.column_names == ["leaf", "worker", "split", "west", "south", "east", "north", "keywords"]
    assert table["worker"].to_pylist() == [0, 1, 2]
    assert set(table["split"].to_pylist()) == {"terms"}
    assert sum(table["keywords"].to_pylist()) == len(fitted.hashes) > 0
    assert min(table["keywords"].to_pylist()) > 0
    leaves = fitted.leaves_of(block_of(["", "t1w1"]))
    assert leaves.query.tolist() == [0, 0, 0, 1]
    assert leaves.leaf.tolist()[:3] == [0, 1, 2]
    routes = fitted.route_objects(posts(["t1w1", "t2w2"]))
    assert routes.leaf.tolist() == routes.owner.tolist()


@every_routing
def test_top_terms_stand_everywhere(routing):
    second = timedelta(seconds=1)
    block = block_of([sl.TopTermsQuery(sl.Box(0, 0, 1, 1), 3, window=second, every=second), "w1"])
    routes = routing.start(CONFIG.space, 4).route_queries(block)
    assert standing(routes, 2)[0] == {0, 1, 2, 3}
    assert len(standing(routes, 2)[1]) == 1


@every_routing
def test_a_conjunct_without_positive_terms_stands_everywhere(routing):
    """No expression has one; the arrays of a block may."""
    block = block_of(["w1 NOT w2", "w1"])
    bare = replace(block, pos_offsets=np.array([0, 0, 1]), pos=block.pos[1:])
    at = standing(routing.start(CONFIG.space, 4).route_queries(bare), 2)
    assert (at[0], len(at[1])) == ({0, 1, 2, 3}, 1)
    assert Vocabulary.of(replace(history(["w1"], []), standing=bare)).queries.tolist() == [1]


def test_unseen_terms_are_hashed():
    """The halves of the hash folded, 31 bits of it, modulo: 5 ^ 3 = 6, 6 % 4 = 2; a negative one has bits, no sign."""
    assert all_hashed_to(np.array([(5 << 32) | 3, 0, 7, -1, -(2**63)]), 4).tolist() == [2, 0, 3, 0, 0]
    routing = TextRoutRouting.start(CONFIG.space, 5)
    h = hash_of("unheard")
    expected = ((h ^ (h >> 32)) & 0x7FFFFFFF) % 5
    assert routing.route_queries(block_of(["unheard"])).worker.tolist() == [expected]
    assert expected in routing.route_objects(posts(["unheard"])).worker.tolist()


def test_the_key_is_the_rarest_then_the_lowest_hash():
    offsets, pos = np.array([0, 2, 2, 5, 6]), np.array([0, 1, 1, 2, 3, 3], np.int32)
    hashes, frequency = np.array([40, 30, 20, 10]), np.array([1, 5, 0, 0])
    assert rarest_terms(offsets, pos, hashes, frequency).tolist() == [0, -1, 3, 3]


def test_a_conjunct_stands_with_its_rarest_term():
    fitted = FrequencyRouting.fitted(history(["w1 w2", "w1", "w1 w3"], ["w1"]), CONFIG.space, 3)
    at = dict(zip(fitted.hashes.tolist(), fitted.term_worker.tolist(), strict=True))
    alone, both, unheard, either = (
        standing(fitted.route_queries(block_of([q])), 1)[0] for q in ("w1", "w1 AND w2", "w1 AND unheard", "w1 OR w2")
    )
    assert alone == {at[hash_of("w1")]}
    assert both == {at[hash_of("w2")]}
    h = hash_of("unheard")
    assert unheard == {((h ^ (h >> 32)) & 0x7FFFFFFF) % 3}
    assert either == {at[hash_of("w1")], at[hash_of("w2")]}


def test_counts_and_loads_by_hand():
    """Def. 1 per term: o * q + o + q. The key of "w1 w2" is w2 (1 object), of "w1 w9" w9 (none)."""
    vocabulary = Vocabulary.of(history(["w1 w2", "w1 w1", "w1 w3"], ["w1", "w1 w2", "w1 w9", "w2 OR w3", "w1 NOT w4"]))
    rows = dict(zip(vocabulary.hashes.tolist(), zip(vocabulary.objects, vocabulary.queries, vocabulary.load(),
                                                    strict=True), strict=True))  # fmt: skip
    assert rows[hash_of("w1")] == (3, 2, 3 * 2 + 3 + 2)
    assert rows[hash_of("w2")] == (1, 2, 1 * 2 + 1 + 2)
    assert rows[hash_of("w3")] == (1, 1, 1 * 1 + 1 + 1)
    assert rows[hash_of("w9")] == (0, 1, 1)
    assert hash_of("w4") not in rows
    weighed = vocabulary.load(TermParams(costs=LoadCosts(2, 0.5, 0.25, 0)))
    assert weighed[vocabulary.hashes.tolist().index(hash_of("w2"))] == 2 * 1 * 2 + 0.5 * 1 + 0.25 * 2


def test_top_terms_are_no_load():
    second = timedelta(seconds=1)
    vocabulary = Vocabulary.of(history(["w1"], [sl.TopTermsQuery(WORLD, 3, window=second, every=second)]))
    assert (vocabulary.objects.tolist(), vocabulary.queries.tolist()) == ([1], [0])


def test_a_bounded_vocabulary_keeps_terms_of_queries_first():
    past = history(["w1 w2", "w1 w2", "w1 w3", "w4"], ["w4", "w3", "w3 w4", "w3"])
    for most, kept in ((1, ["w3"]), (2, ["w3", "w4"]), (3, ["w3", "w4", "w1"])):
        vocabulary = Vocabulary.of(past, TermParams(most=most))
        assert vocabulary.hashes.tolist() == sorted(hash_of(w) for w in kept)
        assert vocabulary.numbers(np.array([hash_of("w2"), *vocabulary.hashes])).tolist() == [-1, *range(most)]


def test_terms_that_share_a_hash_are_one():
    vocabulary = Vocabulary.of(history([f"w{i}" for i in range(40)], ["w1", "w2"], COLLIDING))
    assert len(vocabulary) <= 8
    assert vocabulary.objects.sum() == 40
    assert vocabulary.queries.sum() == 2


def load_of_workers(routing, past, workers):
    """Checks and arrivals per worker, counted term by term."""
    fitted = routing.fitted(past, CONFIG.space, workers)
    return np.bincount(fitted.term_worker, Vocabulary.of(past).load(), workers)


def test_frequency_evens_out_what_hashing_does_not():
    """Work done: the fullest worker is within the bound of LPT, and far below that of hashing."""
    texts = topical(1, 400, 1500)
    past = history(texts, [text.split()[i % 5] for i, text in enumerate(texts[:300])])
    even, hashed = (load_of_workers(r, past, 8) for r in (FrequencyRouting, TextRoutRouting))
    assert even.sum() == hashed.sum()
    least = max(even.sum() / 8, Vocabulary.of(past).load().max())
    assert even.max() <= least * (4 / 3)
    assert even.max() - even.min() < hashed.max() - hashed.min()
    assert even.max() <= hashed.max()


def test_grouped_terms_send_objects_to_fewer_workers():
    """Work done on a corpus with topics: workers per object, owner included."""
    texts = topical(16, 40, 2000)
    past, later = history(texts, [" ".join(t.split()[:2]) for t in texts[:200]]), posts(topical(16, 40, 500, seed=8))
    spread = {r: len(r.fitted(past, CONFIG.space, 8).route_objects(later).row) / 500 for r in ROUTINGS}
    assert spread[HypergraphRouting] < 0.8 * spread[TextRoutRouting], spread
    assert spread[MetricRouting] < 0.8 * spread[TextRoutRouting], spread
    assert spread[TextRoutRouting] < 1 + 6
