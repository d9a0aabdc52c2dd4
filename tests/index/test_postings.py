"""The postings index beyond the conformance suite: every size of its head, long runs, and the work it does."""

from __future__ import annotations

import math
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.index.segment_cases import conjuncts_of, ids_of, segment_of, table_of

from sightline.geo._kernels import haversine_mm, planar_mm, quantise_one
from sightline.geo.bounds import pieces
from sightline.index.objects.postings import _kernels, index
from sightline.index.objects.postings import building_kernels as building
from sightline.index.objects.postings import measures_kernels as measures
from sightline.index.objects.postings import nearest_kernels as nearest
from sightline.index.objects.postings import top_terms_kernels as counting
from sightline.index.objects.postings.index import PostingsParams
from sightline.index.objects.segment import Segment, build_segment
from sightline.model.expression import all_of, parse
from sightline.model.regions import Box, Circle, Region
from sightline.model.space import Space
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.testing import small_worlds as worlds
from sightline.testing.object_indexes import OBJECT_CHECKS
from sightline.testing.small_worlds import Row, columns_of, config_of

EVER = (-(2**62), 2**62)
SMALL = [  # and how few rows are counted at once
    (PostingsParams(head=1, dense=1, runners=0, finest=0), 0),
    (PostingsParams(head=2, dense=3, runners=1, finest=2), 2),
    (PostingsParams(head=3, dense=1, runners=3, finest=16), 0),
    (PostingsParams(head=64, dense=1000, runners=512, finest=0), 0),
    (PostingsParams(head=1, dense=1000, runners=3, finest=2), 2),
    (PostingsParams(head=2, dense=1, runners=512, finest=16), 768),
]


@pytest.mark.parametrize("check", OBJECT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("params", "few"), SMALL)
def test_any_head_conforms(check, params: PostingsParams, few: int) -> None:
    with patch.object(index, "PARAMS", params), patch.object(index, "FEW_ROWS", few):
        check(index.PostingsIndex)


def city(n: int) -> list[Row]:
    rng = np.random.default_rng(11)
    centres = rng.uniform((-170, -80), (170, 80), (6, 2))[rng.integers(0, 6, n)]
    places = centres + rng.normal(0, 0.3, (n, 2))
    vocabulary = np.array([f"w{i}" for i in range(40)])
    weights = 1 / np.arange(1, 41)
    texts = [" ".join(rng.choice(vocabulary, 6, p=weights / weights.sum())) for _ in range(n)]
    return [Row(x, y, int(t), text) for (x, y), t, text in zip(places, rng.integers(0, 20, n), texts, strict=True)]


def test_postings_read_little_and_skewed_data_is_answered_exactly() -> None:
    config, world = config_of(), city(6000)
    fast, slow = segment_of(world, config, "postings"), segment_of(world, config, "scan")
    rng = np.random.default_rng(2)
    for i in range(60):
        row = world[int(rng.integers(0, len(world)))]
        size = float(rng.choice([0.01, 0.2, 3.0]))
        box = np.array([[row.lon - size, row.lat - size, row.lon + size, row.lat + size]])
        words = all_of(row.text.split()[: i % 3]) if i % 3 else parse("")
        answers = []
        for segment in (fast, slow):
            conjuncts = conjuncts_of(words, segment, config)
            found = segment.index.range(conjuncts, box, 2, 18)
            near = segment.index.nearest(conjuncts, (row.lon + size, row.lat), 1 + i % 7, 2, 18, config.space)
            answers.append((ids_of(segment, found), near[1].tolist(), ids_of(segment, near[0])))
        assert answers[0] == answers[1]
    assert fast.index.work.calls > 0
    assert fast.index.work.candidates * 5 < slow.index.work.candidates
    assert len(getattr(_kernels.range_rows, "signatures", [0])) == 1


def town(n: int, words: int = 400) -> list[Row]:
    """Cities whose words are partly their own; a few posts share a place."""
    rng = np.random.default_rng(19)
    which = rng.integers(0, 7, n)
    centre = rng.uniform((-180, -80), (180, 80), (7, 2))
    place = centre[which] + rng.normal(0, 0.4, (n, 2)).round(3)
    weights = 1 / np.arange(1, words + 1)
    drawn = rng.choice(words, (n, 6), p=weights / weights.sum())
    drawn[:, 5] = np.where(rng.random(n) < 0.3, which * 10 + 100, drawn[:, 5])
    lon = (place[:, 0] + 180) % 360 - 180
    return [
        Row(x, y, int(t), " ".join(f"w{w}" for w in line))
        for x, y, t, line in zip(lon.tolist(), place[:, 1].tolist(), rng.integers(0, 20, n), drawn, strict=True)
    ]


