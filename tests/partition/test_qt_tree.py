"""QT-tree, quadtree and text: trees by hand, Algorithm 1 against a plain one, what is saved, routes."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.geo.contains import inside
from sightline.model.config import StoreConfig
from sightline.partition.qt_tree import QtTreeParams, QtTreeRouting, QuadtreeRouting, TextRouting
from sightline.partition.qt_tree import _kernels as kernels
from sightline.partition.qt_tree.router import TreeRouter
from sightline.store.array_file import ArrayFile, write_array_file
from tests.partition.qt_cases import CITY, PLANE, SECOND, block_of, hash_of, history_of, near, objects_of, top, within
from tests.stages import worlds

GLOBE = StoreConfig(seed=1)
ROUTINGS = {"qt-tree": QtTreeRouting, "quadtree": QuadtreeRouting, "text": TextRouting}
every_routing = pytest.mark.parametrize("routing_class", ROUTINGS.values(), ids=list(ROUTINGS))


# Trees by hand.


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
KINDS = ("srq", "skq", "stq", "crq", "ckq", "ctq")


class Plain:
    """Algorithm 1 without any economy, by the same arithmetic, so that equal figures are equal numbers."""

    def __init__(self, rows, asked, standing):
        self.queries = asked + standing
        self.types = {kind: sum(k == kind for k, *_ in self.queries) for kind in KINDS}
        everywhere = (-EDGE, -EDGE, EDGE, EDGE)
        self.whole = {kind: self.mass(kind, everywhere) for kind in ("srq", "skq")}
        self.root = ((0.0, 0.0, 8.0, 8.0), everywhere, [(x, y, set(t.split())) for x, y, t in rows])

    def meeting(self, kind, area):
        return [
            words for k, (w, s, e, n), words in self.queries
            if k == kind and w < area[2] and e >= area[0] and s < area[3] and n >= area[1]
        ]  # fmt: skip

    def mass(self, kind, area):
        words = [word for ws in self.meeting(kind, area) for word in ws]
        return {word: words.count(word) / len(words) for word in words}

    def work(self, objects, area, mass=None):
        """Equation 2; by what those ask for who reach the place, or by given distributions."""
        words = set().union(*(o[2] for o in objects)) if objects else set()
        p = {k: self.types[k] / len(self.queries) * (len(self.meeting(k, area)) / self.types[k]) for k in KINDS}
        h = {}
        for kind in ("srq", "skq"):
            asked = [w for ws in self.meeting(kind, area) for w in ws]
            h[kind] = sum(w in words for w in asked) / len(asked) if asked else 0.0
            if mass is not None:
                h[kind] = sum(share for word, share in mass[kind].items() if word in words)
        visited = p["srq"] * (h["srq"] * h["srq"]) + p["skq"] * h["skq"] + p["stq"]
        checked = p["crq"] * 2.0 + p["ckq"] * 2.0 + p["ctq"] * 2.0  # seconds, of a span of four
        return visited * len(objects) + checked * (len(objects) / 4.0)

    def by_space(self, node):
        (w, s, e, n), (aw, as_, ae, an), objects = node
        x, y = (w + e) / 2, (s + n) / 2
        boxes = [(w, s, x, y), (x, s, e, y), (w, y, x, n), (x, y, e, n)]
        areas = [(aw, as_, x, y), (x, as_, ae, y), (aw, y, x, an), (x, y, ae, an)]
        return [
            (box, area, [o for o in objects if area[0] <= o[0] < area[2] and area[1] <= o[1] < area[3]])
            for box, area in zip(boxes, areas, strict=True)
        ]

    def by_text(self, node):
        sides, area, objects = node
        parts = [[], [], [], []]
        for o in objects:
            after = [self.work([*part, o], area, self.whole) - self.work(part, area, self.whole) for part in parts]
            best = min((rise, len(part), c) for c, (rise, part) in enumerate(zip(after, parts, strict=True)))
            parts[best[2]].append(o)
        return [(sides, area, part) for part in parts]

    def load(self, nodes):
        return math.fsum(self.work(node[2], node[1]) for node in nodes)

    def rank(self, x, node, textual):
        apart = len(node[2]) > 1 and (textual or len({o[:2] for o in node[2]}) > 1)
        return (not apart, -self.work(node[2], node[1]) if apart else 0, x)

    def ahead(self, leaves, number, children):
        """Total work if space alone is cut from now on, and nothing at one place."""
        now = [*leaves, *children]
        while len(now) < number:
            ranks = [self.rank(x, node, True) for x, node in enumerate(now) if len({o[:2] for o in node[2]}) > 1]
            if not ranks:
                break
            now += self.by_space(now.pop(min(ranks)[2]))
        return self.load(now)

    def run(self, leaves, spatial, textual):
        """Kinds and nodes in the order of their making."""
        kinds, nodes, heap = [0], [self.root], [self.rank(0, self.root, textual)]
        while kinds.count(0) < leaves:
            x = heapq.heappop(heap)[-1]
            node = nodes[x]
            kind = 1 if spatial else 2
            if spatial and textual:
                others = [nodes[y] for *_, y in sorted(heap, key=lambda entry: entry[-1])]
                space, text = (self.ahead(others, leaves, split) for split in (self.by_space(node), self.by_text(node)))
                kind = 1 if space <= text + 1e-9 else 2
                if abs(space - text) < 1e-9 and len(node[2]) > 1 and len({o[:2] for o in node[2]}) == 1:
                    kind = 2
            kinds[x] = kind
            for child in self.by_space(node) if kind == 1 else self.by_text(node):
                heapq.heappush(heap, self.rank(len(nodes), child, textual))
                nodes.append(child)
                kinds.append(0)
        return kinds, nodes

    def best(self, leaves, spatial, textual):
        runs = [self.run(leaves, spatial, textual)]
        if spatial and textual:
            runs += [self.run(leaves, True, False), self.run(leaves, False, True)]
        loads = [self.load([n for k, n in zip(*run, strict=True) if k == 0]) for run in runs]
        return runs[min(range(len(runs)), key=lambda i: (round(loads[i], 9), i))]


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
    standing = [("crq", sides(), []) for _ in range(4)] + [("ckq", everywhere, [])] * 2
    standing += [("ctq", sides(), []) for _ in range(2)]
    made = {
        "srq": lambda s, w: within(" ".join(w), *s), "skq": lambda s, w: near(" ".join(w)), "stq": lambda s, w: top(*s),
        "crq": lambda s, w: within("flood", *s), "ckq": lambda s, w: near("flood"), "ctq": lambda s, w: top(*s),
    }  # fmt: skip
    blocks = ([made[k](s, w) for k, s, w in part] for part in (asked, standing))
    tree = routing_class.fitted(history_of(rows, *blocks, span=4 * SECOND), PLANE.space, 3, QtTreeParams(theta=13)).tree
    plain = Plain(rows, asked, standing)
    kinds, nodes = plain.best(13, routing_class.spatial, routing_class.textual)
    assert tree.kind.tolist() == kinds
    assert tree.box.tolist() == [list(node[0]) for node in nodes]
    assert tree.load.tolist() == pytest.approx(
        [plain.work(node[2], node[1]) for kind, node in zip(kinds, nodes, strict=True) if kind == 0]
    )


# Routes.

texts = st.lists(st.sampled_from(worlds.WORDS), max_size=4).map(" ".join)
places = st.one_of(
    st.tuples(st.sampled_from(worlds.LONS), st.sampled_from(worlds.LATS), texts),
    st.tuples(st.floats(-180, 180), st.floats(-90, 90), texts),
)
queries = st.lists(st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), max_size=6)


@every_routing
@settings(max_examples=20)
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


@settings(max_examples=20)
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
    trees = {name: cls.fitted(history, PLANE.space, 4).tree for name, cls in ROUTINGS.items()}
    total = {name: tree.load.sum() for name, tree in trees.items()}
    assert total["qt-tree"] < min(total["quadtree"], total["text"])
    assert all(64 <= len(tree.load) <= 66 for tree in trees.values())
    assert {1, 2} <= set(trees["qt-tree"].kind.tolist())


def test_the_mass_of_a_list_is_kept_up_to_date():
    """H is raised word by word; it is the mass of the words that are listed."""
    tree = TextRouting.fitted(mixed_history(3, 400, 40), PLANE.space, 4).tree
    for number in range(len(tree.h)):
        listed = np.isin(tree.hashes, tree.keywords(number))
        assert tree.h[number] == pytest.approx(tree.mass[listed].sum(axis=0))
    assert tree.h.min() < 0.5 < tree.h.max()


def test_a_cut_that_pays_later_is_seen():
    """Objects around the middle: the second cut of space puts all of a quarter into one of four and saves nothing yet.

    A comparison of two splits alone takes words there, and never comes back to space.
    """
    rng = np.random.default_rng(4)
    words = rng.choice(30, 1200)
    rows = [(*at, f"w{n}") for at, n in zip((4 + rng.normal(0, 0.15, (1200, 2))).tolist(), words.tolist(), strict=True)]

    def around(i):
        x, y, _ = rows[i]
        return x - 0.05, y - 0.05, x + 0.05, y + 0.05

    asked = [within(rows[i][2], *around(i)) for i in range(40)] + [top(*around(i)) for i in range(40, 80)]
    history = history_of(rows, asked, [within("w1", *around(i)) for i in range(80, 120)])
    trees = {name: cls.fitted(history, PLANE.space, 4).tree for name, cls in ROUTINGS.items()}
    assert all(x >= 2 and y >= 2 for x, y, _ in rows if x < 4 and y < 4)  # the south-western quarter
    assert trees["qt-tree"].load.sum() <= trees["quadtree"].load.sum() < 0.4 * trees["text"].load.sum()


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(WORDS)), max_size=40), st.data())
def test_never_more_work_than_either_baseline(rows, data):
    side = st.integers(0, 7)
    regions = data.draw(st.lists(st.tuples(side, side, st.integers(1, 8), st.sampled_from(WORDS)), max_size=8))
    asked = [within(word, x, y, min(x + d, 8), min(y + d, 8)) for x, y, d, word in regions]
    history = history_of(rows, [*asked, near("flood")], [top(0, 0, 2, 2)])
    params = QtTreeParams(theta=13)
    qt, *others = (cls.fitted(history, PLANE.space, 2, params).tree.load.sum() for cls in ROUTINGS.values())
    assert qt <= min(others) * (1 + 1e-9)


def topics(seed, objects):
    """Four vocabularies with nothing in common, each everywhere."""
    rng = np.random.default_rng(seed)
    topic, word = rng.integers(0, 4, objects), rng.integers(0, 25, (objects, 3))
    at = rng.uniform(0, 8, (objects, 2)).tolist()
    texts = (" ".join(f"t{t}w{n}" for n in ns) for t, ns in zip(topic.tolist(), word.tolist(), strict=True))
    return [(x, y, text) for (x, y), text in zip(at, texts, strict=True)]


def quarter_around(x, y):
    """A square with a quarter of the space."""
    west, south = min(max(x - 2, 0), 4), min(max(y - 2, 0), 4)
    return west, south, west + 4, south + 4


def searches_of(rows):
    """SRQs of a quarter of the space, then SKQs, with a keyword of an object."""
    ranges = [within(text.split()[0], *quarter_around(x, y)) for x, y, text in rows]
    return ranges + [sl.NearestQuery(text.split()[1], (x, y), 20, planar=True) for x, y, text in rows]


def visited(routing, rows, places, standing):
    """Objects in leaves that such searches reach and that have the keyword, and that standing regions reach: counted,
    on objects that came later."""
    leaf = routing.route_objects(objects_of(rows)).leaf.tolist()
    words = {n: set() for n in leaf}
    for n, (_, _, text) in zip(leaf, rows, strict=True):
        words[n] |= set(text.split())
    boxes = routing.leaf_table().select(["west", "south", "east", "north"]).to_pylist()
    reached = [(text.split()[0], quarter_around(x, y)) for x, y, text in places]
    for x, y, text in places:
        word = text.split()[1]
        reach = sorted(math.dist((x, y), row[:2]) for row in rows if word in row[2].split())[19]
        reached.append((word, (x - reach, y - reach, x + reach, y + reach)))
    reached += [(None, sides) for sides in standing]
    total = 0
    for word, (west, south, east, north) in reached:
        for n, there in words.items():
            box = boxes[n]
            across = west <= box["east"] and east >= box["west"] and south <= box["north"] and north >= box["south"]
            total += leaf.count(n) if across and (word is None or word in there) else 0
    return total


@pytest.mark.parametrize(("standing", "of_quadtree", "of_text"), [(0, 0.6, 1.0), (200, 0.95, 0.5)])
def test_separate_vocabularies_are_told_apart(standing, of_quadtree, of_text):
    """Searches of large regions: by words alone. With small standing regions besides: by both, and less than either.

    The work is counted on objects and searches that the fit has not seen.
    """
    past, later = topics(1, 1500), topics(2, 1500)
    squares = [(x - 0.3, y - 0.3, x + 0.3, y + 0.3) for x, y, _ in past[-standing:]] if standing else []
    history = history_of(past, searches_of(past[:200]), [within("t0w1", *sides) for sides in squares])
    trees = {name: cls.fitted(history, PLANE.space, 4) for name, cls in ROUTINGS.items()}
    found = {name: visited(routing, later, later[:60], squares[:60]) for name, routing in trees.items()}
    assert found["qt-tree"] < of_quadtree * found["quadtree"]
    assert found["qt-tree"] <= of_text * found["text"]


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
