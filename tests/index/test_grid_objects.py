"""The grid over objects: small grids answer like a loop, and only the cells that matter are read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_worlds import (
    LATS,
    LONS,
    PLANE,
    Row,
    columns_of,
    config_of,
    naive_distance,
    naive_inside,
    planar_regions,
    regions,
    rows,
)

from sightline.geo.bounds import pieces
from sightline.index.objects.grid import GridIndex, GridParams
from sightline.model.regions import Box, Region
from sightline.model.space import Space

ALWAYS = (-(2**63), 2**63 - 1)
WORLD = Box(-180, -90, 180, 90)
worlds = st.lists(rows, min_size=1, max_size=40)
shapes = st.builds(GridParams, st.sampled_from([1, 2, 4, 64]), st.just(1))
spans = st.tuples(st.integers(-1, 21), st.integers(-1, 21))
OR = [((0,), ()), ((1,), (0,)), ((), (0, 1))]  # everything, each row by exactly one conjunct


def opened(world: list[Row], params: GridParams | None = None) -> tuple[GridIndex, list[set[int]], list[Row]]:
    """A reader, and the term ids and places of its rows in its order."""
    objects = columns_of(world, config_of())
    order, arrays = GridIndex.build(objects, (-180, -90, 180, 90), params)
    offsets, ids = objects.terms.offsets, objects.terms.ids
    terms = [set(ids[offsets[i] : offsets[i + 1]].tolist()) for i in order.tolist()]
    return GridIndex.open(lambda name: arrays[name], len(world)), terms, [world[i] for i in order.tolist()]


@given(world=worlds, params=shapes, region=regions, span=spans, either=st.booleans())
@settings(max_examples=120, deadline=None)
def test_small_grids_range(
    world: list[Row], params: GridParams, region: Region, span: tuple[int, int], either: bool
) -> None:
    reader, terms, placed = opened(world, params)
    boxes = pieces(region, Space())
    asked = OR if either and len(set().union(*terms)) > 1 else [((), ())]
    expected = [
        i
        for i, row in enumerate(placed)
        if span[0] <= row.ts <= span[1]
        and any(w <= row.lon <= e and s <= row.lat <= n for w, s, e, n in boxes.tolist())
    ]
    assert reader.range(asked, boxes, *span).tolist() == expected
    if terms[0]:
        pair = tuple(sorted(terms[0])[:2])
        assert reader.range([(pair, ())], boxes, *span).tolist() == [i for i in expected if terms[i].issuperset(pair)]


@given(
    world=worlds,
    params=shapes,
    span=spans,
    k=st.integers(1, 8),
    planar=st.booleans(),
    at=st.tuples(st.sampled_from(LONS), st.sampled_from(LATS)),
)
@settings(max_examples=120, deadline=None)
def test_small_grids_nearest(
    world: list[Row], params: GridParams, span: tuple[int, int], k: int, planar: bool, at: tuple[float, float]
) -> None:
    space = PLANE if planar else Space()
    reader, terms, placed = opened(world, params)
    asked = [((min(terms[0]),), ())] if terms[0] else [((), ())]
    near = sorted(
        (naive_distance(space, at, (row.lon, row.lat)), i)
        for i, row in enumerate(placed)
        if span[0] <= row.ts <= span[1] and terms[i].issuperset(asked[0][0])
    )
    for lo, hi in (span, ALWAYS):
        if (lo, hi) == ALWAYS:
            near = sorted(
                (naive_distance(space, at, (row.lon, row.lat)), i)
                for i, row in enumerate(placed)
                if terms[i].issuperset(asked[0][0])
            )
        found, mm = reader.nearest(asked, at, k, lo, hi, space)
        expected = [pair for pair in near if len(near) <= k or pair[0] <= near[k - 1][0]]
        assert list(zip(mm.tolist(), found.tolist(), strict=True)) == expected


@given(world=worlds, params=shapes, region=st.one_of(regions, planar_regions), span=spans)
@settings(max_examples=120, deadline=None)
def test_small_grids_counts(world: list[Row], params: GridParams, region: Region, span: tuple[int, int]) -> None:
    space = PLANE if region.planar else Space()
    reader, terms, placed = opened(world, params)
    chosen = [i for i, row in enumerate(placed) if span[0] <= row.ts <= span[1] and naive_inside(region, row, space)]
    counts = reader.term_counts(pieces(region, space), *span, region, space)
    assert counts.tolist() == [sum(t in terms[i] for i in chosen) for t in range(counts.size)]
    top = reader.top_terms(pieces(region, space), *span, region, space, 2)
    assert sorted(top.counts.tolist(), reverse=True) == sorted(counts[counts > 0].tolist(), reverse=True)[:2]
    assert counts[top.terms].tolist() == top.counts.tolist()
    assert top.bound == sorted([0, 0, 0, *counts.tolist()], reverse=True)[2]


def lattice() -> list[Row]:
    """128 x 128 points, four in every cell of the largest grid; `north` or `south` and `all`."""
    return [Row(x / 8, y / 8, 0, "all " + ("north" if y >= 64 else "south")) for y in range(128) for x in range(128)]


def test_only_met_cells_are_read() -> None:
    world = lattice()
    reader, terms, placed = opened(world, GridParams(64, 4))
    north = max(
        set().union(*terms), key=lambda t: min((r.lat for r, own in zip(placed, terms, strict=True) if t in own))
    )
    # A box of 2 x 3 cells, in the north and in the south.
    for south, expected in ((10.05, 24), (2.05, 0)):
        before = reader.nodes_opened, reader.work.candidates
        box = np.array([[5.05, south, 5.4, south + 0.7]])
        found = reader.range([((north,), ())], box, 0, 0)
        inside = [i for i, r in enumerate(placed) if 5.05 <= r.lon <= 5.4 and south <= r.lat <= south + 0.7]
        assert found.tolist() == (inside if expected else [])
        assert reader.nodes_opened - before[0] <= 12
        assert reader.work.candidates - before[1] <= (48 if expected else 0)
    # Two overlapping pieces read a cell once.
    before = reader.work.candidates
    twice = np.array([[5.05, 10.05, 5.4, 10.75]] * 2)
    assert reader.range([((north,), ())], twice, 0, 0).size > 0
    assert reader.work.candidates - before <= 48
    # The nearest: some bands, cells around the place.
    before = reader.work.candidates
    assert reader.nearest([((), ())], (8.0, 8.0), 3, 0, 0, Space())[1][0] == 0
    assert reader.work.candidates - before <= 64


def test_cells_inside_are_counted_by_their_lists() -> None:
    reader, terms, placed = opened(lattice(), GridParams(64, 4))
    region = Box(1.05, 1.05, 14.05, 14.05)
    counts = reader.term_counts(pieces(region, Space()), 0, 0, region, Space())
    inside = [terms[i] for i, r in enumerate(placed) if 1.05 <= r.lon <= 14.05 and 1.05 <= r.lat <= 14.05]
    assert counts.tolist() == [sum(t in own for own in inside) for t in range(counts.size)]
    assert reader.tables_added > 2000
    assert reader.work.candidates < len(inside) // 10


def test_rows_in_one_place_and_one_crowded_cell() -> None:
    reader, _, _ = opened([Row(3, 4, i % 20, "rain") for i in range(1000)])
    assert reader.range([((0,), ())], pieces(WORLD, Space()), 0, 4).size == 250
    assert reader.nearest([((0,), ())], (3.0, 4.0), 2, 0, 4, Space())[0].size == 250
    crowded, _, placed = opened([Row(0, 0, 0, "rain")] * 3000 + [Row(90, 45, 0, "rain")], GridParams(64, 1))
    assert crowded.range([((0,), ())], np.array([[1.0, 1.0, 90.0, 45.0]]), 0, 0).tolist() == [len(placed) - 1]
    assert crowded.work.candidates <= 1


@pytest.mark.parametrize(("side", "rows_per_cell"), [(0, 1), (65, 1), (8, 0)])
def test_impossible_grids_are_refused(side: int, rows_per_cell: int) -> None:
    with pytest.raises(ValueError, match="cells per axis"):
        GridParams(side, rows_per_cell)
