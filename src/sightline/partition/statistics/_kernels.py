"""Cells of boxes and points over flat arrays."""

from __future__ import annotations

import math

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.jit import kernel
from sightline.partition._kernels import cell_of

#: Edges of boxes that lie this near to an edge of a cell, in cells, lie on it.
_SNAP = 1e-6


@kernel
def count_points(lon: F64, lat: F64, bounds: F64, side: int) -> I64:
    """Points per cell, row-major from the south-west."""
    out = np.zeros(side * side, np.int64)
    for i in range(len(lon)):
        x = cell_of(lon[i], bounds[0], bounds[2], side)
        y = cell_of(lat[i], bounds[1], bounds[3], side)
        out[y * side + x] += 1
    return out


@kernel
def _add_rectangle(marks: I64, row: int, first: int, width: int, x0: int, y0: int, x1: int, y1: int, n: int) -> None:
    marks[row, first + y0 * width + x0] += n
    marks[row, first + y0 * width + x1 + 1] -= n
    marks[row, first + (y1 + 1) * width + x0] -= n
    marks[row, first + (y1 + 1) * width + x1 + 1] += n


@kernel
def mark_boxes(query: I32, box: F64, row: I64, bounds: F64, levels: int, marks: I64) -> None:
    """Count the cells of every level that each query overlaps, once per query.

    ``marks[row]`` holds, level after level, a (side + 1)^2 grid of differences: four numbers per box and level,
    however many cells it covers, and prefix sums give the counts. A query has one or two boxes; where two share
    cells, the shared rectangle is taken off again. Queries with ``row[q] < 0`` are left out.
    """
    side = 1 << levels
    for p in range(len(query)):
        r = row[query[p]]
        if r < 0:
            continue
        x0 = cell_of(box[p, 0], bounds[0], bounds[2], side)
        y0 = cell_of(box[p, 1], bounds[1], bounds[3], side)
        x1 = cell_of(box[p, 2], bounds[0], bounds[2], side)
        y1 = cell_of(box[p, 3], bounds[1], bounds[3], side)
        twin = p + 1 < len(query) and query[p + 1] == query[p]
        u0, v0, u1, v1 = x0, y0, x1, y1
        if twin:
            u0 = max(x0, cell_of(box[p + 1, 0], bounds[0], bounds[2], side))
            v0 = max(y0, cell_of(box[p + 1, 1], bounds[1], bounds[3], side))
            u1 = min(x1, cell_of(box[p + 1, 2], bounds[0], bounds[2], side))
            v1 = min(y1, cell_of(box[p + 1, 3], bounds[1], bounds[3], side))
        first = 0
        for level in range(levels + 1):
            up, width = levels - level, (1 << level) + 1
            _add_rectangle(marks, r, first, width, x0 >> up, y0 >> up, x1 >> up, y1 >> up, 1)
            if twin and u0 >> up <= u1 >> up and v0 >> up <= v1 >> up:
                _add_rectangle(marks, r, first, width, u0 >> up, v0 >> up, u1 >> up, v1 >> up, -1)
            first += width * width


@kernel
def covering_cell(west: float, south: float, east: float, north: float, bounds: F64, levels: int) -> int:
    """Number of the smallest cell of the pyramid that covers a box whose east and north edges are open."""
    side = 1 << levels
    sx, sy = side / (bounds[2] - bounds[0]), side / (bounds[3] - bounds[1])
    x0 = min(max(math.floor((west - bounds[0]) * sx + _SNAP), 0), side - 1)
    y0 = min(max(math.floor((south - bounds[1]) * sy + _SNAP), 0), side - 1)
    x1 = min(max(math.ceil((east - bounds[0]) * sx - _SNAP) - 1, x0), side - 1)
    y1 = min(max(math.ceil((north - bounds[1]) * sy - _SNAP) - 1, y0), side - 1)
    differing = (x0 ^ x1) | (y0 ^ y1)
    up = 0
    while differing > 0:
        differing >>= 1
        up += 1
    level = levels - up
    return int(((1 << (2 * level)) - 1) // 3 + ((y0 >> up) << level) + (x0 >> up))


@kernel
def covering_cells(boxes: F64, bounds: F64, levels: int) -> I32:
    """:func:`covering_cell` of many boxes."""
    out = np.empty(len(boxes), np.int32)
    for i in range(len(boxes)):
        out[i] = covering_cell(boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3], bounds, levels)
    return out