@pytest.fixture(scope="module")
def towns() -> tuple[list[Row], Segment, Segment]:
    world, config = town(14_000), config_of()
    return world, segment_of(world, config, "postings"), segment_of(world, config, "scan")


def test_top_terms_of_large_regions(towns: tuple[list[Row], Segment, Segment]) -> None:
    world, fast, slow = towns
    rng = np.random.default_rng(3)
    for i in range(60):
        row, size = world[int(rng.integers(0, len(world)))], float(rng.choice([0.05, 0.5, 3.0, 60.0]))
        box = Box(
            max(-180.0, row.lon - size),
            max(-90.0, row.lat - size),
            min(180.0, row.lon + size),
            min(90.0, row.lat + size),
        )
        region: Region = Circle(row.lon, row.lat, size * 1e5) if i % 5 == 4 else box
        span = EVER if i % 3 else (3, 15)
        place = (pieces(region, Space()), *span, region, Space())
        exact = slow.index.term_counts(*place)  # both segments have the dictionary of the one tokenised table
        for k in (1, 10, 100):
            top = fast.index.top_terms(*place, k)
            assert exact[top.terms].tolist() == top.counts.tolist()
            rest = np.delete(exact, top.terms)
            assert rest.max(initial=0) <= top.bound
            assert np.sort(top.counts)[::-1][:k].tolist() == [c for c in np.sort(exact)[::-1][:k].tolist() if c]
            if len(top.terms) >= k:
                assert np.sort(top.counts)[-k] > top.bound
        asked = rng.integers(0, exact.size, 12)
        assert fast.index.counts_of(asked, *place).tolist() == exact[asked].tolist()
    assert (
        fast.index.term_counts(np.array([[-180.0, -90.0, 180.0, 90.0]]), *EVER, Box(-180, -90, 180, 90), Space()).sum()
        == fast.terms.ids.size
    )


def test_no_row_of_an_inner_cell_is_read_for_top_terms(towns: tuple[list[Row], Segment, Segment]) -> None:
    world, fast, _ = towns
    everywhere = Box(-180, -90, 180, 90)
    before = fast.index.work.candidates
    top = fast.index.top_terms(pieces(everywhere, Space()), *EVER, everywhere, Space(), 10)
    assert fast.index.work.candidates == before  # one run, from the first line of the counts to the last
    assert top.counts.max() > len(world) / 3
    half = Box(-180, -90, float(np.median(fast.lon)), 90)
    fast.index.top_terms(pieces(half, Space()), *EVER, half, Space(), 10)
    assert fast.index.work.candidates - before < len(world) / 10  # half of them are in the region


def test_selective_queries_read_little(towns: tuple[list[Row], Segment, Segment]) -> None:
    world, fast, _ = towns
    config, space = config_of(), Space()
    rng = np.random.default_rng(8)
    for _ in range(20):
        row = world[int(rng.integers(0, len(world)))]
        box = np.array([[row.lon - 0.02, row.lat - 0.02, row.lon + 0.02, row.lat + 0.02]])
        words = sorted(row.text.split(), key=lambda w: int(w[1:]))
        before = fast.index.work.candidates
        found = fast.index.range(conjuncts_of(parse(words[-1]), fast, config), box, *EVER)
        assert fast.index.work.candidates - before <= len(world) / 100 + 4 * found.size
        before = fast.index.work.candidates
        fast.index.nearest(conjuncts_of(parse(words[0]), fast, config), (row.lon, row.lat), 5, *EVER, space)
        assert fast.index.work.candidates - before < len(world) / 40
    outside = fast.index.work.candidates
    assert fast.index.range([((), ())], np.array([[0.0, 89.5, 1.0, 90.0]]), *EVER).size == 0
    assert fast.index.range([((), ())], np.array([[-180.0, -90.0, 180.0, 90.0]]), 100, 200).size == 0
    assert fast.index.work.candidates == outside


