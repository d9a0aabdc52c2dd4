"""Uniform grid over the objects with inverted lists per cell: a baseline for the other indexes of objects.

Rows are sorted by cell; a cell has an inverted list per term. PS2Stream section IV-D has such lists over queries, on a
grid of 2^6 x 2^6 in its section VI. SRQ reads the lists of the cells a box meets. SKQ goes best first, by the least
distance to the rows of a band of cells, then of a cell. STQ adds the lengths of the lists of cells wholly inside and
reads the rows of those on the boundary.

Deviations: the grid covers the box of the segment's own rows, and a small segment has fewer cells, so that it has
16 rows per cell or more on average. Cells are equal in degrees wherever the data is: of a crowded cell a small box
reads the whole lists.

Memory, of a million synthetic posts with 11 terms each: 135 bytes per object (`postings`: 130); of 410,161 map notes
139 (138).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sightline.flat.arrays import F64, I64, frozen, offsets_of
from sightline.index.objects import grid_kernels as _kernels
from sightline.index.objects.blocks._kernels import BlockArrays
from sightline.index.objects.blocks.arrays import NO_TABLES, asked_of, build_blocks, open_blocks
from sightline.index.objects.blocks.reader import BlockReader
from sightline.index.protocol import Conjunct, ObjectColumns

__all__ = ["GridIndex", "GridParams"]


@dataclass(frozen=True, slots=True)
class GridParams:
    """Size of the grid."""

    side: int = 64  # cells per axis, 1 to 64; PS2Stream section VI
    rows_per_cell: int = 16  # on average at least, or the grid is coarser

    def __post_init__(self) -> None:
        if not (1 <= self.side <= 64 and self.rows_per_cell >= 1):
            raise ValueError(f"a grid has 1 to 64 cells per axis and rows: {self.side}, {self.rows_per_cell}")


class GridIndex(BlockReader):
    """Frozen grid over one segment."""

    def __init__(self, arrays: BlockArrays, grid: F64, side: int, terms: int) -> None:
        super().__init__(arrays, NO_TABLES, side, terms)
        self._grid = grid

    @classmethod
    def build(
        cls, objects: ObjectColumns, bounds: tuple[float, float, float, float], params: GridParams | None = None
    ) -> tuple[I64, dict[str, Any]]:
        """Sort the rows by cell and invert every cell; the grid covers the rows, not ``bounds``."""
        params = params or GridParams()
        side = 1
        while 2 * side <= params.side and 4 * side * side * params.rows_per_cell <= len(objects):
            side *= 2
        grid = frozen(_grid(objects.lon, objects.lat, side), np.float64)
        cells = _kernels.cells_of(frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), grid, side)
        order: I64 = np.argsort(cells, kind="stable")
        firsts = offsets_of(cells[order], side * side)
        levels = np.array([0, side * side, side * side + side])
        blocks = build_blocks(objects, order, firsts, levels, side, np.int32)
        shape = np.array([side, len(objects.terms.dictionary)])
        return order, {**blocks._asdict(), "grid": grid, "shape": shape}

    @classmethod
    def open(cls, arrays: Callable[[str], Any], rows: int) -> Self:
        """Reader over (mapped) arrays."""
        side, terms = (int(v) for v in arrays("shape"))
        return cls(open_blocks(arrays), frozen(arrays("grid"), np.float64), side, terms)

    def range(self, conjuncts: Sequence[Conjunct], pieces: F64, lo_us: int, hi_us: int) -> I64:
        """Rows inside any piece and the time that satisfy any conjunct, ascending and distinct."""
        boxes = frozen(pieces, np.float64)
        rows, opened, looked = _kernels.range_rows(
            self._arrays, self._grid, self._fanout, asked_of(conjuncts), boxes, lo_us, hi_us
        )
        self._tally(opened, looked)
        return rows if len(conjuncts) < 2 and boxes.shape[0] < 2 else np.sort(rows)


def _grid(lon: F64, lat: F64, side: int) -> list[float]:
    """Origin and cells per unit, in x and in y; one column or row where the rows do not differ."""
    extent = [float(np.ptp(axis)) for axis in (lon, lat)]
    scale = [side / size if size > 1e-9 else 0.0 for size in extent]
    return [float(lon.min()), float(lat.min()), *scale]
