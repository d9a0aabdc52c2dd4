"""Query distribution statistics: cells, keywords, lifetimes, and counts that add up."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sightline as sl
from sightline.index.protocol import NO_BOUND
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.cost import sstd
from sightline.partition.history import History
from sightline.partition.statistics.distribution import Statistics
from sightline.partition.statistics.keywords import KeywordMasses
from sightline.partition.statistics.pyramid import Pyramid, StatisticsParams
from sightline.partition.statistics.searches import SearchCounts
from sightline.partition.statistics.tally import QueryTally, queries_of
from sightline.text.dictionary import TermDictionary
from tests.partition import subset_cases
from tests.partition.subset_cases import GLOBE, PLANE, objects_of

SMALL = StatisticsParams(levels=3)
SRQ, SKQ, STQ, CRQ, CKQ, CTQ = range(6)


block_of = partial(subset_cases.block_of, start=MIN_US, end=MAX_US)


def hashes(*words):
    return TermDictionary.hashed(list(words), 1).hashes


def ranges(*boxes, words="x"):
    return [sl.RangeQuery(words, sl.Box(*box)) for box in boxes]


def cells_met(boxes, bounds, levels):
    """Numbers of the cells that closed boxes meet, level by level; the last cells are closed."""
    west, south, east, north = bounds
    out, first = set(), 0
    for level in range(levels + 1):
        side = 2**level

        def cell(value, low, high, side=side):
            return min(int((value - low) / ((high - low) / side)), side - 1)

        for w, s, e, n in boxes:
            out |= {
                first + y * side + x
                for y in range(cell(s, south, north), cell(n, south, north) + 1)
                for x in range(cell(w, west, east), cell(e, west, east) + 1)
            }
        first += side * side
    return out


def counts_by_hand(per_query, cells):
    out = np.zeros(cells)
    for met in per_query:
        out[sorted(met)] += 1
    return out


# Cells.


@pytest.mark.parametrize("bounds", [(-180.0, -90.0, 180.0, 90.0), (0.1, -3.7, 0.4, 1e6)])
def test_cells_cover_themselves(bounds):
    pyramid = Pyramid(bounds, 7)
    assert pyramid.cells == 21_845 == sum(4**level for level in range(8))
    assert pyramid.covering(pyramid.boxes_of(np.arange(pyramid.cells))).tolist() == list(range(pyramid.cells))
    assert pyramid.level_of([0, 1, 4, 5, 20, 21, 21_844]).tolist() == [0, 1, 1, 2, 2, 3, 7]
    parents = np.arange(pyramid.first(7))
    below = pyramid.children(parents)
    assert sorted(below.reshape(-1).tolist()) == list(range(1, pyramid.cells))
    boxes, parent = pyramid.boxes_of(below.reshape(-1)).reshape(-1, 4, 4), pyramid.boxes_of(parents)
    assert np.allclose(boxes[:, 0, :2], parent[:, :2])
    assert np.allclose(boxes[:, 3, 2:], parent[:, 2:])


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_nodes_of_a_tree_that_halves_are_cells(path):
    """The leaf of a quadtree whose boxes come from midpoints finds its own cell, deeper ones the last level's."""
    west, south, east, north = 0.1, -0.3, 0.7, 11.3
    pyramid = Pyramid((west, south, east, north), 7)
    cell = 0
    for depth, (right, upper) in enumerate(path):
        x, y = (west + east) / 2, (south + north) / 2
        west, east = (x, east) if right else (west, x)
        south, north = (y, north) if upper else (south, y)
        if depth < 7:
            cell = int(pyramid.children(cell)[0, 2 * upper + right])
    assert pyramid.covering([[west, south, east, north]]).tolist() == [cell]


@given(st.tuples(*[st.integers(0, 16)] * 4))
def test_the_smallest_cell_that_covers(corners):
    """Against all 85 cells of a plane of 8 x 8; coordinates are halves, so every sum is exact."""
    x, y = sorted(corners[:2]), sorted(corners[2:])
    box = (x[0] / 2, y[0] / 2, x[1] / 2, y[1] / 2)
    pyramid = Pyramid((0.0, 0.0, 8.0, 8.0), 3)
    covering = []
    for cell, (w, s, e, n) in enumerate(pyramid.boxes_of(np.arange(pyramid.cells)).tolist()):
        in_x = (w <= box[0] and box[2] <= e) and (box[0] < e or e == 8.0)
        in_y = (s <= box[1] and box[3] <= n) and (box[1] < n or n == 8.0)
        if in_x and in_y:
            covering.append(cell)
    assert pyramid.covering([box]).tolist() == [covering[-1]]