def test_many_answers_outgrow_every_buffer(towns: tuple[list[Row], Segment, Segment]) -> None:
    _, fast, slow = towns
    config = config_of()
    for words in ("w0 OR w1 OR w2 NOT w3", "", "w0 NOT w399", "w0"):
        answers = []
        for segment in (fast, slow):
            conjuncts = conjuncts_of(parse(words), segment, config)
            two = np.array([[-180.0, -90.0, -20.0, 90.0], [-19.0, -90.0, 180.0, 90.0]])
            found = segment.index.range(conjuncts, two, *EVER)
            near, mm = segment.index.nearest(conjuncts, (179.9, 10.0), 3000, *EVER, config.space)
            every, _ = segment.index.nearest(conjuncts, (0.0, 90.0), 10**9, *EVER, config.space)
            answers.append((ids_of(segment, found), ids_of(segment, near), mm.tolist(), every.size))
        assert answers[0] == answers[1]
        assert len(answers[0][0]) > 1000


def test_a_cover_that_runs_out_of_room_is_still_a_cover(towns: tuple[list[Row], Segment, Segment]) -> None:
    _, fast, slow = towns
    arrays = fast.index._arrays  # type: ignore[attr-defined]
    box = np.array([-100.0, -60.0, 120.0, 70.0])
    box.flags.writeable = False
    inside = set(fast.index.range([((), ())], box[None, :], *EVER).tolist())
    assert len(inside) == slow.index.range([((), ())], box[None, :], *EVER).size
    for room in (1, 2, 5, 400):
        runs = np.empty((room, 3), np.int64)
        n = _kernels.cover(arrays, box, 4, 64, runs)
        assert n <= room
        covered: set[int] = set()
        for a, b, inner in runs[:n].tolist():
            assert not inner or set(range(a, b)) <= inside
            covered |= set(range(a, b))
        assert inside <= covered


def test_boxes_of_another_shape_never_reach_a_kernel(towns: tuple[list[Row], Segment, Segment]) -> None:
    _, fast, _ = towns
    fast.index.range([((), ())], np.array([[0.0, 0.0, 1.0, 1.0]]), *EVER)
    for wrong in (np.zeros(4), np.zeros((1, 3)), np.zeros((1, 1, 4))):
        with pytest.raises(ValueError, match="four sides"):
            fast.index.range([((), ())], wrong, *EVER)


def test_one_place_and_no_terms(tmp_path: Path) -> None:
    config = config_of()
    world = [Row(5.0, 5.0, i, "") for i in range(300)]
    segment = segment_of(world, config, "postings")
    assert segment.index.range([((), ())], np.array([[5.0, 5.0, 5.0, 5.0]]), 10, 19).size == 10
    assert segment.index.nearest([((), ())], (5.0, 6.0), 3, *EVER, config.space)[0].size == 300
    place = Box(0, 0, 9, 9)
    assert segment.index.top_terms(pieces(place, Space()), *EVER, place, Space(), 3).terms.size == 0
    assert segment.index.counts_of(np.empty(0, np.int64), pieces(place, Space()), *EVER, place, Space()).size == 0


def test_a_mapped_index_uses_the_same_machine_code(tmp_path: Path) -> None:
    config, world = config_of(), town(40)
    data = build_segment(columns_of(world, config), table_of(world), "postings")
    write_array_file(tmp_path / "s.sl", data.arrays, data.meta, durable=False)
    box = Box(-170, -80, 170, 80)
    for segment in (Segment.from_data(data), Segment.from_file(ArrayFile.open(tmp_path / "s.sl"))):
        segment.index.range([((0,), (1,))], pieces(box, Space()), *EVER)
        for asked in (((0,), ()), ((0,), (1,))):
            segment.index.nearest([asked], (0.0, 0.0), 2, *EVER, Space())
        for k in (1, 500):
            segment.index.top_terms(pieces(box, Space()), *EVER, box, Space(), k)
        segment.index.counts_of(np.arange(80, 90), pieces(box, Space()), *EVER, box, Space())
    for kernel in (
        _kernels.range_rows,
        nearest.nearest_of_term,
        nearest.nearest_rows,
        counting.top_terms,
        counting.posting_counts,
        building.distribute,
        building.settle,
    ):
        assert len(getattr(kernel, "signatures", [0])) == 1


def square(geographic: bool, at: tuple[float, float], x: float, y: float) -> float:
    """As a search computes it, among others: several at once take other instructions than one."""
    h = np.empty(9)
    measures.squares_of(geographic, *at, math.cos(math.radians(at[1])), 9, np.full(9, x), np.full(9, y), h)
    assert (h == h[0]).all()
    return float(h[0])


def distance(geographic: bool, at: tuple[float, float], x: float, y: float) -> int:
    return int(haversine_mm(*at, x, y) if geographic else planar_mm(*at, x, y))


