"""The grid^t dispatcher of the kd^t-tree: Figure 3 of PS2Stream, open and closed terms, nothing missed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.flat.arrays import frozen
from sightline.geo.contains import inside
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.model.config import StoreConfig
from sightline.partition.cost.ps2stream import LoadCosts
from sightline.partition.history import History
from sightline.partition.kdt_tree import HybridParams, KdtTreeRouting
from sightline.partition.kdt_tree.grid_t import CellNode, NodeVocabulary, grid_of, plain_nodes
from sightline.text.dictionary import TermDictionary
from sightline.text.tokeniser import tokenise
from tests.stages import worlds

CONFIG = StoreConfig(seed=1)
WORLD = np.asarray(CONFIG.space.bounds)


def objects_of(rows, config=CONFIG):
    """Objects from (lon, lat, text)."""
    lon, lat = np.array([row[0] for row in rows], np.float64), np.array([row[1] for row in rows], np.float64)
    terms = tokenise(pa.array([row[2] for row in rows], pa.string()), config.text, config.seed, config.hash_bits)
    return ObjectColumns(lon, lat, np.zeros(len(rows), np.int64), terms)


def block_of(queries, config=CONFIG):
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), 0, 1, config)


def history_of(rows, queries, config=CONFIG):
    return History(objects_of(rows, config), block_of(queries, config), block_of([], config), 10**6)


def hashes(*words):
    return TermDictionary.from_strings(list(words), CONFIG.seed, CONFIG.hash_bits).hashes


def words_of(parts, closed=()):
    """A vocabulary: word -> part for keys with one object each; closed words belong to part 0 with nine objects."""
    names = [*parts, *closed]
    part = np.array([*parts.values(), *(0 for _ in closed)], np.int32)
    keyed = np.array([True] * len(parts) + [False] * len(closed))
    return NodeVocabulary(hashes(*names), part, keyed, np.where(keyed, 1, 9).astype(np.int32))


def sent(routing, rows):
    """Per object the workers that match it, and the owners."""
    routes = routing.route_objects(objects_of(rows))
    pairs = list(zip(routes.worker.tolist(), routes.row.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    return [{w for w, r in pairs if r == row} for row in range(len(rows))], routes


def stands(routing, queries):
    routes = routing.route_queries(block_of(queries))
    pairs = list(zip(routes.worker.tolist(), routes.query.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    return [{w for w, q in pairs if q == row} for row in range(len(queries))]


@pytest.fixture
def figure3():
    """PS2Stream Figure 3 on 2 x 2 cells: N1 and N3 divided by text, N2 and N4 not; workers counted from 0.

    N11 -> w1; N12, N31 -> w2; N2, N32 -> w3; N4, N33 -> w4.
    """
    nodes = [
        CellNode((0, 0, 0, 0), 2, words_of({"kiwi": 0, "lemon": 1}, closed=["plum"])),  # N1
        CellNode((1, 0, 1, 0)),  # N2
        CellNode((0, 1, 0, 1), 3, words_of({"kiwi": 0, "lemon": 1, "mango": 2})),  # N3
        CellNode((1, 1, 1, 1)),  # N4
    ]
    grid = grid_of(np.array([2.0]), np.array([2.0]), nodes)
    return KdtTreeRouting(4, WORLD, grid, frozen([0, 1, 2, 1, 2, 3, 3], np.int32))


N1, N2, N3, N4 = (1.0, 1.0), (3.0, 1.0), (1.0, 3.0), (3.0, 3.0)


def test_objects_of_figure_3(figure3):
    cases = {
        (*N1, "kiwi"): {0}, (*N1, "lemon"): {1}, (*N1, "kiwi lemon"): {0, 1}, (*N2, "kiwi"): {2}, (*N2, ""): {2},
        (*N3, "kiwi"): {1}, (*N3, "lemon"): {2}, (*N3, "mango"): {3}, (*N3, "lemon mango"): {2, 3}, (*N4, "x"): {3},
    }  # fmt: skip
    found, routes = sent(figure3, list(cases))
    assert found == list(cases.values())
    assert routes.leaf.tolist()[:2] == [0, 1]
    assert all(owner in workers for owner, workers in zip(routes.owner.tolist(), found, strict=True))


def test_queries_of_figure_3(figure3):
    everywhere = sl.Box(0, 0, 4, 4)
    queries = [
        sl.RangeQuery("kiwi", sl.Box(0, 0, 1, 1)),  # N1, T1
        sl.RangeQuery("lemon", sl.Box(0, 0, 1, 1)),  # N1, T2
        sl.RangeQuery("kiwi", sl.Box(3, 0, 4, 1)),  # N2 without looking at the text
        sl.RangeQuery("mango", sl.Box(0, 3, 1, 4)),  # N3, T3'
        sl.RangeQuery("mango", sl.Box(0, 3, 4, 4)),  # N3, T3' and N4, both w4
        sl.RangeQuery("kiwi", everywhere),
        sl.RangeQuery("kiwi OR lemon", sl.Box(0, 3, 1, 4)),  # a key per conjunct
        sl.RangeQuery("", sl.Box(0, 3, 1, 4)),  # match-all: all parts of N3
        sl.RangeQuery("kiwi", sl.Box(0, 0, 1, 2)),  # touches N3's edge
    ]
    expected = [{0}, {1}, {2}, {3}, {3}, {0, 1, 2, 3}, {1, 2}, {1, 2, 3}, {0, 1}]
    assert stands(figure3, queries) == expected
    leaves = figure3.leaves_of(block_of(queries))
    assert leaves.leaf[leaves.query == 5].tolist() == [0, 2, 3, 6]
    assert leaves.leaf[leaves.query == 7].tolist() == [3, 4, 5]
    # A search for "kiwi" in N1 also asks N12: an object with "kiwi" and another word may be owned there.
    asked = figure3.owners_of(block_of(queries))
    assert [asked.leaf[asked.query == q].tolist() for q in (0, 2, 3, 7)] == [[0, 1], [2], [3, 4, 5], [3, 4, 5]]


def test_closed_terms_are_not_sent_for(figure3):
    """ "plum" was frequent in N1 and no query's key: its objects go to their owner only, a query on it everywhere."""
    found, routes = sent(figure3, [(*N1, "plum"), (*N1, "plum lemon"), (*N1, "")])
    assert [len(workers) for workers in found] == [1, 1, 1]
    assert found[0] == {0}  # plum's part
    assert found[1] == {1}  # lemon's: an open term owns before a closed one
    assert routes.owner.tolist() == [next(iter(workers)) for workers in found]
    region = sl.Box(0, 0, 1, 1)
    queries = [
        sl.RangeQuery("plum", region),
        sl.RangeQuery("plum lemon", region),
        sl.RangeQuery("plum OR kiwi", region),
    ]
    assert stands(figure3, queries) == [{0, 1}, {1}, {0, 1}]


