"""Cells of a spatial pyramid, and the hash of (cell, term).

Level ``l`` cuts the space into 4^l x 4^l cells. The column of a point is computed once, at the finest level, and
shifted for the others; so levels nest exactly, and since the column is monotone in the coordinate, a closed box holds
no point outside the cells from its first to its last column and row. What lies outside the space falls into edge cells.
"""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.geo._kernels import step_of
from sightline.jit import kernel

STEP = 2  # a cell has 4 x 4 children; with 2 x 2 an object probes twice as many levels
DEEPEST = 6  # the last level
FINEST = STEP * DEEPEST  # 4096 x 4096 cells: 10 km of the equator
TERM_BITS = 31  # of a key; the cell, with its level, has 27 more


@kernel
def fine_cell(x: float, origin: float, scale: float) -> int:
    """Column (or row) of ``x`` at the finest level, clamped."""
    return step_of(x, origin, scale, (1 << FINEST) - 1)


@kernel
def box_cells(box: F64, grid: F64) -> tuple[int, int, int, int]:
    """First and last column, first and last row of a box at the finest level."""
    return (
        fine_cell(box[0], grid[0], grid[2]),
        fine_cell(box[2], grid[0], grid[2]),
        fine_cell(box[1], grid[1], grid[3]),
        fine_cell(box[3], grid[1], grid[3]),
    )


@kernel
def own_level(x1: int, x2: int, y1: int, y2: int, most: int) -> int:
    """The deepest level at which a box (as finest cells) meets at most ``most`` cells."""
    level = DEEPEST
    shift = 0
    while ((x2 >> shift) - (x1 >> shift) + 1) * ((y2 >> shift) - (y1 >> shift) + 1) > most:
        level -= 1
        shift += STEP
    return level


@kernel
def cell_code(level: int, x: int, y: int) -> int:
    """Number of the cell at ``level`` that holds a finest cell; distinct over all levels."""
    shift = STEP * (DEEPEST - level)
    return (level << 2 * FINEST) | ((y >> shift) << FINEST) | (x >> shift)


@kernel
def level_of(cell: int) -> int:
    """Level of a cell."""
    return cell >> 2 * FINEST


@kernel
def pair_home(mask: int, cell: int, term: int) -> np.int64:
    """The row of a table of ``mask + 1`` where the search for (cell, term) begins."""
    # Products of 31-bit halves: nothing leaves int64, so plain Python computes the same.
    h = (np.int64(cell) * 0x2545F491) ^ (np.int64(term) * 0x5BD1E995)
    h = ((h ^ (h >> 31)) & 0x7FFFFFFF) * 0x27D4EB2F
    return np.int64((h ^ (h >> 31)) & mask)


@kernel
def pair_slot(slots: I64, cell: int, term: int) -> int:
    """Row of the table that holds (cell, term), or the empty one (key -1) where it would stand."""
    mask = slots.shape[0] - 1
    key = (np.int64(cell) << TERM_BITS) | np.int64(term)
    slot = pair_home(mask, cell, term)
    while slots[slot, 0] != key and slots[slot, 0] >= 0:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def pair_key(cell: int, term: int) -> int:
    """What the table stores for (cell, term)."""
    return int((np.int64(cell) << TERM_BITS) | np.int64(term))