@given(
    st.lists(worlds.rows, min_size=1, max_size=20),
    st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
    st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
    st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
)
@settings(max_examples=200, deadline=None)
def test_bounds_are_below_distances(
    world: list[Row], a: tuple[float, float], b: tuple[float, float], at: tuple[float, float]
) -> None:
    west, east, south, north = min(a[0], b[0]), max(a[0], b[0]), min(a[1], b[1]), max(a[1], b[1])
    for geographic in (True, False):
        cosine = float(np.cos(np.radians(at[1])))
        bound = measures.lower_bound(geographic, *at, cosine, west, south, east, north)
        for row in world:
            x, y = float(np.clip(row.lon, west, east)), float(np.clip(row.lat, south, north))
            exact = square(geographic, at, x, y)
            assert bound <= measures.beyond(geographic, exact)
            # What rounds to the same distance is not left out: a point up to a millimetre farther.
            mm = distance(geographic, at, x, y)
            for other in world:
                if distance(geographic, at, other.lon, other.lat) <= mm:
                    assert square(geographic, at, other.lon, other.lat) <= measures.beyond(geographic, exact)


@given(
    st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
    st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
    st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90)), min_size=1, max_size=20),
    st.integers(0, 31),
)
@settings(max_examples=300, deadline=None)
def test_what_is_outside_a_cell_is_beyond_its_bound(
    corner: tuple[float, float], at: tuple[float, float], others: list[tuple[float, float]], depth: int
) -> None:
    """Points are in a cell, as rows are, by the quantised place."""
    extent = np.array([-180.0, -90.0, max(-179.0, corner[0]), max(-89.0, corner[1])])
    size = np.int64(1) << (31 - depth)

    def cell(x: float, y: float) -> tuple[int, int]:
        return (
            int(quantise_one(x, extent[0], extent[2])) & -int(size),
            int(quantise_one(y, extent[1], extent[3])) & -int(size),
        )

    for geographic in (True, False):
        view = measures.view_of(extent, geographic, *at)
        x_cell, y_cell = cell(*at)
        bound = measures.outside_bound(view, np.int64(x_cell), np.int64(y_cell), size)
        for x, y in others:
            if extent[0] <= x <= extent[2] and extent[1] <= y <= extent[3] and cell(x, y) != cell(*at):
                assert bound <= measures.beyond(geographic, square(geographic, at, x, y))


@given(
    st.tuples(st.floats(-180, 180), st.floats(-90, 90)),
    st.floats(0, 2 * math.pi),
    st.floats(0, 1),
    st.floats(-1e-8, 1e-8),
)
@settings(max_examples=500, deadline=None)
def test_points_a_millimetre_apart_are_not_told_apart(
    at: tuple[float, float], turn: float, far: float, nudge: float
) -> None:
    size = far**4 * 150
    x = min(180.0, max(-180.0, at[0] + size * math.cos(turn)))
    y = min(90.0, max(-90.0, at[1] + size * math.sin(turn) / 2))
    other = min(90.0, max(-90.0, y + nudge))
    for geographic in (True, False):
        if distance(geographic, at, x, other) <= distance(geographic, at, x, y):
            assert square(geographic, at, x, other) <= measures.beyond(geographic, square(geographic, at, x, y))
        assert measures.millimetres(geographic, *at, x, y, square(geographic, at, x, y)) == distance(
            geographic, at, x, y
        )


def test_distances_of_many_pairs_are_those_of_the_definition() -> None:
    """Near and far, beside the poles and the antimeridian; the slack that decides which follow from ``h`` is huge."""
    rng = np.random.default_rng(5)
    for size in (1e-7, 1e-3, 1.0, 60.0, 180.0):
        lon = rng.uniform(-180, 180, 4000)
        lat = rng.choice([0.0, 45.0, 89.9999, -90.0], 4000) * rng.choice([1.0, 0.99, 0.7], 4000)
        x = (lon + rng.uniform(-size, size, 4000) + 180) % 360 - 180
        y = np.clip(lat + rng.uniform(-size, size, 4000) / 2, -90, 90)
        for i in range(4000):
            at = (float(lon[i]), float(lat[i]))
            h = square(True, at, float(x[i]), float(y[i]))
            mm = distance(True, at, float(x[i]), float(y[i]))
            assert measures.millimetres(True, *at, float(x[i]), float(y[i]), h) == mm
            if h <= 0.5:
                assert abs(2 * 6371008.8e3 * math.asin(math.sqrt(h)) - mm) < 0.5001