def test_unseen_terms_meet_by_their_hash(figure3):
    """A word no one had: an object and a later query on it meet on one worker of the node."""
    region = sl.Box(0, 3, 1, 4)
    for word in ("quince", "medlar", "sloe", "rowan"):
        (there,), _ = sent(figure3, [(*N3, word)])
        (home,) = stands(figure3, [sl.RangeQuery(word, region)])
        assert there == home
        assert len(home) == 1
        # Rarest first: an unseen word is rarer than a key.
        assert stands(figure3, [sl.RangeQuery(f"{word} kiwi", region)]) == [home]


def test_the_rarest_key_is_taken():
    words = NodeVocabulary(
        hashes("kiwi", "lemon"), np.array([0, 1], np.int32), np.array([True, True]), np.array([5, 2])
    )
    grid = grid_of(np.zeros(0), np.zeros(0), [CellNode((0, 0, 0, 0), 2, words)])
    routing = KdtTreeRouting(2, WORLD, grid, frozen([0, 1], np.int32))
    assert stands(routing, [sl.RangeQuery("kiwi lemon", sl.Box(0, 0, 1, 1))]) == [{1}]


def test_plain_nodes_tile_the_grid():
    for leaves in (1, 2, 3, 64, 65, 5000):
        nodes = plain_nodes(64, leaves)
        assert min(leaves, 64 * 64) <= len(nodes) <= max(2 * leaves - 1, 1)
        grid = grid_of(np.arange(63.0), np.arange(63.0), nodes)
        assert np.bincount(grid.cell_node).tolist() == [64 * 64 // len(nodes)] * len(nodes)


def test_start_gives_every_worker_something():
    for workers in (1, 3, 7, 100):
        table = KdtTreeRouting.start(CONFIG.space, workers).leaf_table()
        assert set(table["worker"].to_pylist()) == set(range(workers))
        area = sum(
            (e - w) * (n - s)
            for w, s, e, n in zip(*(table[c].to_pylist() for c in table.column_names[3:7]), strict=True)
        )
        assert area == pytest.approx(360 * 180)


TEXTS = {
    "": lambda has: True,
    "flood": lambda has: "flood" in has,
    "flood boat": lambda has: {"flood", "boat"} <= has,
    "flood OR calm": lambda has: bool({"flood", "calm"} & has),
    "rescue NOT calm": lambda has: "rescue" in has and "calm" not in has,
    "calm OR (boat rescue)": lambda has: "calm" in has or {"boat", "rescue"} <= has,
    "storm": lambda has: "storm" in has,
    "storm OR flood boat": lambda has: "storm" in has or {"flood", "boat"} <= has,
}
WORDS = ["flood", "boat", "rescue", "calm", "storm"]
lons = st.one_of(st.sampled_from([*worlds.LONS, -0.0, 5e-324]), st.floats(-180, 180))
lats = st.one_of(st.sampled_from([*worlds.LATS, -0.0]), st.floats(-90, 90))
rows = st.lists(
    st.tuples(lons, lats, st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)), min_size=1, max_size=25
)
queries = st.lists(
    st.one_of(
        st.builds(sl.RangeQuery, st.sampled_from(sorted(TEXTS)), worlds.regions),
        st.builds(sl.NearestQuery, st.sampled_from(sorted(TEXTS)), at=st.just((0.0, 0.0)), k=st.just(2)),
        worlds.top_terms,
    ),
    max_size=8,
)
params = st.builds(
    HybridParams,
    delta=st.sampled_from([0.0, 0.5, 1.1]),
    sigma=st.sampled_from([1.0, 2.0]),
    theta=st.sampled_from([1, 6, 20]),
    epsilon=st.sampled_from([-1.0, 0.05]),  # below 0: every cut counts
    side=st.sampled_from([1, 2, 5, 64]),
    costs=st.sampled_from([LoadCosts(), LoadCosts(1, 0, 0, 0), LoadCosts(0, 0, 0, 0)]),
)