def test_points_are_counted_on_every_level():
    pyramid = Pyramid((0.0, 0.0, 8.0, 8.0), 3)
    places = [(0.0, 0.0), (-0.0, 8.0), (8.0, 8.0), (4.0, 4.0), (3.999, 4.0), (5e-324, 0.0)]
    counts = pyramid.upward(pyramid.in_last_level(*(np.array(v) for v in zip(*places, strict=True))))
    expected = counts_by_hand([cells_met([(x, y, x, y)], pyramid.bounds, 3) for x, y in places], pyramid.cells)
    assert counts.tolist() == expected.tolist()


halves = st.integers(0, 16).map(lambda v: v / 2)
boxes = st.tuples(halves, halves, halves, halves).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)


@given(st.lists(boxes, min_size=1, max_size=6))
def test_queries_are_counted_in_every_cell_they_meet(given_boxes):
    made = Statistics.empty(PLANE.space, SMALL).added(block_of(ranges(*given_boxes)), asked=False)
    expected = counts_by_hand([cells_met([box], PLANE.space.bounds, 3) for box in given_boxes], 85)
    assert made.weights[CRQ].tolist() == expected.tolist()
    assert not made.weights[[SRQ, SKQ, STQ, CKQ, CTQ]].any()
    assert made.probabilities(np.arange(85))[:, CRQ].tolist() == (expected / len(given_boxes)).tolist()


@pytest.mark.parametrize("box", [(170, -10, -170, 10), (1, -90, -1, 90), (180, 0, -180, 0), (91, 0, 90, 5)])
def test_a_region_across_the_antimeridian_counts_once_per_cell(box):
    made = Statistics.empty(GLOBE.space, SMALL).added(block_of(ranges(box), GLOBE), asked=True)
    west, south, east, north = box
    pieces = [(west, south, 180, north), (-180, south, east, north)]
    assert made.weights[SRQ].tolist() == counts_by_hand([cells_met(pieces, GLOBE.space.bounds, 3)], 85).tolist()


def test_a_box_costs_four_marks_a_level():
    """Work done: the whole space is no dearer than a point."""
    tally = QueryTally(PLANE.space, 7)
    tally.locate(queries_of([block_of(ranges((0, 0, 8, 8)))]), asked=True)
    assert np.count_nonzero(tally.marks) == 4 * 8
    assert tally.overlaps()[SRQ].tolist() == [1] * 21_845


# Nearest queries.


def test_nearest_queries_count_in_their_search_region():
    """The second nearest is 2 away: three columns, three rows. With fewer than k matches, everywhere."""
    objects = objects_of([(0.5, 0.5, "x"), (2.5, 0.5, "x"), (0.6, 0.5, "y")])
    at = (0.5, 0.5)
    queries = [sl.NearestQuery("x", at, 2), sl.NearestQuery("x", at, 3)]
    empty = Statistics.empty(PLANE.space, SMALL)
    made = empty.added(block_of(queries), asked=True, objects=objects)
    grid = made.weights[SKQ, 21:].reshape(8, 8)
    assert grid[:3, :3].tolist() == [[2] * 3] * 3
    assert grid.sum() == 2 * 9 + (64 - 9)
    told = empty.added(block_of(queries), asked=True, reach_mm=[2000, NO_BOUND])
    assert told.weights.tolist() == made.weights.tolist()
    placed = empty.added(block_of(queries), asked=False)
    assert np.flatnonzero(placed.weights[CKQ]).tolist() == [0, 1, 5, 21]


def test_of_many_nearest_queries_a_sample_is_evaluated():
    objects = objects_of([(0.5, 0.5, "x"), (7.5, 7.5, "x")])
    corner = [sl.NearestQuery("x", (0.5, 0.5), 1), sl.NearestQuery("x", (7.5, 7.5), 1)]
    queries = corner[:1] * 30 + ranges((0, 0, 1, 1)) + corner[1:] * 10
    few = StatisticsParams(levels=3, sample=4)
    made = Statistics.empty(PLANE.space, few).added(block_of(queries), asked=False, objects=objects)
    assert made.weights[CKQ, [0, 1, 4]].tolist() == [40, 30, 10]
    assert made.weights[CRQ, 0] == 1


# Keywords, their number, lifetimes.


