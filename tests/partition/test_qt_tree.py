"""QT-tree, quadtree and text: formulas and trees by hand, Algorithm 1 against a plain one, routes of both sides."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.geo.contains import inside
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.history import History
from sightline.partition.qt_tree import QtTreeParams, QtTreeRouting, QuadtreeRouting, TextRouting
from sightline.partition.qt_tree import _kernels as kernels
from sightline.partition.qt_tree.router import TreeRouter
from sightline.partition.qt_tree.workload import Workload
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.text.dictionary import TermDictionary
from sightline.text.tokeniser import tokenise
from tests.stages import worlds

SECOND = 1_000_000
PLANE = StoreConfig(seed=1, space=sl.Space.planar((0, 0, 8, 8)))
GLOBE = StoreConfig(seed=1)
ROUTINGS = (QtTreeRouting, QuadtreeRouting, TextRouting)
every_routing = pytest.mark.parametrize("routing_class", ROUTINGS, ids=lambda cls: cls.name)


def objects_of(rows, config=PLANE):
    lon, lat = np.array([row[0] for row in rows], np.float64), np.array([row[1] for row in rows], np.float64)
    terms = tokenise(pa.array([row[2] for row in rows], pa.string()), config.text, config.seed, config.hash_bits)
    return ObjectColumns(lon, lat, np.zeros(len(rows), np.int64), terms)


def block_of(queries, config=PLANE, starts=0, ends=2 * SECOND):
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), starts, ends, config)


def history_of(rows, asked=(), standing=(), config=PLANE, span=2 * SECOND):
    return History(objects_of(rows, config), block_of(standing, config), block_of(asked, config), span)


def box(west, south, east, north):
    return sl.Box(west, south, east, north, planar=True)


def within(words, *sides):
    return sl.RangeQuery(words, box(*sides))


def top(*sides):
    return sl.TopTermsQuery(box(*sides), 3, window="2s", every="1s")


def near(words):
    """More than there are: it reaches everything."""
    return sl.NearestQuery(words, (4, 4), 1_000_000, planar=True)


def hash_of(word):
    return int(TermDictionary.from_strings([word], PLANE.seed).hashes[0])


# The formulas.


def test_equation_1_by_hand():
    """Half of the queries have one keyword, half have two: 0.5 * 0.5 + 0.5 * 0.25."""
    assert kernels.covered(0.5, np.array([0, 0.5, 0.5])) == 0.375
    assert kernels.covered(0.0, np.array([0.25, 0.75])) == 0.25  # no keywords: covered by anything
    assert kernels.covered(1.0, np.array([0.25, 0.75])) == 1.0


def test_equation_2_by_hand():
    """(0.1 * 0.5 + 0.2 * 0.25 + 0.05) * 10 objects + 0.1 * 20 + 0.1 * 20 + 0.2 * 10 arrivals."""
    asked = kernels.Asked(np.zeros((0, 2)), np.array([0, 1.0]), np.array([0, 0, 1.0]))
    reach = np.array([0.1, 0.2, 0.05, 0.1, 0.1, 0.2])
    assert kernels.workload(10, np.array([20, 20, 10.0]), 0.5, 0.5, reach, asked) == pytest.approx(1.5 + 6.0)


def test_statistics_of_a_history_by_hand():
    asked = [
        within("flood", 0, 0, 3, 3),
        within("flood boat", 5, 5, 7, 7),
        within("flood OR calm", 5, 5, 7, 7),
        near("boat"),
    ]
    standing = [within("flood", 0, 0, 4, 4), top(4, 4, 8, 8), near("")]
    lifetimes = block_of(standing, starts=[0, 0, MIN_US], ends=[1 * SECOND, 3 * SECOND, MAX_US])
    history = History(objects_of([(1, 1, "flood")]), lifetimes, block_of(asked), 2 * SECOND)
    work = Workload.of(history, PLANE.space)
    assert work.hashes.tolist() == sorted(hash_of(word) for word in ("flood", "boat", "calm"))
    mass = dict(zip(work.hashes.tolist(), work.mass.tolist(), strict=True))
    assert mass[hash_of("flood")] == [2.5 / 4, 0]
    assert mass[hash_of("boat")] == [1 / 4, 1]
    assert mass[hash_of("calm")] == [0.5 / 4, 0]
    assert work.lengths_srq.tolist() == pytest.approx([0, 2 / 3, 1 / 3])
    assert work.lengths_skq.tolist() == [0, 1]
    assert work.turnover.tolist() == [1 / 2, 3 / 2, 3 / 2]  # the one without end: as long as the longest
    # SRQ, SKQ, STQ, CRQ, CKQ, CTQ of 7; a box that ends on the cut is also east of it, one that begins there not west
    assert (7 * work.reach(np.array([0, 0, 4, 4.0]))).tolist() == pytest.approx([1, 1, 0, 1, 1, 0])
    assert (7 * work.reach(np.array([4, 4, 8, 8.0]))).tolist() == pytest.approx([2, 1, 0, 1, 1, 1])
    assert (7 * work.reach(np.array([0, 0, 8, 8.0]))).tolist() == pytest.approx([3, 1, 0, 1, 1, 1])
    # 10 objects, H_srq = H_skq = 1/2: (3/7 (2/3 * 1/2 + 1/3 * 1/4) + 1/7 * 1/2) * 10 + 1/7 * (5 + 15 + 15)
    expected = (3 / 7 * 5 / 12 + 1 / 14) * 10 + 35 / 7
    assert work.of_partition(10, np.array([0.5, 0.5]), work.reach(work.bounds)) == pytest.approx(expected)


def test_a_query_without_keywords_is_covered_by_everything():
    work = Workload.of(history_of([], [within("", 0, 0, 8, 8), top(0, 0, 8, 8)]), PLANE.space)
    assert work.hashes.tolist() == []
    assert work.lengths_srq.tolist() == [1]


# Trees by hand.

CITY = [  # south-west, then the other quadrants
    (1, 1, "flood"), (1, 1.5, "boat"), (3, 3, "flood"), (3, 2.5, "boat"),
    (6, 1, "flood"), (7, 1, "calm"), (1, 6, "boat"), (1, 7, "calm"),
    (6, 6, "flood"), (7, 6, "boat"), (6, 7, "calm"), (7, 7, "calm"),
]  # fmt: skip


def city_history():
    asked = [within(word, 0.5, 0.5, 3, 3) for word in ("flood", "boat")]
    return history_of(CITY, asked, [within("calm", 5, 5, 7, 7)] * 2)


def test_a_tree_by_hand():
    """W(root) = 12; by space 2 + 0 + 0 + 2, by text at least 6. South-west then: by space 1 + 1, by text 4 * 0.25."""
    tree = QtTreeRouting.fitted(city_history(), PLANE.space, 2, QtTreeParams(theta=7)).tree
    assert tree.kind.tolist() == [1, 2, 0, 0, 0, 0, 0, 0, 0]
    assert tree.first.tolist() == [1, 5, -1, -1, -1, -1, -1, -1, -1]
    assert tree.cut[0].tolist() == [4, 4]
    assert tree.box[:5].tolist() == [[0, 0, 8, 8], [0, 0, 4, 4], [4, 0, 8, 4], [0, 4, 4, 8], [4, 4, 8, 8]]
    assert tree.leaf.tolist() == [-1, -1, 0, 1, 2, 3, 4, 5, 6]
    assert tree.load.tolist() == [0, 0, 2, 0.25, 0.25, 0.25, 0.25]
    flood, boat = [hash_of("flood")], [hash_of("boat")]
    assert [tree.keywords(i).tolist() for i in range(4)] == [flood, boat, flood, boat]
    assert tree.objects.tolist() == [1, 1, 1, 1]
    assert tree.h[:, 0].tolist() == [0.5, 0.5, 0.5, 0.5]
    assert tree.depth == 3
    one = QtTreeRouting.fitted(city_history(), PLANE.space, 1, QtTreeParams(theta=1))
    assert one.tree.load.tolist() == [12]


def test_leaves_say_how_they_were_made():
    routing = QtTreeRouting.fitted(city_history(), PLANE.space, 2, QtTreeParams(theta=7))
    table = routing.leaf_table()
    columns = ["leaf", "worker", "split", "west", "south", "east", "north", "keywords"]
    assert table.column_names == columns
    assert table["split"].to_pylist() == ["spatial"] * 3 + ["textual"] * 4
    assert table["keywords"].to_pylist() == [0, 0, 0, 1, 1, 1, 1]
    assert table.select(columns[3:7]).to_pylist()[3] == {"west": 0, "south": 0, "east": 4, "north": 4}
    assert set(table["worker"].to_pylist()) == {0, 1}
    alone = QtTreeRouting.start(PLANE.space, 1, QtTreeParams(theta=1)).leaf_table()
    assert alone["split"].to_pylist() == ["root"]


def test_objects_by_least_increment_and_what_is_learnt_by_hand():
    """Lists are flood, boat, flood, boat with one object each; a query with one keyword, weight 0.5."""
    routing = QtTreeRouting.fitted(city_history(), PLANE.space, 2, QtTreeParams(theta=7))
    router = routing.router()
    rows = [
        (1, 1, "flood"),  # increments .25 .75 .25 .75: the first of two equal ones
        (1, 1, "flood"),  # .25 .75 .25 .75: the third has fewer objects now
        (2, 2, "boat flood"),  # 1 .75 1 .75: the second, which learns flood
        (3, 3, "unasked"),  # .25 .5 .25 .25: the fourth has the fewest objects
        (4, 4, "flood"),  # on the cuts: north-east
        (4, 3.9, ""),
    ]
    assert router.route_objects(objects_of(rows)).leaf.tolist() == [3, 5, 4, 6, 2, 0]
    learnt = router.learnt()
    assert learnt["list"].tolist() == [1]
    assert learnt["hash"].tolist() == [hash_of("flood")]
    assert dict(zip(learnt["counted"].tolist(), learnt["objects"].tolist(), strict=True)) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert routing.tree.objects.tolist() == [1, 1, 1, 1]  # the frozen lists are as they were
    assert routing.route_objects(objects_of(rows)).leaf.tolist() == [3, 5, 4, 6, 2, 0]
    # With it: covers .25 .5 .25 .25 with 2 objects each; flood makes .25 .5 .25 1, so the first.
    assert routing.router([learnt]).route_objects(objects_of(rows[:1])).leaf.tolist() == [3]
    # boat flood makes 1 .5 1 1
    assert routing.router([{}, learnt]).route_objects(objects_of(rows[2:3])).leaf.tolist() == [4]


def test_the_example_of_figures_2_and_3():
    """E10: five objects to visit in one piece, those of two quadrants by space, two by text."""
    rows = [(6, 6, "pizza"), (7, 7, "coffee"), (6, 2, "pizza"), (1, 7, "book"), (1, 1, "film")]
    history = history_of(rows, [within("pizza", 5, 2, 7, 6)])
    assert QtTreeRouting.fitted(history, PLANE.space, 1, QtTreeParams(theta=1)).tree.load.sum() == 5
    assert QuadtreeRouting.fitted(history, PLANE.space, 4, QtTreeParams(theta=4)).tree.load.sum() == 3
    assert TextRouting.fitted(history, PLANE.space, 4, QtTreeParams(theta=4)).tree.load.sum() == 2
    tree = QtTreeRouting.fitted(history, PLANE.space, 4, QtTreeParams(theta=4)).tree
    assert tree.load.sum() == 2
    assert tree.kind[0] == kernels.TEXTUAL


# Algorithm 1 again, with sets and sums.

WORDS = ("flood", "boat", "rescue", "calm", "storm", "river")
EDGE = float("inf")


class Plain:
    """Algorithm 1 without any economy. All figures of the test are sums of powers of two, so they are exact."""

    def __init__(self, rows, asked, standing, turnover, spatial, textual):
        self.turnover, self.spatial, self.textual = turnover, spatial, textual
        self.queries = [(kind, sides) for kind, sides, _ in asked] + standing
        self.mass = {}
        self.lengths = {}
        for kind in ("srq", "skq"):
            words = [word for k, _, ws in asked if k == kind for word in ws]
            self.mass[kind] = {word: words.count(word) / len(words) for word in words}
            sizes = [len(ws) for k, _, ws in asked if k == kind]
            self.lengths[kind] = {size: sizes.count(size) / len(sizes) for size in sizes}
        self.nodes = [
            [0, (0.0, 0.0, 8.0, 8.0), (-EDGE, -EDGE, EDGE, EDGE), [(x, y, set(t.split())) for x, y, t in rows]]
        ]

    def reach(self, kind, area):
        met = [
            k for k, (w, s, e, n) in self.queries
            if k == kind and w < area[2] and e >= area[0] and s < area[3] and n >= area[1]
        ]  # fmt: skip
        return len(met) / len(self.queries)

    def work(self, objects, area):
        words = set().union(*(o[2] for o in objects)) if objects else set()
        total = self.reach("stq", area) * len(objects)
        for kind in ("srq", "skq"):
            h = sum(p for word, p in self.mass[kind].items() if word in words)
            total += self.reach(kind, area) * sum(p * h**n for n, p in self.lengths[kind].items()) * len(objects)
        for kind in ("crq", "ckq", "ctq"):
            total += self.reach(kind, area) * self.turnover * len(objects)
        return total

    def by_space(self, node):
        _, (w, s, e, n), (aw, as_, ae, an), objects = node
        x, y = (w + e) / 2, (s + n) / 2
        boxes = [(w, s, x, y), (x, s, e, y), (w, y, x, n), (x, y, e, n)]
        areas = [(aw, as_, x, y), (x, as_, ae, y), (aw, y, x, an), (x, y, ae, an)]
        return [
            [0, box, area, [o for o in objects if area[0] <= o[0] < area[2] and area[1] <= o[1] < area[3]]]
            for box, area in zip(boxes, areas, strict=True)
        ]

    def by_text(self, node):
        _, sides, area, objects = node
        parts = [[], [], [], []]
        for o in objects:
            rise = [(self.work([*part, o], area) - self.work(part, area), len(part), c) for c, part in enumerate(parts)]
            parts[min(rise)[2]].append(o)
        return [[0, sides, area, part] for part in parts]

    def rank(self, x):
        objects = self.nodes[x][3]
        apart = len(objects) > 1 and (self.textual or len({o[:2] for o in objects}) > 1)
        return (not apart, -self.work(objects, self.nodes[x][2]) if apart else 0, x)

    def run(self, leaves):
        heap = [self.rank(0)]
        while sum(node[0] == 0 for node in self.nodes) < leaves:
            x = heapq.heappop(heap)[-1]
            node = self.nodes[x]
            kinds = {}
            if self.spatial:
                kinds[1] = self.by_space(node)
            if self.textual:
                kinds[2] = self.by_text(node)
            total = {kind: sum(self.work(c[3], c[2]) for c in children) for kind, children in kinds.items()}
            kind = min(total, key=lambda k: (total[k], k))
            if len(total) == 2 and total[1] == total[2] and len(node[3]) > 1 and len({o[:2] for o in node[3]}) == 1:
                kind = 2
            node[0] = kind
            self.nodes += kinds[kind]
            for child in range(len(self.nodes) - 4, len(self.nodes)):
                heapq.heappush(heap, self.rank(child))
        return self.nodes


@every_routing
@pytest.mark.parametrize("seed", range(8))
def test_algorithm_1_is_the_plain_one(routing_class, seed):
    rng = np.random.default_rng(seed)

    def sides():
        x, y = np.sort(rng.integers(0, 9, 2)), np.sort(rng.integers(0, 9, 2))
        return float(x[0]), float(y[0]), float(x[1]), float(y[1])

    def words(n):
        return list(rng.choice(WORDS, n, replace=False))

    rows = [
        (float(rng.integers(0, 9)), float(rng.integers(0, 9)), " ".join(words(rng.integers(0, 4)))) for _ in range(24)
    ]
    everywhere = (0.0, 0.0, 8.0, 8.0)
    asked = [("srq", sides(), words(2)) for _ in range(4)] + [("skq", everywhere, words(1)) for _ in range(2)]
    asked += [("stq", sides(), []) for _ in range(2)]
    standing = [("crq", sides()) for _ in range(4)] + [("ckq", everywhere)] * 2 + [("ctq", sides()) for _ in range(2)]
    made = {
        "srq": lambda s, w: within(" ".join(w), *s), "skq": lambda s, w: near(" ".join(w)), "stq": lambda s, w: top(*s),
        "crq": lambda s: within("flood", *s), "ckq": lambda s: near("flood"), "ctq": lambda s: top(*s),
    }  # fmt: skip
    history = history_of(rows, [made[k](s, w) for k, s, w in asked], [made[k](s) for k, s in standing], span=4 * SECOND)
    tree = routing_class.fitted(history, PLANE.space, 3, QtTreeParams(theta=13)).tree
    plain = Plain(rows, asked, standing, 0.5, routing_class.spatial, routing_class.textual)
    nodes = plain.run(13)
    assert tree.kind.tolist() == [node[0] for node in nodes]
    assert tree.box.tolist() == [list(node[1]) for node in nodes]
    assert tree.load.tolist() == [plain.work(node[3], node[2]) for node in nodes if node[0] == 0]


# Routes.

texts = st.lists(st.sampled_from(worlds.WORDS), max_size=4).map(" ".join)
places = st.one_of(
    st.tuples(st.sampled_from(worlds.LONS), st.sampled_from(worlds.LATS), texts),
    st.tuples(st.floats(-180, 180), st.floats(-90, 90), texts),
)
queries = st.lists(st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), max_size=6)


@every_routing
@settings(max_examples=40)
@given(
    past=st.lists(places, max_size=20), asked=queries, standing=queries, rows=st.lists(places, min_size=1, max_size=20),
    workers=st.integers(1, 20), bits=st.sampled_from([64, 2]),
)  # fmt: skip
def test_what_can_match_meets_once(routing_class, past, asked, standing, rows, workers, bits):
    config = replace(GLOBE, hash_bits=bits)
    history = history_of(past, asked, standing, config)
    routing = routing_class.fitted(history, config.space, workers, QtTreeParams(theta=10))
    routes = routing.router().route_objects(objects_of(rows, config))
    block = block_of(standing, config)
    stands, leaves = routing.route_queries(block), routing.leaves_of(block)
    assert routes.row[np.argsort(routes.row)].tolist() == list(range(len(rows)))
    assert routes.owner.tolist() == routing.leaf_worker[routes.leaf].tolist()
    assert set(routing.leaf_worker.tolist()) <= set(range(workers))
    pairs = list(zip(stands.worker.tolist(), stands.query.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    visits = list(zip(leaves.query.tolist(), leaves.leaf.tolist(), strict=True))
    assert visits == sorted(set(visits))
    for q, query in enumerate(standing):
        if isinstance(query, sl.NearestQuery):
            assert [w for w, p in pairs if p == q] == list(range(workers))
            continue
        assert {routing.leaf_worker[leaf] for p, leaf in visits if p == q} == {w for w, p in pairs if p == q}
        for row in np.flatnonzero(
            inside(query.region, config.space, *(np.array(v) for v in list(zip(*rows, strict=True))[:2]))
        ):
            assert (q, routes.leaf[row]) in visits
            assert (routes.owner[row], q) in pairs


@settings(max_examples=40)
@given(st.lists(places, min_size=1, max_size=30), st.lists(places, min_size=1, max_size=30))
def test_what_is_learnt_is_as_if_one_router_had_gone_on(first, second):
    """Also where the arrays of two routers are joined; masses are powers of two, so that sums are exact."""
    asked = [sl.RangeQuery(word, sl.Box(-180, -90, 180, 90)) for word in ("flood", "boat", "rescue", "calm")]
    history = history_of([(10.0, 0.5, word) for word in worlds.WORDS], asked, config=GLOBE)
    routing = QtTreeRouting.fitted(history, GLOBE.space, 3, QtTreeParams(theta=16))
    assert (routing.tree.kind == kernels.TEXTUAL).any()
    batches = [objects_of(rows, GLOBE) for rows in (first, second, first)]
    alone = routing.router()
    expected = [alone.route_objects(batch).leaf.tolist() for batch in batches]
    said, learnt = [], []
    for batch in batches:
        router = routing.router(learnt)
        said.append(router.route_objects(batch).leaf.tolist())
        learnt.append(router.learnt())
    assert said == expected
    some = [one for one in learnt if one]
    joined = {name: np.concatenate([one[name] for one in some]) for name in (some[0] if some else ())}
    again = [routing.router(parts).route_objects(batches[1]).leaf.tolist() for parts in (learnt, [joined])]
    assert again[0] == again[1] == alone.route_objects(batches[1]).leaf.tolist()


def mixed_history(seed, objects=1500, each=60):
    """Clusters of places with words of their own, and all six types of queries made from objects."""
    rng = np.random.default_rng(seed)
    centre, topic = rng.uniform(1, 7, (6, 2)), rng.integers(0, 40, 6)
    home = rng.integers(0, 6, objects)
    at = np.clip(centre[home] + rng.normal(0, 0.4, (objects, 2)), 0, 8)
    word = (topic[home][:, None] + np.minimum(rng.zipf(1.5, (objects, 4)), 60)) % 100
    rows = [(x, y, " ".join(f"w{n}" for n in ns)) for (x, y), ns in zip(at.tolist(), word.tolist(), strict=True)]

    def drawn(make):
        return [make(*rows[i]) for i in rng.integers(0, objects, each)]

    def around(x, y, r):
        return max(x - r, 0), max(y - r, 0), min(x + r, 8), min(y + r, 8)

    ranges = [lambda x, y, t: within(t.split()[0], *around(x, y, 0.5)), lambda x, y, t: near(t.split()[1])]
    kinds = [*ranges, lambda x, y, t: top(*around(x, y, 0.5))]
    return history_of(rows, [q for k in kinds for q in drawn(k)], [q for k in kinds for q in drawn(k)])


@pytest.mark.parametrize("seed", range(3))
def test_both_kinds_of_split_make_the_least_work(seed):
    history = mixed_history(seed)
    trees = {cls.name: cls.fitted(history, PLANE.space, 4).tree for cls in ROUTINGS}
    total = {name: tree.load.sum() for name, tree in trees.items()}
    assert total["qt-tree"] < min(total["quadtree"], total["text"])
    assert all(64 <= len(tree.load) <= 66 for tree in trees.values())
    assert {1, 2} <= set(trees["qt-tree"].kind.tolist())


@every_routing
def test_work_done(routing_class):
    """An object sees one node per level; a small box no more than the leaves it is in, in an even tree."""
    history = mixed_history(0)
    routing = routing_class.fitted(history, PLANE.space, 4)
    router = TreeRouter(routing.tree, routing.leaf_worker)
    router.route_objects(history.objects)
    assert len(history.objects) <= router.visited <= len(history.objects) * routing.tree.depth
    even = QuadtreeRouting.start(PLANE.space, 4)
    small = block_of([within("x", 0.1, 0.1, 0.2, 0.2)])
    _, leaf, visited = even._targets(small, np.arange(64, dtype=np.int32), 64, np.zeros(1, np.bool_))
    assert (leaf.tolist(), visited) == ([0], even.tree.depth)
    everywhere = block_of([within("x", 0, 0, 8, 8)])
    assert even._targets(everywhere, np.zeros(64, np.int32), 1, np.zeros(1, np.bool_))[2] == even.tree.depth


# Corners.


@every_routing
@pytest.mark.parametrize("workers", [1, 3, 100])
def test_it_starts_even(routing_class, workers):
    routing = routing_class.start(PLANE.space, workers)
    assert len(routing.tree.load) == (64 if workers < 64 else 100)
    assert set(routing.leaf_worker.tolist()) == set(range(workers))
    again = routing_class.fitted(history_of([], [within("x", 0, 0, 1, 1)]), PLANE.space, workers)
    assert again.tree.box.tolist() == routing.tree.box.tolist()
    if routing_class is not TextRouting:
        assert set(routing.tree.kind.tolist()) == {kernels.LEAF, kernels.SPATIAL}


@every_routing
@pytest.mark.parametrize("asked", [[], [within("flood", 2, 2, 4, 4)], [within("flood", 7, 7, 8, 8)]])
def test_all_objects_at_one_place(routing_class, asked):
    """Nothing loops; text tells apart what space cannot."""
    history = history_of([(3, 3, "flood")] * 40 + [(3, 3, "")] * 40, asked)
    routing = routing_class.fitted(history, PLANE.space, 5, QtTreeParams(theta=16))
    assert len(routing.tree.load) == 16
    leaf = routing.route_objects(history.objects).leaf
    assert len(set(leaf.tolist())) > 1 or routing_class is QuadtreeRouting


@every_routing
def test_a_space_too_small_to_halve(routing_class):
    """Its only leaf is retired, and text still splits."""
    config = StoreConfig(seed=1, space=sl.Space.planar((0, 0, 5e-324, 5e-324)))
    history = history_of([(0, 0, "flood"), (5e-324, 0, "boat")], config=config)
    routing = routing_class.fitted(history, config.space, 3)
    assert len(routing.tree.load) == (1 if routing_class is QuadtreeRouting else 64)
    assert len(routing.route_objects(history.objects).owner) == 2


def test_without_queries_objects_weigh_one():
    routing = QtTreeRouting.fitted(history_of(CITY), PLANE.space, 2, QtTreeParams(theta=4))
    assert routing.tree.load.tolist() == [4, 2, 2, 4]


@every_routing
def test_a_mapped_routing_says_the_same(routing_class, tmp_path):
    routing = routing_class.fitted(mixed_history(1, 300, 10), PLANE.space, 4)
    write_array_file(tmp_path / "epoch", routing.to_arrays())
    file = ArrayFile.open(tmp_path / "epoch")
    again = routing_class.from_arrays({name: file.array(name) for name in file.names})
    objects, block = mixed_history(2, 300, 10).objects, block_of([within("x", 1, 1, 3, 6), near("w1")])
    assert again.workers == 4
    assert again.route_objects(objects).leaf.tolist() == routing.route_objects(objects).leaf.tolist()
    assert again.route_queries(block).worker.tolist() == routing.route_queries(block).worker.tolist()
    assert again.leaf_table().equals(routing.leaf_table())
    learnt = again.router().learnt() if routing_class.learns else {}
    assert learnt == {}


def test_reassigned_deals_by_the_loads():
    routing = QtTreeRouting.start(PLANE.space, 2, QtTreeParams(theta=4))
    dealt = routing.reassigned(np.array([5, 4, 3, 2.0]))
    loads = np.bincount(dealt.leaf_worker, [5, 4, 3, 2.0])
    assert loads.tolist() == [7, 7]
    assert dealt.tree is routing.tree
