"""Lookups in a raster of rectangular leaves.

A cell is (column, row), rows from the south; a range of cells and the span of a leaf are rows of (left, bottom, right,
top), ends included. Both ways from coordinates to cells are monotone and clamped: coordinates that are ordered get
cells that are ordered, so a point of a closed box falls in a cell of the box's range.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel
from sightline.partition._kernels import cell_of, cells_met

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@kernel
def slot_of(value: float, cuts: Floats) -> int:
    """How many of the ascending cuts are at or before a coordinate: the cell right of a cut includes it."""
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def leaves_by_grid(lon: Floats, lat: Floats, bounds: Floats, raster: Ints) -> Ints:
    """Leaf of every point, cells being equal (Tornado 3.1: O(1))."""
    rows, columns = raster.shape
    out = np.empty(len(lon), np.int32)
    for i in range(len(lon)):
        column = cell_of(lon[i], bounds[0], bounds[2], columns)
        out[i] = raster[cell_of(lat[i], bounds[1], bounds[3], rows), column]
    return out


@kernel
def leaves_by_cuts(lon: Floats, lat: Floats, x_cuts: Floats, y_cuts: Floats, raster: Ints) -> Ints:
    """Leaf of every point, cells being between cuts."""
    out = np.empty(len(lon), np.int32)
    for i in range(len(lon)):
        out[i] = raster[slot_of(lat[i], y_cuts), slot_of(lon[i], x_cuts)]
    return out


@kernel
def ranges_by_grid(box: Floats, bounds: Floats, columns: int, rows: int) -> Ints:
    """Cells that every closed box meets, cells being equal."""
    out = np.empty((len(box), 4), np.int32)
    for i in range(len(box)):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = cells_met(box[i], bounds, columns, rows)
    return out


@kernel
def ranges_by_cuts(box: Floats, x_cuts: Floats, y_cuts: Floats) -> Ints:
    """Cells that every closed box meets, cells being between cuts."""
    out = np.empty((len(box), 4), np.int32)
    for i in range(len(box)):
        out[i, 0] = slot_of(box[i, 0], x_cuts)
        out[i, 1] = slot_of(box[i, 1], y_cuts)
        out[i, 2] = slot_of(box[i, 2], x_cuts)
        out[i, 3] = slot_of(box[i, 3], y_cuts)
    return out


@kernel
def dominant_cell(span: Ints, cells: Ints) -> tuple[int, int]:
    """Top left cell of a leaf inside a range that it meets (Tornado, Def. 2)."""
    return max(span[0], cells[0]), min(span[3], cells[3])


@kernel
def neighbour_search(
    cells: Ints, raster: Ints, spans: Ints, seen: Longs, mark: int, stack: Ints, found: Ints
) -> tuple[int, int]:
    """Leaves that meet a range, into ``found``: their number and the number of pops (Tornado, Alg. 1).

    The search starts in the top left cell of the range and follows, from the dominant cell of every leaf, the pointer
    to the cell right of the leaf in its row and to the cell below the leaf in its column. ``seen[leaf] == mark`` stands
    for the Boolean array of visited leaves, which need not be cleared. A leaf pushes two cells when it is first popped,
    so there are 2 N_p + 1 pops. The dominant cell is taken when a cell is popped: a pointer may lead out of the grid.

    Every leaf of the range is reached, in any tiling by rectangles. Let d be its dominant cell, not the start. If d is
    in the top row of the range, the leaf left of d has its dominant cell in that row too and points right to d. If d is
    in the left column, the leaf above does so from above. Else take the leaf above d: it begins in d's column and
    points down to d, or it reaches further left; then the leaf left of d has its top row in d's row and points right.
    """
    stack[0, 0], stack[0, 1] = cells[0], cells[3]
    depth, count, pops = 1, 0, 0
    while depth > 0:
        depth -= 1
        pops += 1
        column, row = stack[depth, 0], stack[depth, 1]
        if column > cells[2] or row < cells[1]:
            continue  # pointers leave a range to the right or below only
        leaf = raster[row, column]
        if seen[leaf] == mark:
            continue
        seen[leaf] = mark
        found[count] = leaf
        count += 1
        span = spans[leaf]
        left, top = dominant_cell(span, cells)
        stack[depth, 0], stack[depth, 1] = left, span[1] - 1
        stack[depth + 1, 0], stack[depth + 1, 1] = span[2] + 1, top
        depth += 2
    return count, pops


@kernel
def visited_leaves(query: Ints, cells: Ints, raster: Ints, spans: Ints) -> tuple[Ints, Ints, int]:
    """Pairs (query, leaf) that meet, each once, sorted; and the pops. ``query`` ascends, ``cells`` are its ranges."""
    leaves = len(spans)
    seen, given = np.full(leaves, -1, np.int64), np.full(leaves, -1, np.int64)
    stack, found = np.empty((leaves + 2, 2), np.int32), np.empty(leaves, np.int32)
    out_query, out_leaf = np.empty(leaves + 64, np.int32), np.empty(leaves + 64, np.int32)
    n, first, pops = 0, 0, 0
    for p in range(len(query)):
        if p > 0 and query[p] != query[p - 1]:
            out_leaf[first:n].sort()
            first = n
        # Every range is searched with marks of its own: a leaf met by an earlier range of the query must not stop it.
        count, popped = neighbour_search(cells[p], raster, spans, seen, p, stack, found)
        pops += popped
        if n + count > len(out_query):
            more_query, more_leaf = np.empty(2 * n + leaves, np.int32), np.empty(2 * n + leaves, np.int32)
            more_query[:n], more_leaf[:n] = out_query[:n], out_leaf[:n]
            out_query, out_leaf = more_query, more_leaf
        for i in range(count):
            if given[found[i]] != query[p]:
                given[found[i]] = query[p]
                out_query[n], out_leaf[n] = query[p], found[i]
                n += 1
    out_leaf[first:n].sort()
    return out_query[:n], out_leaf[:n], pops