def test_keyword_distributions_by_hand():
    everywhere = sl.Box(0, 0, 8, 8)
    asked = [
        sl.RangeQuery("flood boat", everywhere),
        sl.RangeQuery("flood", everywhere),
        sl.NearestQuery("calm OR (flood AND NOT boat)", (1, 1), 1),
        sl.TopTermsQuery(everywhere, 1, window="1s", every="1s"),
    ]
    made = Statistics.empty(PLANE.space, SMALL).added(block_of(asked), asked=True)
    made = made.added(block_of([sl.RangeQuery("tide", everywhere)]), asked=False)
    srq, skq = made.keywords.mass_of(hashes("flood", "boat", "calm", "tide"))
    assert srq == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert skq == pytest.approx([0.5, 0, 0.5, 0])
    assert made.length_chances(SRQ)[:3].tolist() == [0, 0.5, 0.5]
    assert made.length_chances(SKQ)[:3].tolist() == [0, 1, 0]
    assert made.length_chances(CKQ)[:3].tolist() == [1, 0, 0]
    assert made.types == pytest.approx([0.4, 0.2, 0.2, 0.2, 0, 0])


def test_long_conjunctions_and_match_all():
    queries = [sl.RangeQuery(" ".join(f"w{i}" for i in range(20)), sl.Box(0, 0, 1, 1)), *ranges((0, 0, 1, 1), words="")]
    made = Statistics.empty(PLANE.space, SMALL).added(block_of(queries), asked=True)
    chances = made.length_chances(SRQ)
    assert (chances[0], chances[16], len(chances)) == (0.5, 0.5, 17)


def test_of_too_many_terms_the_most_frequent_stay():
    masses = KeywordMasses.of([5, -3, 9, 5, 2], [[1, 1, 1, 1, 0], [0, 0, 0, 0, 4]])
    assert masses.hashes.tolist() == [-3, 2, 5, 9]
    assert masses.weights.tolist() == [[1, 0, 2, 1], [0, 4, 0, 0]]
    kept = masses.pruned(3)
    assert kept.hashes.tolist() == [-3, 2, 5]
    assert kept.rest.tolist() == [1, 0]
    assert kept.masses[0].tolist() == [0.25, 0, 0.5]
    assert kept.merged(masses, 2).hashes.tolist() == [2, 5]
    assert kept.merged(masses, 2).rest.tolist() == [4, 0]


def test_lifetimes_by_hand():
    """10 s, 10 s and forever: forever is the span, or the longest lifetime that has an end."""
    queries = ranges(*[(0, 0, 1, 1)] * 3)
    block = block_of(queries, start=np.array([0, 5, 7]), end=np.array([10_000_000, 10_000_005, MAX_US]))
    none = objects_of([])
    for span, mean in ((100_000_000, 40.0), (1_000_000, 10.0), (0, 10.0)):
        made = Statistics.of(History(none, block, block_of([]), span), PLANE.space, SMALL)
        assert made.lifetimes == pytest.approx([0, 0, 0, mean, 0, 0])
        asked = made.added(block_of(queries, start=0, end=10**12), asked=True)
        assert asked.lifetimes == pytest.approx([1e6, 0, 0, mean, 0, 0])  # what searches look back over is no lifetime
    always = Statistics.of(History(none, block_of(queries), block_of([]), 50_000_000), PLANE.space, SMALL)
    assert always.lifetimes[CRQ] == 50


# The whole.


def history():
    objects = objects_of([(0.5, 0.5, "flood"), (0.5, 0.6, "boat"), (7.5, 0.5, "flood"), (7.5, 7.5, "")])
    standing = block_of([*ranges((0, 0, 1, 1), (0, 0, 8, 8)), sl.NearestQuery("flood", (7, 1), 1)])
    asked = block_of([*ranges((0, 0, 3, 3), words="flood"), sl.NearestQuery("boat", (0, 0), 1)])
    return History(objects, standing, asked, 2_000_000)


def test_a_history_by_hand():
    made = Statistics.of(history(), PLANE.space, SMALL)
    quarters = made.pyramid.children([0])[0]
    assert made.rates([0, *quarters]).tolist() == [2, 1, 0.5, 0, 0.5]
    assert made.types == pytest.approx([0.2, 0.2, 0, 0.4, 0.2, 0])
    chances = made.probabilities(made.covering([[0, 0, 4, 4], [4, 4, 8, 8], [2, 2, 6, 6]]))
    assert chances.tolist() == [[1, 1, 0, 1, 0, 0], [0, 0, 0, 0.5, 0, 0], [1, 1, 0, 1, 1, 0]]
    # South-west: 2 objects, 1 a second, lifetimes of 2 s; H of {flood, boat} is 1 for both types.
    w = sstd.workload(made.cost_model(), chances[0], 2.0, 1.0, 1.0, 1.0)
    assert w == pytest.approx(0.2 * 2 + 0.2 * 2 + 0.4 * 1 * 2)


