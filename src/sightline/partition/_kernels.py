"""Routing lookups over flat arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@kernel
def cell_of(value: float, low: float, high: float, side: int) -> int:
    """Which of ``side`` equal cells a coordinate is in; the outermost ones have all that lies beyond.

    Monotone: a point and an edge of a box that are ordered stay ordered, so routes are complete. Clamped before it
    becomes an integer: the box of a region may reach far out of a planar space.
    """
    if not value > low:
        return 0
    if value >= high:
        return side - 1
    # A quotient of at most 1, then a product: neither overflows however small the space is.
    return min(int((value - low) / (high - low) * side), side - 1)


@kernel
def cells_met(box: Floats, bounds: Floats, columns: int, rows: int) -> tuple[int, int, int, int]:
    """Cells that a closed box meets: left column, bottom row, right column, top row, ends included."""
    left = cell_of(box[0], bounds[0], bounds[2], columns)
    bottom = cell_of(box[1], bounds[1], bounds[3], rows)
    right = cell_of(box[2], bounds[0], bounds[2], columns)
    top = cell_of(box[3], bounds[1], bounds[3], rows)
    return left, bottom, right, top


@kernel
def cells_of(lon: Floats, lat: Floats, bounds: Floats, side: int) -> Ints:
    """Row-major cell of every point."""
    out = np.empty(len(lon), np.int32)
    for i in range(len(lon)):
        row = cell_of(lat[i], bounds[1], bounds[3], side)
        out[i] = row * side + cell_of(lon[i], bounds[0], bounds[2], side)
    return out


@kernel
def workers_of_boxes(
    query: Ints, box: Floats, bounds: Floats, side: int, leaf_worker: Ints, queries: int, workers: int
) -> npt.NDArray[np.bool_]:
    """stands[q, w]: a cell of worker w meets a box of query q."""
    stands = np.zeros((queries, workers), np.bool_)
    for p in range(len(query)):
        left, bottom, right, top = cells_met(box[p], bounds, side, side)
        met = 0
        for row in range(bottom, top + 1):
            for column in range(left, right + 1):
                worker = leaf_worker[row * side + column]
                if not stands[query[p], worker]:
                    stands[query[p], worker] = True
                    met += 1
            if met == workers:
                break
    return stands


@kernel
def cells_of_boxes(query: Ints, box: Floats, bounds: Floats, side: int) -> tuple[Ints, Ints]:
    """Pairs (query, cell) that meet, each once, sorted; ``query`` ascends."""
    out_query, out_cell = np.empty(64, np.int32), np.empty(64, np.int32)
    seen = np.full(side * side, -1, np.int32)
    n, first = 0, 0
    for p in range(len(query)):
        if p > 0 and query[p] != query[p - 1]:
            out_cell[first:n].sort()
            first = n
        left, bottom, right, top = cells_met(box[p], bounds, side, side)
        for row in range(bottom, top + 1):
            for cell in range(row * side + left, row * side + right + 1):
                if seen[cell] == query[p]:
                    continue
                seen[cell] = query[p]
                if n == len(out_query):
                    more_query, more_cell = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
                    more_query[:n], more_cell[:n] = out_query, out_cell
                    out_query, out_cell = more_query, more_cell
                out_query[n], out_cell[n] = query[p], cell
                n += 1
    out_cell[first:n].sort()
    return out_query[:n], out_cell[:n]


@kernel
def owner_by_place(lon: Floats, lat: Floats, workers: int) -> Ints:
    """A worker per point, by a mix of the coordinates (-0.0 and 0.0 are one place)."""
    out = np.empty(len(lon), np.int32)
    for i in range(len(lon)):
        x = np.int64((lon[i] + 720.0) * 1e7)
        y = np.int64((lat[i] + 720.0) * 1e7)
        mixed = x * np.int64(0x9E3779B1) + y * np.int64(0x85EBCA77)
        mixed ^= mixed >> np.int64(29)
        out[i] = (mixed & np.int64(0x7FFFFFFF)) % workers
    return out


@kernel
def deal(costs: Floats, loads: Floats, taken: npt.NDArray[np.int64]) -> Ints:
    """Each cost, as they come, to the worker with the least load; ``loads`` and ``taken`` grow.

    Ties go to the worker that has taken fewer, then to the lower number.
    """
    out = np.empty(costs.shape[0], np.int32)
    for i in range(costs.shape[0]):
        best = 0
        for w in range(1, loads.shape[0]):
            if loads[w] < loads[best] or (loads[w] == loads[best] and taken[w] < taken[best]):
                best = w
        loads[best] += costs[i]
        taken[best] += 1
        out[i] = best
    return out
