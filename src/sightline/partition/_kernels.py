"""Routing lookups over flat arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@kernel
def _cell(value: float, low: float, high: float, side: int) -> int:
    # Monotone in value, clamped: a point and a box edge that are ordered stay ordered, so routes are complete.
    cell = int((value - low) * (side / (high - low)))
    return min(max(cell, 0), side - 1)


@kernel
def cells_of(lon: Floats, lat: Floats, bounds: Floats, side: int) -> Ints:
    """Row-major cell of every point."""
    out = np.empty(len(lon), np.int32)
    for i in range(len(lon)):
        cx = _cell(lon[i], bounds[0], bounds[2], side)
        cy = _cell(lat[i], bounds[1], bounds[3], side)
        out[i] = cy * side + cx
    return out


@kernel
def workers_of_boxes(
    query: Ints, box: Floats, bounds: Floats, side: int, leaf_worker: Ints, queries: int, workers: int
) -> npt.NDArray[np.bool_]:
    """stands[q, w]: a cell of worker w meets a box of query q."""
    stands = np.zeros((queries, workers), np.bool_)
    for p in range(len(query)):
        x0 = _cell(box[p, 0], bounds[0], bounds[2], side)
        x1 = _cell(box[p, 2], bounds[0], bounds[2], side)
        y0 = _cell(box[p, 1], bounds[1], bounds[3], side)
        y1 = _cell(box[p, 3], bounds[1], bounds[3], side)
        met = 0
        for cy in range(y0, y1 + 1):
            for cx in range(x0, x1 + 1):
                worker = leaf_worker[cy * side + cx]
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
        for cy in range(_cell(box[p, 1], bounds[1], bounds[3], side), _cell(box[p, 3], bounds[1], bounds[3], side) + 1):
            for cx in range(
                _cell(box[p, 0], bounds[0], bounds[2], side), _cell(box[p, 2], bounds[0], bounds[2], side) + 1
            ):
                cell = cy * side + cx
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