@settings(max_examples=60)
@given(past=rows, known=queries, later=queries, now=rows, workers=st.integers(1, 6), params=params,
       bits=st.sampled_from([1, 8, 64]))  # fmt: skip
def test_what_matches_meets(past, known, later, now, workers, params, bits):
    """Old and new objects, queries the tree was built for and others, shared hashes included; after mapping too."""
    config = StoreConfig(seed=1, hash_bits=bits)
    routing = KdtTreeRouting.fitted(history_of(past, known, config), config.space, workers, params)
    routing = KdtTreeRouting.from_arrays(routing.to_arrays())
    every = [*known, *later]
    objects, block = [*past, *now], block_of(every, config)
    routes, homes = routing.route_objects(objects_of(objects, config)), routing.route_queries(block)
    pairs = list(zip(routes.worker.tolist(), routes.row.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    to = [{w for w, r in pairs if r == row} for row in range(len(objects))]
    at = [set(homes.worker[homes.query == q].tolist()) for q in range(len(every))]
    assert all(owner in to[row] for row, owner in enumerate(routes.owner.tolist()))
    assert routing.leaf_worker[routes.leaf].tolist() == routes.owner.tolist()
    for q, query in enumerate(every):
        for row, (lon, lat, text) in enumerate(objects):
            if isinstance(query, sl.NearestQuery):
                assert at[q] == set(range(workers))
            elif not inside(query.region, config.space, [lon], [lat])[0]:
                continue
            elif block.kind[q] == KIND_TOP_TERMS:
                assert routes.owner[row] in at[q]
            elif TEXTS[str(query.keywords)](set(text.split())):
                assert to[row] & at[q], (query, lon, lat, text)
    # The owner is the object's own: neither order nor company changes it.
    again = routing.route_objects(objects_of(objects[::-1], config))
    assert again.leaf[::-1].tolist() == routes.leaf.tolist()
    # Leaves tile the space; every leaf has a worker.
    table = routing.leaf_table()
    assert table.num_rows == len(routing.leaf_worker) >= min(workers, table.num_rows)
    assert set(np.unique(routing.grid.cell_node).tolist()) == set(range(len(routing.grid.node_leaf) - 1))


def test_no_history():
    space = CONFIG.space
    start = KdtTreeRouting.start(space, 3)
    assert np.array_equal(KdtTreeRouting.fitted(history_of([], []), space, 3).grid.cell_node, start.grid.cell_node)
    assert len(KdtTreeRouting.fitted(history_of([], [sl.RangeQuery("a", sl.Box(0, 0, 1, 1))]), space, 3).leaf_worker)
    only = KdtTreeRouting.fitted(history_of([(float(i), float(i), "x") for i in range(64)], []), space, 4)
    assert set(only.leaf_worker.tolist()) == {0, 1, 2, 3}
    assert np.diff(only.grid.node_leaf).max() == 1  # without queries there is no reason to divide by text


def test_text_division_saves_work():
    """Rare keys, regions that cover everything: by text a query stands once and most objects go to one worker."""
    place = np.random.default_rng(5)
    past = [(*place.uniform(0, 4, 2), f"common{i % 3} rare{i % 50}") for i in range(300)]
    known = [sl.RangeQuery(f"rare{i}", sl.Box(0, 0, 4, 4)) for i in range(0, 50, 5) for _ in range(40)]
    routing = KdtTreeRouting.fitted(history_of(past, known), CONFIG.space, 4)
    assert set(routing.leaf_table()["split"].to_pylist()) == {"textual"}
    assert [len(at) for at in stands(routing, known)] == [1] * len(known)
    assert [len(to) for to in sent(routing, past)[0]] == [1] * len(past)
    by_place = KdtTreeRouting.start(CONFIG.space, 4)
    assert len(routing.route_queries(block_of(known)).query) <= len(by_place.route_queries(block_of(known)).query)


def test_leaves_are_dealt_anew_by_load(figure3):
    loads = np.array([5.0, 1, 1, 1, 1, 1, 4])
    dealt = figure3.reassigned(loads).leaf_worker
    assert max(loads[dealt == w].sum() for w in range(4)) == 5
    table = figure3.leaf_table()
    assert table["split"].to_pylist() == ["textual"] * 2 + ["spatial"] + ["textual"] * 3 + ["spatial"]
    assert table["keywords"].to_pylist() == [2, 1, 0, 1, 1, 1, 0]
    assert [table[c][3].as_py() for c in ("west", "south", "east", "north")] == [-180, 2, 2, 90]
