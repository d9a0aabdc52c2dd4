"""Tornado's augmented grid: pointers between neighbours, costs, decomposition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.flat.arrays import frozen
from sightline.partition.a_grid import AGridParams, AGridRouting
from sightline.partition.a_grid.checks import queries_checked
from sightline.partition.a_grid.decompose import Split, best_split, decomposed
from sightline.partition.cost.tornado import SummedCosts
from sightline.partition.tiles._kernels import dominant_cell, neighbour_search, visited_leaves
from sightline.partition.tiles.routing import painted
from sightline.text.dictionary import TermDictionary
from tests.partition import tilings
from tests.partition.tilings import GLOBE, block_of, crowd, history_of, objects_at


def search(cells, spans, rows, columns):
    """Leaves in the order of their discovery, and pops."""
    spans = frozen(spans, np.int32)
    found, stack = np.empty(len(spans), np.int32), np.empty((len(spans) + 2, 2), np.int32)
    seen = np.full(len(spans), -1, np.int64)
    raster = frozen(painted(spans, rows, columns), np.int32)
    count, pops = neighbour_search(frozen(cells, np.int32), raster, spans, seen, 0, stack, found)
    return found[:count].tolist(), pops


# Figure 2(b), reconstructed: A to F
FIGURE = [(0, 2, 3, 6), (4, 4, 6, 6), (4, 0, 4, 3), (5, 3, 6, 3), (5, 0, 6, 2), (0, 0, 3, 1)]
RANGE = (2, 1, 5, 5)


def test_the_figure():
    found, pops = search(RANGE, FIGURE, 7, 7)
    assert "".join("ABCDEF"[leaf] for leaf in found) == "ABCDEF"
    assert pops == 13
    dominant = {"ABCDEF"[i]: dominant_cell(frozen(s, np.int32), frozen(RANGE, np.int32)) for i, s in enumerate(FIGURE)}
    assert dominant == {"A": (2, 5), "B": (4, 5), "F": (2, 1), "C": (4, 3), "D": (5, 3), "E": (5, 2)}


@st.composite
def random_tilings(draw, side=12):
    """Random tilings by rectangles: cuts, and pinwheels that no sequence of cuts makes."""
    todo, done = [(0, 0, side - 1, side - 1)], []
    while todo:
        left, bottom, right, top = todo.pop()
        how = draw(st.sampled_from("kvhp")) if len(done) + len(todo) < 40 else "k"
        if how == "v" and right > left:
            at = draw(st.integers(left, right - 1))
            todo += [(left, bottom, at, top), (at + 1, bottom, right, top)]
        elif how == "h" and top > bottom:
            at = draw(st.integers(bottom, top - 1))
            todo += [(left, bottom, right, at), (left, at + 1, right, top)]
        elif how == "p" and right - left > 1 and top - bottom > 1:
            x0 = draw(st.integers(left, right - 2))
            x1 = draw(st.integers(x0 + 1, right - 1))
            y0 = draw(st.integers(bottom, top - 2))
            y1 = draw(st.integers(y0 + 1, top - 1))
            todo += [
                (left, bottom, x1, y0),
                (x1 + 1, bottom, right, y1),
                (x0 + 1, y1 + 1, right, top),
                (left, y0 + 1, x0, top),
                (x0 + 1, y0 + 1, x1, y1),
            ]
        else:
            done.append((left, bottom, right, top))
    return done


@given(random_tilings(), st.tuples(*[st.integers(0, 11)] * 4))
def test_every_leaf_of_a_range_in_at_most_two_pops_each(spans, corners):
    cells = (*np.minimum(corners[:2], corners[2:]).tolist(), *np.maximum(corners[:2], corners[2:]).tolist())
    found, pops = search(cells, spans, 12, 12)
    meets = [
        leaf
        for leaf, (left, bottom, right, top) in enumerate(spans)
        if left <= cells[2] and right >= cells[0] and bottom <= cells[3] and top >= cells[1]
    ]
    assert sorted(found) == meets
    assert pops <= 2 * len(meets) + 1


def test_pieces_of_a_query_are_searched_apart():
    """A strip above two leaves: the second range starts in the strip that the first has met, and must go on."""
    spans = frozen([(0, 1, 3, 1), (0, 0, 1, 0), (2, 0, 3, 0)], np.int32)
    cells, raster = frozen([(3, 0, 3, 1), (0, 0, 0, 1), (3, 0, 3, 0)], np.int32), frozen(painted(spans, 2, 4), np.int32)
    query, leaf, pops = visited_leaves(frozen([4, 4, 5], np.int32), cells, raster, spans)
    assert list(zip(query.tolist(), leaf.tolist(), strict=True)) == [(4, 0), (4, 1), (4, 2), (5, 2)]
    assert pops == 5 + 5 + 3


def test_pops_depend_on_the_leaves_only():
    coarse, fine = (AGridRouting.start(GLOBE, 64, AGridParams(side=side)) for side in (8, 1000))
    block = block_of([sl.RangeQuery("x", sl.Box(-180, -90, 180, 90)), sl.RangeQuery("x", sl.Box(1, 1, 2, 2))])
    for routing in (coarse, fine):
        leaves, pops = routing.searched(block)
        assert len(leaves.leaf) == 64 + 1
        assert pops == 2 * 65 + 2


def costs_of(cells, rows=5, columns=5):
    costs = np.zeros((rows, columns), np.int64)
    for (column, row), cost in cells.items():
        costs[row, column] = cost
    return SummedCosts.of(costs)


def test_the_split_of_figure_5():
    sums = costs_of({(2, 3): 1, (4, 2): 2, (4, 4): 1})
    columns, rows = sums.columns(sums.whole), sums.rows(sums.whole)
    assert columns.tolist() == [0, 0, 1, 0, 3]
    assert rows.tolist() == [0, 0, 2, 1, 1]
    assert best_split(columns, rows) == Split(vertical=False, at=3, difference=0)
    assert best_split(columns, rows[:1]) == Split(vertical=True, at=3, difference=2)  # the best vertical one
    assert decomposed(sums, 2).tolist() == [[0, 0, 4, 2], [0, 3, 4, 4]]


rasters = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 9), min_size=n, max_size=n), min_size=1, max_size=6)
)


@given(rasters)
def test_no_split_has_a_lower_maximum(raster):
    costs = np.array(raster, np.int64)
    rows, columns = costs.shape
    split = best_split(costs.sum(axis=0), costs.sum(axis=1))
    worst = [max(costs[:, :at].sum(), costs[:, at:].sum()) for at in range(1, columns)]
    worst += [max(costs[:at].sum(), costs[at:].sum()) for at in range(1, rows)]
    if not worst:
        assert split is None
        return
    assert split is not None
    parts = (costs[:, : split.at], costs[:, split.at :]) if split.vertical else (costs[: split.at], costs[split.at :])
    assert max(part.sum() for part in parts) == min(worst)
    assert abs(int(parts[0].sum()) - int(parts[1].sum())) == split.difference


@given(rasters, st.integers(1, 40))
def test_decompositions_tile_the_grid(raster, wanted):
    costs = np.array(raster, np.int64)
    rows, columns = costs.shape
    spans = decomposed(SummedCosts.of(costs), wanted)
    assert len(spans) == min(wanted, rows * columns)  # a single cell is put aside, the others are cut
    assert sum((r - le + 1) * (t - b + 1) for le, b, r, t in spans.tolist()) == rows * columns
    assert (painted(spans, rows, columns) >= 0).all()
    alpha = max(costs[b : t + 1, le : r + 1].sum() for le, b, r, t in spans.tolist())
    assert alpha >= costs.max()
    assert wanted < rows * columns or alpha == costs.max()


def test_the_costliest_is_cut_first():
    """6 | 4 + 4: left is one cell, so the right is cut though it costs less than 8 together."""
    sums = SummedCosts.of(np.array([[6, 4, 4]], np.int64))
    assert decomposed(sums, 2).tolist() == [[0, 0, 0, 0], [1, 0, 2, 0]]
    assert decomposed(sums, 3).tolist() == [[0, 0, 0, 0], [1, 0, 1, 0], [2, 0, 2, 0]]
    sums = SummedCosts.of(np.array([[9, 0, 0, 0, 1, 1]], np.int64))  # nothing is gained by cutting the 9 from the 0
    assert decomposed(sums, 3).tolist()[-1] == [5, 0, 5, 0]


def test_the_start_is_even():
    assert decomposed(SummedCosts.nothing(8, 8), 4).tolist() == [
        [0, 0, 3, 3], [4, 0, 7, 3], [0, 4, 3, 7], [4, 4, 7, 7],
    ]  # fmt: skip
    routing = AGridRouting.start(GLOBE, 16)
    assert routing.leaf_worker.tolist() == list(range(16))
    assert np.bincount(routing.raster.ravel()).tolist() == [62_500] * 16
    tilings.assert_tiles(routing)
    tilings.assert_complete(routing)


def naive_candidates(objects, queries, seed):
    """q_l on the plane [0, 1024]^2, in words: levels are tried from the finest."""
    frequency = {}
    for _, words in objects:
        for word in set(words):
            frequency[word] = frequency.get(word, 0) + 1

    def rank(word):
        return frequency.get(word, 0), int(TermDictionary.hashed([word], seed).hashes[0])

    def cells(low, high, size):
        return range(int(min(low, 1023) // size), int(min(high, 1023) // size) + 1)

    out = []
    for (x, y), words in objects:
        checked = 0
        for conjuncts, (west, south, east, north) in queries:
            for level in range(10, -1, -1):
                size = 1024 >> level
                columns, rows = cells(west, east, size), cells(south, north, size)
                if len(columns) <= 2 and len(rows) <= 2:
                    break
            if min(x, 1023) // size in columns and min(y, 1023) // size in rows:
                checked += sum(not conjunct or min(conjunct, key=rank) in words for conjunct in conjuncts)
        out.append(checked)
    return out


words = st.lists(st.sampled_from(["flood", "boat", "rescue", "calm"]), max_size=3, unique=True)
coordinates = st.integers(0, 1024).map(float)
conjuncts = st.one_of(
    st.lists(st.sampled_from(["flood", "boat", "rescue"]), min_size=1, max_size=3, unique=True).map(lambda c: [c]),
    st.just([["flood"], ["calm"]]),
    st.just([[]]),
)
boxes = st.tuples(coordinates, coordinates, coordinates, coordinates).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)


@given(
    st.lists(st.tuples(st.tuples(coordinates, coordinates), words), min_size=1, max_size=8),
    st.lists(st.tuples(conjuncts, boxes), max_size=8),
)
def test_candidates_are_what_a_pyramid_checks(objects, queries):
    plane = sl.Space.planar((0, 0, 1024, 1024))
    block = block_of(
        [
            sl.RangeQuery(" OR ".join(" AND ".join(c) for c in conjuncts), sl.Box(*box, planar=True))
            for conjuncts, box in queries
        ],
        plane,
    )
    columns = objects_at([place for place, _ in objects], [" ".join(words) for _, words in objects], plane)
    found = queries_checked(columns, block, np.array(plane.bounds))
    assert found.tolist() == naive_candidates(objects, queries, tilings.config_of(plane).seed)


def test_all_kinds_are_candidates():
    """A nearest query by its keyword, a top-terms query in its region, a match-all query, and none of another word."""
    queries = [
        sl.NearestQuery("flood", (0, 0), 3),
        sl.TopTermsQuery(sl.Box(-180, -90, 180, 90), 3, window="2s", every="1s"),
        sl.RangeQuery("", sl.Box(-180, -90, 180, 90)),
        sl.RangeQuery("boat", sl.Box(-180, -90, 180, 90)),
    ]
    found = queries_checked(objects_at([(0, 0), (1, 1)], ["flood", ""]), block_of(queries), np.array(GLOBE.bounds))
    assert found.tolist() == [3, 2]


def test_a_fit_evens_out_the_costs():
    """Objects and queries crowd in a city; the costliest of 8 rectangles falls far below that of equal ones."""
    places = crowd(4_000)
    queries = [sl.RangeQuery("flood", sl.Box(x, y, x + 2, y + 2)) for x, y in places[:200] - 1]
    history = history_of(places, queries)
    checked = queries_checked(history.objects, history.standing, np.array(GLOBE.bounds))
    alpha = {}
    for routing in (AGridRouting.start(GLOBE, 8), AGridRouting.fitted(history, GLOBE, 8)):
        costs = np.bincount(routing.route_objects(history.objects).owner, checked, 8)
        alpha[len(alpha)] = costs.max() / costs.mean()
        tilings.assert_tiles(routing)
        tilings.assert_complete(routing)
    assert alpha[0] > 4
    assert alpha[1] < 1.5


def test_objects_count_where_nothing_is_checked():
    places = [(-100, 10)] * 2 + [(100, 10), (101, 10)]
    routing = AGridRouting.fitted(history_of(places, [sl.RangeQuery("boat", sl.Box(0, 0, 1, 1))]), GLOBE, 2)
    assert np.bincount(routing.route_objects(objects_at(places)).owner).tolist() == [2, 2]


def test_more_leaves_than_workers_are_dealt_by_cost():
    params = AGridParams(side=64, leaves_per_worker=4)
    history = history_of(crowd(2_000))
    routing = AGridRouting.fitted(history, GLOBE, 3, params)
    assert len(routing.spans) == 12
    loads = np.bincount(routing.route_objects(history.objects).owner, minlength=3)
    assert loads.max() < 1.3 * loads.mean()
    again = routing.reassigned(np.arange(12.0))
    sums = np.bincount(again.leaf_worker, np.arange(12.0), 3)
    assert sums.tolist() == [22, 22, 22]


def test_more_workers_than_cells():
    routing = AGridRouting.fitted(history_of(crowd(100)), GLOBE, 9, AGridParams(side=2))
    assert routing.leaf_worker.tolist() == [0, 1, 2, 3]
    tilings.assert_complete(routing)
    assert AGridRouting.start(GLOBE, 3, AGridParams(side=1)).spans.tolist() == [[0, 0, 0, 0]]