def test_nothing_seen_yet():
    """Costs are numbers of objects then."""
    made = Statistics.of(History(objects_of([]), block_of([]), block_of([]), 0), PLANE.space)
    assert made.types.tolist() == [0, 0, 1, 0, 0, 0]
    assert made.rates([0]).tolist() == [0]
    p = made.probabilities(made.covering([[0, 0, 1, 1], [2, 2, 8, 8]]))
    assert sstd.partition_workloads(made.cost_model(), p, [3, 5], [0, 0], [0, 0], [0, 0]).tolist() == [3, 5]


def same(a, b):
    return all(np.allclose(x, b.to_arrays()[name], rtol=1e-12, atol=0) for name, x in a.to_arrays().items())


def test_counts_add_up_and_decay():
    past = history()
    whole = Statistics.of(past, PLANE.space, SMALL)
    parts = Statistics.of(History(past.objects, past.standing, block_of([]), 2_000_000), PLANE.space, SMALL)
    asked = Statistics.empty(PLANE.space, SMALL).added(past.asked, asked=True, objects=past.objects)
    assert same(parts.merged(asked), whole)
    faded = whole.decayed(0.25)
    cells = np.arange(85)
    assert faded.weights.sum() == pytest.approx(whole.weights.sum() / 4)
    assert np.allclose(faded.probabilities(cells), whole.probabilities(cells))
    assert np.allclose(faded.rates(cells), whole.rates(cells))
    assert faded.types == pytest.approx(whole.types)
    assert np.allclose(faded.keywords.masses, whole.keywords.masses)
    mixed = faded.added(block_of(ranges((7, 7, 8, 8))), asked=False)
    assert mixed.probabilities([84])[0, CRQ] == pytest.approx((1 + 0.25) / (1 + 0.5))
    with pytest.raises(ValueError, match="add up"):
        whole.merged(Statistics.empty(PLANE.space))


@pytest.mark.parametrize("config", [PLANE, GLOBE], ids=["plane", "globe"])
def test_arrays_give_it_back(config):
    made = Statistics.empty(config.space, SMALL).added(block_of(ranges((0, 0, 3, 3)), config), asked=True)
    arrays = {name: array.copy() for name, array in made.to_arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    again = Statistics.from_arrays(arrays)
    assert same(made, again)
    assert (again.space, again.params, again.span_s) == (made.space, made.params, made.span_s)
    more = block_of(ranges((1, 1, 2, 2)), config)
    assert same(made.added(more, asked=False), again.added(more, asked=False))


# Searches.


def test_searches_are_counted_and_handed_on():
    counts = SearchCounts(PLANE.space, SMALL)
    boxed = block_of([*ranges((0, 0, 3, 3), words="flood"), sl.NearestQuery("boat OR tide", (5, 5), 3)])
    near = block_of([sl.NearestQuery("boat", (0.5, 0.5), 1)])
    empty = Statistics.empty(PLANE.space, SMALL)
    for _ in range(3):
        counts.add(queries_of([boxed, boxed]))
    counts.add(queries_of([near]), [1000])
    assert len(counts) == 13
    once = empty.added(boxed, asked=True)
    expected = empty
    for _ in range(6):
        expected = expected.merged(once)
    taken = counts.to_arrays()
    assert same(empty.with_searches(taken), expected.added(near, asked=True, reach_mm=[1000]))
    assert same(empty.with_searches(SearchCounts(PLANE.space, SMALL).to_arrays()), empty)
    with pytest.raises(ValueError, match="other cells"):
        Statistics.empty(PLANE.space).with_searches(taken)


def test_what_is_handed_on_is_bounded():
    """However much is asked: a number per cell and type at most, and the heaviest keywords."""
    counts = SearchCounts(PLANE.space, SMALL)
    words = block_of([sl.RangeQuery(f"w{i}", sl.Box(0, 0, 8, 8)) for i in range(5000)])
    counts.add(queries_of([words, block_of(ranges((0, 0, 1, 1), words="w4999"))]))
    taken = counts.to_arrays()
    assert taken["weights"].size == 85
    assert taken["term_hashes"].size == 4096
    assert taken["term_rest"].tolist() == [5001 - 4097, 0]
    assert hashes("w4999")[0] in taken["term_hashes"]
