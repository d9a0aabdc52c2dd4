"""The R-tree: small nodes answer like a loop, tables add up, and little is read."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.segment_cases import opened_with_terms, with_params

from sightline.geo.bounds import pieces
from sightline.index.objects.blocks import walks_kernels as walks
from sightline.index.objects.rtree import RTreeIndex, RTreeParams
from sightline.model.regions import Box, Circle, Region
from sightline.model.space import Space
from sightline.testing import small_worlds
from sightline.testing.object_indexes import OBJECT_CHECKS
from sightline.testing.oracle_geometry import distance_mm
from sightline.testing.small_worlds import Row, lies_in

WORLD = Box(-180, -90, 180, 90)
ALWAYS = (-(2**63), 2**63 - 1)
worlds = st.lists(small_worlds.rows, min_size=1, max_size=40)
shapes = st.builds(RTreeParams, st.sampled_from([1, 2, 3]), st.sampled_from([2, 3, 16]))
spans = st.tuples(st.integers(-1, 21), st.integers(-1, 21))


opened = partial(opened_with_terms, RTreeIndex)


@pytest.mark.parametrize("check", OBJECT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("params", [RTreeParams(*shape) for shape in ((1, 2), (2, 3), (3, 16), (1, 16))])
def test_small_nodes_conform(check, params: RTreeParams) -> None:
    check(with_params(RTreeIndex, params))


@given(
    world=worlds,
    params=shapes,
    region=st.one_of(small_worlds.regions, small_worlds.planar_regions),
    span=spans,
    k=st.integers(1, 5),
)
@settings(max_examples=150, deadline=None)
def test_small_nodes_counts(
    world: list[Row], params: RTreeParams, region: Region, span: tuple[int, int], k: int
) -> None:
    space = small_worlds.PLANE if region.planar else Space()
    reader, terms, placed = opened(world, params)
    expected = [0] * len(reader.term_counts(pieces(WORLD, Space()), *ALWAYS, WORLD, Space()))
    for i, row in enumerate(placed):
        if span[0] <= row.ts <= span[1] and lies_in(region, row, space):
            for term in terms[i]:
                expected[term] += 1
    boxes = pieces(region, space)
    assert reader.term_counts(boxes, *span, region, space).tolist() == expected
    ranked = sorted((-count, term) for term, count in enumerate(expected) if count)
    top = reader.top_terms(boxes, *span, region, space, k)
    assert list(zip((-top.counts).tolist(), top.terms.tolist(), strict=True)) == ranked[:k]
    assert top.bound == (-ranked[k][0] if len(ranked) > k else 0)
    some = np.arange(len(expected))[::-2]
    assert reader.counts_of(some, boxes, *span, region, space).tolist() == expected[::-2]


degrees = st.floats(-180, 180, width=32)
lats = st.floats(-90, 90, width=32)


@given(xs=st.tuples(degrees, degrees), ys=st.tuples(lats, lats), x=degrees, y=lats, radius=st.floats(0, 2.1e7))
@settings(max_examples=400, deadline=None)
def test_bounds_of_boxes_hold_for_their_points(
    xs: tuple[float, float], ys: tuple[float, float], x: float, y: float, radius: float
) -> None:
    box = np.array([min(xs), min(ys), max(xs), max(ys)])
    points = [(a, b) for a in np.linspace(box[0], box[2], 9) for b in np.linspace(box[1], box[3], 9)]
    box.flags.writeable = False
    for space in (Space(), small_worlds.PLANE):
        distances = [distance_mm(*(x, y), *point, planar=not space.is_geographic) for point in points]
        least = int(walks.box_distance_mm(space.is_geographic, x, y, box))
        assert least <= min(distances)
        if (x, y) in points:
            assert least == 0
        circle = np.array([x, y, np.floor(1000 * radius), 0.0])
        circle.flags.writeable = False
        if walks.within_circle(space.is_geographic, circle, box):
            assert max(distances) <= circle[2]


def test_the_bound_is_the_distance_to_the_nearest_meridian() -> None:
    """Not merely some lower bound: at a corner, over the pole, across the antimeridian, and at a foot point."""
    box = np.array([10.0, 20.0, 30.0, 60.0])
    box.flags.writeable = False
    for at, point in [((0, 0), (10, 20)), ((20, 0), (20, 20)), ((-170, 80), (30, 60)), ((25, 70), (25, 60))]:
        assert abs(distance_mm(*at, *point) - walks.box_distance_mm(True, *map(float, at), box)) <= 11
    assert walks.box_distance_mm(True, 20.0, 40.0, box) == 0
    foot = min(distance_mm(*(-30, 30), *(10, lat)) for lat in np.linspace(20, 60, 4001))
    assert foot < min(distance_mm(*(-30, 30), *(10, lat)) for lat in (20, 60))
    assert 0 <= foot - walks.box_distance_mm(True, -30.0, 30.0, box) < 10_000
    far = np.array([179.0, 0.0, 180.0, 1.0])
    far.flags.writeable = False
    assert abs(walks.box_distance_mm(True, -179.0, 0.0, far) - distance_mm(*(-179, 0), *(180, 0))) <= 11


def city(n: int) -> list[Row]:
    """Six cities; every word but `everywhere` is used in one of them only, and `rare` by one object."""
    rng = np.random.default_rng(5)
    centres = rng.uniform((-170, -80), (170, 80), (6, 2))
    town = rng.integers(0, 6, n)
    places = centres[town] + rng.normal(0, 0.3, (n, 2))
    texts = [f"everywhere town{town[i]} w{rng.integers(0, 50)}" for i in range(n)]
    texts[n // 2] += " rare"
    stamps = rng.integers(0, 20, n)
    return [Row(x, y, int(t), text) for (x, y), t, text in zip(places, stamps, texts, strict=True)]


def test_little_is_opened() -> None:
    n = 20_000
    world = city(n)
    reader, terms, placed = opened(world)
    rare = next(i for i, row in enumerate(placed) if row.text.endswith("rare"))
    term = next(t for t in terms[rare] if sum(t in other for other in terms) == 1)
    everything = pieces(WORLD, Space())
    # 20,000 rows are 157 leaves, 10 nodes and a root. The masks lead straight to the one leaf.
    assert reader.range([((term,), ())], everything, *ALWAYS).tolist() == [rare]
    assert (reader.nodes_opened, reader.work.candidates) == (3, 1)
    assert reader.nearest([((term,), ())], (0.0, 0.0), 1, *ALWAYS, Space())[0].tolist() == [rare]
    assert (reader.nodes_opened, reader.work.candidates) == (6, 2)
    # A small box opens few leaves, the nearest row without keywords about one.
    here = placed[100]
    box = np.array([[here.lon - 0.001, here.lat - 0.001, here.lon + 0.001, here.lat + 0.001]])
    assert 100 in reader.range([((), ())], box, *ALWAYS)
    assert reader.nearest([((), ())], (here.lon, here.lat), 1, *ALWAYS, Space())[1][0] == 0
    assert reader.nodes_opened <= 6 + 14
    assert reader.work.candidates <= 2 + 8 * 128
    assert reader.work.calls == 4


@pytest.mark.parametrize("shape", ["box", "circle"])
def test_nodes_inside_add_their_tables(shape: str) -> None:
    n = 20_000
    world = city(n)
    reader, _, placed = opened(world)
    everywhere: Region = WORLD if shape == "box" else Circle(0, 0, 2.1e7)
    whole = reader.term_counts(pieces(everywhere, Space()), *ALWAYS, everywhere, Space())
    assert whole.max() == n
    assert (reader.nodes_opened, reader.work.candidates) == (1, 0)
    # One town: the nodes inside are added, only leaves on the edge are read.
    before = reader.nodes_opened, reader.tables_added
    x, y = (float(np.median([getattr(row, axis) for row in placed if "town3" in row.text])) for axis in ("lon", "lat"))
    town: Region = Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5) if shape == "box" else Circle(x, y, 50_000.0)
    inside = sum(lies_in(town, row, Space()) for row in placed)
    counts = reader.term_counts(pieces(town, Space()), *ALWAYS, town, Space())
    assert counts.max() == inside > 1000
    assert reader.tables_added > before[1]
    assert 0 < reader.work.candidates < inside
    assert reader.nodes_opened - before[0] < 80


def test_a_time_that_cuts_a_node_is_read_row_by_row() -> None:
    reader, _, placed = opened(city(3000))
    counts = reader.term_counts(pieces(WORLD, Space()), 5, 9, WORLD, Space())
    assert counts.max() == sum(5 <= row.ts <= 9 for row in placed)
    assert (reader.tables_added, reader.work.candidates) == (0, 3000)


def test_more_answers_than_the_first_buffer_holds() -> None:
    reader, _, placed = opened([Row(i % 7, 0, 0, "rain") for i in range(1000)])
    assert reader.range([((0,), ())], pieces(WORLD, Space()), 0, 0).tolist() == list(range(1000))
    found, mm = reader.nearest([((0,), ())], (0.0, 0.0), 3, 0, 0, Space())
    assert found.size == sum(row.lon == 0 for row in placed) == 143
    assert set(mm.tolist()) == {0}


@pytest.mark.parametrize(("leaf", "fanout"), [(0, 2), (257, 2), (2, 1), (2, 17)])
def test_impossible_nodes_are_refused(leaf: int, fanout: int) -> None:
    with pytest.raises(ValueError, match="children"):
        RTreeParams(leaf, fanout)
