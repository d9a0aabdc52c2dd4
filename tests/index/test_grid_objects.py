"""The grid over objects: small grids answer like a loop, and only the cells that matter are read."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.index.segment_cases import opened_with_terms, with_params

from sightline.geo.bounds import pieces
from sightline.index.objects.grid import GridIndex, GridParams
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.testing.object_indexes import OBJECT_CHECKS
from sightline.testing.small_worlds import Row

WORLD = Box(-180, -90, 180, 90)


opened = partial(opened_with_terms, GridIndex)


@pytest.mark.parametrize("check", OBJECT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("params", [GridParams(side, 1) for side in (1, 2, 4, 64)])
def test_small_grids_conform(check, params: GridParams) -> None:
    check(with_params(GridIndex, params))


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
