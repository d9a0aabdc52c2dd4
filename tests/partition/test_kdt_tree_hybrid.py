"""Algorithm 1 of PS2Stream piece by piece: formulas by hand, the dynamic program against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.flat.arrays import frozen
from sightline.flat.records import frozen_fields
from sightline.partition.cost.ps2stream import LoadCosts, steady_loads, worker_loads
from sightline.partition.kdt_tree import HybridParams, KdtTreeRouting
from sightline.partition.kdt_tree.hybrid._kernels import Units, deal
from sightline.partition.kdt_tree.hybrid.algorithm import (
    charge,
    classify,
    cost_row,
    lighter,
    numbers_of_partitions,
    partition_node,
    partition_workload,
    space_steps,
)
from sightline.partition.kdt_tree.hybrid.merging import leaf_members, merge_leaves
from sightline.partition.kdt_tree.hybrid.node import best_cut, cut_along, halves, root_of, text_similarity
from sightline.partition.kdt_tree.hybrid.sample import WorkloadSample, grid_lines
from sightline.partition.kdt_tree.hybrid.text_parts import node_text, text_parts
from sightline.partition.terms._kernels import hashed_to
from tests.partition.test_kdt_tree import (
    CONFIG,
    WORDS,
    WORLD,
    CellNode,
    NodeVocabulary,
    block_of,
    grid_of,
    hashes,
    history_of,
    objects_of,
    queries,
    rows,
)

OBJECTS_ONLY = LoadCosts(0, 1, 0, 0)
HERE = sl.Box(0, 0, 4, 4)


def sample_of(rows, queries, side=64):
    return WorkloadSample.of(history_of(rows, queries), side)


def quadrants():
    """Four quarters of [0, 4]²: texts differ in N1 (south-west) and N3 (north-east), agree in N2 and N4.

    240 objects on 4 x 4 places, so that the grid's lines fall between the quarters.
    """
    quarters = [
        ((0, 0), "kiwi", "lemon", 60),  # N1
        ((0, 2), "mango", "mango", 30),  # N2
        ((2, 2), "kiwi", "papaya", 20),  # N3
        ((2, 0), "mango", "mango", 60),  # N4
    ]
    past, standing = [], []
    for (x, y), has, wants, n in quarters:
        past += [(x + 0.5 + i % 2, y + 0.5 + i // 2 % 2, has) for i in range(60)]
        box = sl.Box(x + (0.5 if x else 0.1), y + (0.5 if y else 0.1), x + 1.9, y + 1.9)
        standing += [sl.RangeQuery(wants, box)] * n
    return past, standing


def test_similarity_is_the_cosine():
    """Objects have (flood 2, boat 1), queries want (flood 1, calm 1): 2 / (sqrt 5 sqrt 2)."""
    past = [(1, 1, "flood boat"), (1, 1, "flood")]
    sample = sample_of(past, [sl.RangeQuery("flood", HERE), sl.RangeQuery("calm", HERE)])
    assert text_similarity(sample, root_of(sample, LoadCosts())) == pytest.approx(2 / np.sqrt(10))
    # A term counts once per query, however many conjuncts have it; NOT terms are not wanted.
    sample = sample_of(past, [sl.RangeQuery("(flood boat) OR (flood calm) NOT storm", HERE)])
    assert text_similarity(sample, root_of(sample, LoadCosts())) == pytest.approx(3 / np.sqrt(5 * 3))
    for bare in ([], [sl.RangeQuery("", HERE)]):
        sample = sample_of(past, bare)
        assert text_similarity(sample, root_of(sample, LoadCosts())) == 1


def test_lines_divide_the_objects():
    assert grid_lines(np.arange(8.0), 4).tolist() == [2, 4, 6]
    assert grid_lines(np.full(9, 3.5), 64).tolist() == []
    assert grid_lines(np.array([1.0, 1, 1, 1, 1, 7]), 64).tolist() == [7]
    assert grid_lines(np.arange(8.0), 1).tolist() == []


def test_a_cut_balances_load():
    """Left 120 objects and 90 queries, right 120 and 80: 219 and 208 at c2 = 1, c3 + c4 = 1.1."""
    sample = sample_of(*quadrants(), side=4)
    assert sample.x_edges.tolist() == sample.y_edges.tolist() == [1.5, 2.5, 3.5]
    costs = LoadCosts(0, 1, 1, 0.1)
    root = root_of(sample, costs)
    assert root.box == (0, 0, 3, 3)
    assert root.load == pytest.approx(240 + 1.1 * 170)
    cut = cut_along(sample, root, 0, costs)
    assert (cut.axis, cut.line) == (0, 1)
    assert (cut.low, cut.high) == (pytest.approx(120 + 1.1 * 90), pytest.approx(120 + 1.1 * 80))
    low, high = halves(sample, root, cut)
    assert (low.box, high.box) == ((0, 0, 1, 3), (2, 0, 3, 3))
    assert [(len(n.objects), len(n.queries)) for n in (low, high)] == [(120, 90), (120, 80)]
    # A query that crosses the cut is on both sides.
    sample = sample_of(quadrants()[0], [sl.RangeQuery("kiwi", sl.Box(1, 1, 3, 3))], side=4)
    root = root_of(sample, costs)
    assert [len(n.queries) for n in halves(sample, root, best_cut(sample, root, costs))] == [1, 1]


def test_subspaces_of_figure_3():
    """The first phase finds N1 and N3 where texts differ (N_t), N2 and N4 where they agree (N_s)."""
    sample = sample_of(*quadrants(), side=4)
    root = root_of(sample, LoadCosts())
    assert text_similarity(sample, root) == pytest.approx(
        120 * 90 / (120 * np.sqrt(2) * np.sqrt(60**2 + 90**2 + 20**2))
    )
    nodes = classify(sample, HybridParams(delta=0.7, side=4))
    assert {node.box: node.textual for node in nodes} == {
        (0, 0, 1, 1): True, (0, 2, 1, 3): False, (2, 2, 3, 3): True, (2, 0, 3, 1): False,
    }  # fmt: skip
    # delta at the root's own similarity: nothing is cut. No change is small enough, or room for no more nodes: N_t.
    assert [n.textual for n in classify(sample, HybridParams(delta=0.5, side=4))] == [False]
    assert [n.textual for n in classify(sample, HybridParams(delta=0.7, epsilon=0.5, side=4))] == [True]
    assert [n.textual for n in classify(sample, HybridParams(delta=0.7, theta=1, side=4))] == [True]
    assert len(classify(sample, HybridParams(delta=0.7, theta=3, side=4))) <= 3


def test_the_tree_of_figure_3():
    """Text parts in N1 and N3 only, and no worker idle."""
    past, standing = quadrants()
    routing = KdtTreeRouting.fitted(history_of(past, standing), CONFIG.space, 4, HybridParams(delta=0.7, side=4))
    table = routing.leaf_table().to_pylist()
    assert set(routing.leaf_worker.tolist()) == {0, 1, 2, 3}
    for leaf in table:
        middle = (max(leaf["west"], 0) + min(leaf["east"], 4)) / 2, (max(leaf["south"], 0) + min(leaf["north"], 4)) / 2
        apart = (middle[0] < 2) == (middle[1] < 2)  # N1 or N3
        assert leaf["split"] == "spatial" or apart


@given(st.integers(1, 4), st.integers(0, 5), st.data())
def test_numbers_of_partitions_are_optimal(nodes, more, data):
    """The dynamic program against every way to write m as a sum."""
    most = more + 1
    cells = st.one_of(st.integers(0, 9).map(float), st.just(np.inf))
    table = [[1.0, *data.draw(st.lists(cells, min_size=most - 1, max_size=most - 1))] for _ in range(nodes)]
    table[0] = [float(np.nan_to_num(c, posinf=50)) for c in table[0]]  # one of them can take any number
    partitions = nodes + more
    numbers = numbers_of_partitions(table, partitions)
    ways = [w for w in itertools.product(range(1, most + 1), repeat=nodes) if sum(w) == partitions]
    best = min(sum(table[i][k - 1] for i, k in enumerate(way)) for way in ways)
    assert sum(numbers) == partitions
    assert min(numbers) >= 1
    assert sum(table[i][k - 1] for i, k in enumerate(numbers)) == best


def test_numbers_of_partitions_by_hand():
    """Node 2 gains most from a second partition (10 -> 4), node 1 from a third of none."""
    assert numbers_of_partitions([[5, 4, 4], [10, 4, 3.5]], 4) == [2, 2]
    assert numbers_of_partitions([[5, 4, 4], [10, 4, 3.5]], 3) == [1, 2]
    assert numbers_of_partitions([[5, 5], [5, 5]], 3) == [2, 1]  # ties: fewer for the later node
    assert numbers_of_partitions([[7]], 1) == [1]


def deals(units, bins, costs=OBJECTS_ONLY, home=(-1,) * 9, query_lists=None, wild=0):
    """Deal units in the given order; each is a list of objects."""
    query_lists = query_lists or [[] for _ in units]
    flat = [
        part
        for lists in (units, query_lists)
        for part in (np.cumsum([0, *map(len, lists)]), np.array(list(itertools.chain(*lists)), np.int32))
    ]
    units, order = frozen_fields(Units, flat), frozen(np.arange(len(units)), np.int64)
    return deal(units, order, frozen(home, np.int32), 9, wild, bins, costs.weights)


def test_nodes_are_merged_where_they_add_least():
    """Loads are numbers of distinct objects. Empty first: 4 | 3. Then a subset of the first adds nothing there; the
    last adds 1 anywhere and goes where fewer units are: 4 | 4."""
    bins, loads, *_ = deals([[0, 1, 2, 3], [4, 5, 6], [0, 1], [7]], 2)
    assert (bins.tolist(), loads.tolist()) == ([0, 1, 0, 1], [4, 4])


def test_nodes_are_merged_into_the_lightest_where_balance_would_suffer():
    """{0, 7} adds 1 to the first (5 : 3 > 4 : 3), so it goes to the lightest: 4 | 5."""
    bins, loads, *_ = deals([[0, 1, 2, 3], [4, 5, 6], [0, 7]], 2)
    assert (bins.tolist(), loads.tolist()) == ([0, 1, 1], [4, 5])


def test_idle_bins_are_filled_first():
    """Though a twin of the first unit would add nothing there."""
    bins, loads, *_ = deals([[0, 1], [0, 1], [0, 1], []], 3)
    assert (bins.tolist(), loads.tolist()) == ([0, 1, 2, 0], [2, 2, 2])
    assert deals([[], [], [], []], 2)[0].tolist() == [0, 1, 0, 1]


def test_homes_and_wild_queries_are_there_from_the_beginning():
    bins, loads, *pairs = deals([[1], [2]], 2, LoadCosts(1, 1, 1, 0), (1, -1, -1), [[0], [0]], wild=1)
    # Both bins have the wild query: 0*1 + 0 + 1 = 1, and with object 0: 1*1 + 1 + 1 = 3.
    # Unit 0 (one object, one query) makes 1*2 + 1 + 2 = 5 of bin 0 (+4) and 2*2 + 2 + 2 = 8 of bin 1 (+5): 5 | 3.
    # Unit 1 shares the query: bin 0 2*2 + 2 + 2 = 8 (+3), 8 : 3 > 5 : 3, so to the lightest: 5 | 8.
    assert (bins.tolist(), loads.tolist()) == ([0, 1], [5, 8])
    assert sorted(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)) == [(0, 1), (1, 0), (2, 1)]
    assert sorted(zip(pairs[2].tolist(), pairs[3].tolist(), strict=True)) == [(0, 0), (0, 1)]


def test_text_parts_by_hand():
    """Keys are the rarest terms; objects go with their keys; the rest go home by hash."""
    past = [(1, 1, text) for text in ("flood", "flood boat", "flood boat", "calm", "storm", "")]
    standing = [sl.RangeQuery("flood boat", HERE), sl.RangeQuery("calm OR flood", HERE), sl.RangeQuery("", HERE)]
    sample = sample_of(past, standing)
    node = root_of(sample, OBJECTS_ONLY)
    text = node_text(sample, node)
    words = {h: w for w, h in _hashes(["flood", "boat", "calm", "storm"])}
    name = [words[h] for h in sample.terms.tolist()]
    assert {name[k] for k in text.keys} == {"boat", "calm", "flood"}  # of "flood boat" the rarer, of OR both
    wanted = {"flood": 3, "boat": 2, "calm": 1, "storm": 1}
    assert {name[t]: c for t, c in zip(text.known, text.counts, strict=True)} == wanted
    assert text.wild.tolist() == [False, False, True]
    assert [name[s] if s >= 0 else s for s in text.smallest] == [-2, -2, -2, -2, "storm", -1]
    parts = text_parts(sample, node, text, 2, OBJECTS_ONLY)
    part = {name[t]: p for t, p in zip(parts.terms, parts.part, strict=True)}
    assert part["storm"] == hashed_to(np.int64(dict(_hashes(["storm"]))["storm"]), 2)
    assert {name[t] for t, k in zip(parts.terms, parts.keyed, strict=True) if k} == {"boat", "calm", "flood"}
    for p in range(2):
        expected = {i for i, row in enumerate(past) if any(part[w] == p for w in row[2].split() if w != "storm")}
        expected |= {4} if part["storm"] == p else set()
        expected |= {5} if p == 0 else set()  # the only cell is 0
        assert set(parts.objects[p].tolist()) == expected
        assert parts.loads[p] == len(expected)
        assert 2 in parts.queries[p]
    # Flood comes first, boat's objects are flood's: they share a part, unless that part would outgrow the other.
    assert sum(parts.loads) <= len(past) + 2


def _hashes(words):
    return list(zip(words, hashes(*words).tolist(), strict=True))


@settings(max_examples=40)
@given(past=rows, standing=queries, parts=st.integers(2, 5))
def test_loads_of_parts_are_what_the_dispatcher_sends(past, standing, parts):
    """A textual tree of one node: the members of its parts are exactly the routes of the history."""
    standing = [q for q in standing if isinstance(q, sl.RangeQuery)]
    sample = sample_of(past, standing)
    node = root_of(sample, LoadCosts())
    made = text_parts(sample, node, node_text(sample, node), parts, LoadCosts())
    assert made.loads == pytest.approx(
        [steady_loads(len(o), len(q), LoadCosts())[0] for o, q in zip(made.objects, made.queries, strict=True)]
    )
    words = NodeVocabulary(sample.terms[made.terms], made.part, made.keyed, made.counts)
    grid = grid_of(sample.x_edges, sample.y_edges, [CellNode(node.box, parts, words)])
    routing = KdtTreeRouting(parts, WORLD, grid, frozen(np.arange(parts), np.int32))
    to = routing.route_objects(objects_of(past))
    at = routing.leaves_of(block_of(standing))
    for p in range(parts):
        assert to.row[to.worker == p].tolist() == made.objects[p].tolist()
        stand = np.unique(sample.text.query[made.queries[p]])
        assert at.query[at.leaf == p].tolist() == stand.tolist()


def test_the_cheaper_way_is_taken():
    """Large regions and rare words: text. Small regions and a frequent word: space, even in N_t."""
    rng = np.random.default_rng(3)
    past = [(*rng.uniform(0, 4, 2), f"all word{i % 8}") for i in range(200)]
    params = HybridParams()
    costs = params.costs
    large = sample_of(past, [sl.RangeQuery(f"word{i % 8}", HERE) for i in range(200)])
    node = root_of(large, costs)
    assert [n.parts is not None for n in partition_node(large, node, 4, params)] == [True]
    spots = [sl.RangeQuery("all", sl.Box(x, y, x + 0.01, y + 0.01)) for x, y in rng.uniform(0, 3.9, (200, 2))]
    small = sample_of(past, spots)
    node = root_of(small, costs)
    pieces = partition_node(small, node, 4, params)
    assert [n.parts for n in pieces] == [None] * 4
    assert sum(len(n.objects) for n in pieces) == 200
    row = cost_row(small, node, 4, params)
    assert row[3] == pytest.approx(sum(n.load for n in pieces))
    assert row[0] == node.load == partition_node(small, node, 1, params)[0].load
    textual = type(node)(node.box, node.objects, node.queries, node.load, textual=True)
    assert [n.parts for n in partition_node(small, textual, 4, params)] == [None] * 4
    assert [len(step) for step in space_steps(small, node, 5, costs)] == [1, 2, 3, 4, 5]


def test_text_is_kept_in_n_t():
    """Small regions, two of eight words per object: space copies less, and N_s takes it; N_t stays with text."""
    rng = np.random.default_rng(4)
    past = [(*rng.uniform(0, 4, 2), f"word{i % 8} word{(i + 3) % 8}") for i in range(200)]
    spots = [
        sl.RangeQuery(f"word{i % 8}", sl.Box(x, x, x + 0.01, x + 0.01)) for i, x in enumerate(rng.uniform(0, 3, 200))
    ]
    sample, params = sample_of(past, spots), HybridParams()
    node = root_of(sample, params.costs)
    textual = type(node)(node.box, node.objects, node.queries, node.load, textual=True)
    assert len(partition_node(sample, node, 4, params)) == 4
    (divided,) = partition_node(sample, textual, 4, params)
    assert len(divided.loads) == 4
    assert cost_row(sample, node, 4, params)[3] < cost_row(sample, textual, 4, params)[3] == divided.loads.sum()
    assert len(lighter(sample, node, params)) == 2
    assert len(lighter(sample, textual, params)[0].loads) == 2


def test_a_division_that_divides_nothing_is_charged():
    """Loads 9, 1, 1: three times 9 over 1.5, not 11. Loads 4, 4, 4: their sum."""
    sample = sample_of([(1, 1, "flood")], [])
    node = root_of(sample, LoadCosts())
    leaves = [[type(node)(node.box, node.objects, node.queries, load) for load in loads] for loads in LOADS]
    assert [charge(way, HybridParams()) for way in leaves] == [18, 12]


LOADS = [(9.0, 1.0, 1.0), (4.0, 4.0, 4.0)]


def test_what_cannot_be_divided_retires():
    """One place, one word: no cut, and every part but one would be empty."""
    sample = sample_of([(1, 1, "flood")] * 20, [sl.RangeQuery("flood", HERE)] * 5)
    node = root_of(sample, LoadCosts())
    assert best_cut(sample, node, LoadCosts()) is None
    assert list(map(len, space_steps(sample, node, 4, LoadCosts()))) == [1]
    assert lighter(sample, node, HybridParams()) is None
    tree = partition_workload(sample, 4, HybridParams())
    assert sum(len(n.loads) for n in tree.nodes) == 4
    assert sorted(tree.leaf_worker.tolist()) == [0, 1, 2, 3]


@settings(max_examples=40)
@given(past=rows, standing=queries, workers=st.integers(1, 5), sigma=st.sampled_from([1.0, 1.2, 3.0]))
def test_trees_end_and_keep_their_bounds(past, standing, workers, sigma):
    """At most theta leaves beyond what workers need; members add up; loads of workers are Definition 1."""
    sample = sample_of(past, standing, side=8)
    params = HybridParams(theta=12, sigma=sigma)
    nodes, worker = partition_workload(sample, workers, params)
    objects, wanted = leaf_members(nodes)
    assert workers <= len(worker) == len(objects) <= max(params.theta, 4 * workers) + 1
    assert sorted(set(np.concatenate(objects).tolist())) == list(range(len(past)))
    again, loads = merge_leaves(nodes, len(past), len(sample.box), workers, params.costs)
    assert again.tolist() == worker.tolist()
    for w in range(workers):
        mine = [i for i in range(len(worker)) if worker[i] == w]
        o, q = (set().union(*(lists[i].tolist() for i in mine)) for lists in (objects, wanted))
        assert loads[w] == pytest.approx(worker_loads(len(o), len(q), len(q), len(q), params.costs)[0])


def test_balance_is_reached_where_it_can_be():
    """Even places and texts, eight workers: within sigma."""
    rng = np.random.default_rng(9)
    past = [(*rng.uniform(0, 4, 2), " ".join(rng.choice(WORDS, 2))) for _ in range(2000)]
    spots = [sl.RangeQuery("flood", sl.Box(x, y, x + 0.05, y + 0.05)) for x, y in rng.uniform(0, 3.9, (500, 2))]
    sample = sample_of(past, spots)
    params = HybridParams()
    nodes, _ = partition_workload(sample, 8, params)
    _, loads = merge_leaves(nodes, len(past), len(sample.box), 8, params.costs)
    assert loads.max() / loads.min() <= params.sigma
