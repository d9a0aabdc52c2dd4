"""Kernels of the grid: the cell of a point, and the range search over the cells of a box."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.geo._kernels import step_of
from sightline.index._kernels import Conjuncts
from sightline.index.objects.blocks._kernels import BlockArrays, block_rows, may_hold, meets
from sightline.jit import kernel

FIRST_ROOM = 64  # rows of the first output buffer; it at least doubles when full


@kernel
def cells_of(lon: F64, lat: F64, grid: F64, side: int) -> I64:
    """Cells of points, row by row of the grid."""
    out = np.empty(lon.shape[0], np.int64)
    for i in range(lon.shape[0]):
        out[i] = step_of(lat[i], grid[1], grid[3], side - 1) * side + step_of(lon[i], grid[0], grid[2], side - 1)
    return out


@kernel
def range_rows(
    index: BlockArrays, grid: F64, side: int, asked: Conjuncts, pieces: F64, lo: int, hi: int
) -> tuple[I64, int, int]:
    """Matching rows, those of one conjunct and piece ascending: (rows, cells opened, postings or rows looked at)."""
    spans = np.empty((pieces.shape[0], 4), np.int64)
    out = np.empty(FIRST_ROOM, np.int64)
    n, opened, looked = 0, 0, 0
    for p in range(pieces.shape[0]):
        for j in range(2):
            spans[p, 2 * j] = step_of(pieces[p, j], grid[j], grid[j + 2], side - 1)
            spans[p, 2 * j + 1] = step_of(pieces[p, j + 2], grid[j], grid[j + 2], side - 1)
        for row in range(spans[p, 2], spans[p, 3] + 1):
            for column in range(spans[p, 0], spans[p, 1] + 1):
                known = False  # an earlier piece met the cell, and its rows were tested for all pieces
                for q in range(p):
                    known |= spans[q, 0] <= column <= spans[q, 1] and spans[q, 2] <= row <= spans[q, 3]
                cell = row * side + column
                if known or not may_hold(index, cell, lo, hi) or not meets(index.boxes[cell], pieces):
                    continue
                opened += 1
                out, n, read = block_rows(index, cell, asked, pieces, lo, hi, out, n)
                looked += read
    return out[:n].copy(), opened, looked
