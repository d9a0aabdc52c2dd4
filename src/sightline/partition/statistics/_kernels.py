"""Cells of boxes and points, and k-th distances, over flat arrays."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sightline.index.arrays import F64, I32, I64
from sightline.jit import kernel

#: Edges of boxes that lie this near to an edge of a cell, in cells, lie on it.
_SNAP = 1e-6


@kernel
def axis_cell(value: float, low: float, high: float, side: int) -> int:
    """Cell of a coordinate among ``side`` equal ones; monotone and clamped."""
    if not value > low:
        return 0
    if value >= high:
        return side - 1
    return min(int((value - low) / (high - low) * side), side - 1)


@kernel
def count_points(lon: F64, lat: F64, bounds: F64, side: int) -> I64:
    """Points per cell, row-major from the south-west."""
    out = np.zeros(side * side, np.int64)
    for i in range(len(lon)):
        x = axis_cell(lon[i], bounds[0], bounds[2], side)
        y = axis_cell(lat[i], bounds[1], bounds[3], side)
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
        x0 = axis_cell(box[p, 0], bounds[0], bounds[2], side)
        y0 = axis_cell(box[p, 1], bounds[1], bounds[3], side)
        x1 = axis_cell(box[p, 2], bounds[0], bounds[2], side)
        y1 = axis_cell(box[p, 3], bounds[1], bounds[3], side)
        twin = p + 1 < len(query) and query[p + 1] == query[p]
        u0, v0, u1, v1 = x0, y0, x1, y1
        if twin:
            u0 = max(x0, axis_cell(box[p + 1, 0], bounds[0], bounds[2], side))
            v0 = max(y0, axis_cell(box[p + 1, 1], bounds[1], bounds[3], side))
            u1 = min(x1, axis_cell(box[p + 1, 2], bounds[0], bounds[2], side))
            v1 = min(y1, axis_cell(box[p + 1, 3], bounds[1], bounds[3], side))
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


class Corpus(NamedTuple):
    """Objects with their terms, and the other way round."""

    points: F64  # [n, 3] on the unit sphere, or in the plane with 0
    offsets: I64
    ids: I32
    starts: I64  # [terms + 1]
    rows: I32  # objects of each term, ascending


class Wanted(NamedTuple):
    """Nearest queries; terms are numbers of the corpus, -1 where it has none."""

    at: F64  # [q, 3]
    k: I64
    first: I64  # [q + 1] conjuncts of each query
    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32


@kernel
def invert(offsets: I64, ids: I32, terms: int) -> tuple[I64, I32]:
    """Objects of each term: offsets and rows, ascending."""
    starts = np.zeros(terms + 1, np.int64)
    for term in ids:
        starts[term + 1] += 1
    for t in range(terms):
        starts[t + 1] += starts[t]
    place = starts[:-1].copy()
    rows = np.empty(len(ids), np.int32)
    for i in range(len(offsets) - 1):
        for e in range(offsets[i], offsets[i + 1]):
            rows[place[ids[e]]] = i
            place[ids[e]] += 1
    return starts, rows


@kernel
def _has(ids: I32, low: int, high: int, term: int) -> bool:
    """Whether an ascending run of term numbers holds one."""
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < term:
            low = middle + 1
        elif ids[middle] > term:
            high = middle
        else:
            return True
    return False


@kernel
def _offer(heap: F64, size: int, k: int, value: float) -> int:
    """Keep the k least values in a max-heap; its new size."""
    if size < k:
        child = size
        while child > 0 and heap[(child - 1) // 2] < value:
            heap[child] = heap[(child - 1) // 2]
            child = (child - 1) // 2
        heap[child] = value
        return size + 1
    if value >= heap[0]:
        return size
    hole = 0
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = value
    return size


@kernel
def kth_squares(corpus: Corpus, wanted: Wanted) -> F64:
    """Squared (chord) distance of each query's k-th nearest match, infinite where it has fewer.

    Each conjunct looks at the objects of its rarest term, one without terms at all. Keywords are read only of objects
    that are near enough, and no sine is computed.
    """
    points, offsets, ids, starts, rows = corpus
    at, ks, first, pos_offsets, pos, neg_offsets, neg = wanted
    n = len(points)
    out = np.full(len(ks), np.inf)
    seen = np.full(n, -1, np.int64)
    heap = np.empty(n, np.float64)
    for q in range(len(ks)):
        k = ks[q]
        if k > n:
            continue
        x, y, z = at[q, 0], at[q, 1], at[q, 2]
        size, bound = 0, np.inf
        for c in range(first[q], first[q + 1]):
            rarest, fewest = -1, n
            for e in range(pos_offsets[c], pos_offsets[c + 1]):
                term = pos[e]
                count = 0 if term < 0 else starts[term + 1] - starts[term]
                if rarest < 0 or count < fewest:
                    rarest, fewest = max(term, 0), count
            for j in range(fewest):
                i = rows[starts[rarest] + j] if rarest >= 0 else j
                dx, dy, dz = points[i, 0] - x, points[i, 1] - y, points[i, 2] - z
                square = dx * dx + dy * dy + dz * dz
                if square >= bound or seen[i] == q:
                    continue
                matches = True
                for e in range(pos_offsets[c], pos_offsets[c + 1]):
                    if pos[e] != rarest and not _has(ids, offsets[i], offsets[i + 1], pos[e]):
                        matches = False
                        break
                for e in range(neg_offsets[c], neg_offsets[c + 1]):
                    if matches and neg[e] >= 0 and _has(ids, offsets[i], offsets[i + 1], neg[e]):
                        matches = False
                if matches:
                    seen[i] = q
                    size = _offer(heap, size, k, square)
                    if size == k:
                        bound = heap[0]
        out[q] = bound
    return out
