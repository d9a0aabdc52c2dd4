"""Best-first search for the rows nearest to a point (Hjaltason and Samet's order, SSTD section 6.2 in one segment).

Nodes are cells of the curve's quadtree with their part of the rarest term's postings, in a heap by a lower bound of
the distance of anything in them. The search ends when the nearest node left is surely farther than the k-th match.
On the way distances are squared half chords ``h`` (planar: squared distances), always compared with slack on the safe
side; the rounded distance, which decides, is computed at the end for the few rows that can be among the answers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sightline.geo._kernels import haversine_mm, planar_mm
from sightline.index.arrays import F64, I64
from sightline.index.objects.postings._kernels import (
    BITS,
    ZERO,
    PostingsArrays,
    first_posting,
    first_row,
    found_before,
    head_of,
    needed,
    resolve,
    rest_holds,
)
from sightline.jit import kernel

LEAST_LEAF, MOST_LEAF = 32, 2048  # postings of a node that is read, not cut
IN_ORDER = 64  # answers up to this size are put in order here
_RADIANS = math.pi / 180


@kernel
def lower_bound(geographic: bool, lon: float, lat: float, cosine: float, west: float, south: float, east: float,
                north: float) -> float:
    """At most the squared half chord (planar: squared distance) from a point to any point of a box.

    ``cosine`` is that of the point's latitude.
    """
    dy = max(south - lat, lat - north, 0.0)
    if not geographic:
        dx = max(west - lon, lon - east, 0.0)
        return dx * dx + dy * dy
    dx = 0.0
    if lon < west or lon > east:
        around = lon + 360.0 if lon < west else lon - 360.0
        if around < west or around > east:
            dx = min(abs(west - lon), abs(lon - east), abs(west - around), abs(around - east))
    # Taylor sums that end in a negative term: below sine and cosine from 0 to pi/2, and cheaper.
    a = 0.5 * _RADIANS * dy
    s = a * (1.0 - a * a / 6.0 * (1.0 - a * a / 20.0 * (1.0 - a * a / 42.0)))
    h = s * s
    if dx > 0.0:
        a = 0.5 * _RADIANS * min(dx, 180.0)
        s = a * (1.0 - a * a / 6.0 * (1.0 - a * a / 20.0 * (1.0 - a * a / 42.0)))
        a = _RADIANS * max(abs(south), abs(north))
        a *= a
        narrow = 1.0 - a / 2.0 * (1.0 - a / 12.0 * (1.0 - a / 30.0))
        h += max(0.0, cosine * narrow) * s * s
    return h


@kernel
def square(geographic: bool, lon: float, lat: float, cosine: float, x: float, y: float) -> float:
    """The squared half chord between two points up to a few units in the last place (planar: squared distance)."""
    if not geographic:
        return (x - lon) * (x - lon) + (y - lat) * (y - lat)
    high, wide = math.sin((y - lat) * _RADIANS / 2), math.sin((x - lon) * _RADIANS / 2)
    return high * high + cosine * math.cos(y * _RADIANS) * wide * wide


@kernel
def beyond(geographic: bool, h: float) -> float:
    """What lies farther than a point at ``h``, surely and by more than rounding to a millimetre, has a larger bound.

    The angle grows faster than twice the sine of its half, so 1.6e-10 of a half chord is at least 2 mm on the globe.
    """
    root = math.sqrt(h) * (1.0 + 1e-9) + (1.6e-10 if geographic else 2e-3)
    return root * root * (1.0 + 1e-9) + (1e-15 if geographic else 0.0)


@kernel
def heap_push(order: F64, nodes: I64, size: int, bound: float, node: int) -> None:
    """Put a node into the min-heap of ``size`` nodes."""
    i = size
    while i > 0 and order[(i - 1) >> 1] > bound:
        order[i], nodes[i] = order[(i - 1) >> 1], nodes[(i - 1) >> 1]
        i = (i - 1) >> 1
    order[i], nodes[i] = bound, node


@kernel
def heap_pop(order: F64, nodes: I64, size: int) -> None:
    """Take the first of ``size`` nodes out of the min-heap."""
    bound, node = order[size - 1], nodes[size - 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and order[child + 1] < order[child]:
            child += 1
        if order[child] >= bound:
            break
        order[i], nodes[i] = order[child], nodes[child]
        i = child
    order[i], nodes[i] = bound, node


@kernel
def keep_smallest(best: npt.NDArray[Any], size: int, value: float) -> int:
    """Add a value to the max-heap of the smallest ones; returns its size."""
    if size < best.shape[0]:
        i = size
        while i > 0 and best[(i - 1) >> 1] < value:
            best[i] = best[(i - 1) >> 1]
            i = (i - 1) >> 1
        best[i] = value
        return size + 1
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and best[child + 1] > best[child]:
            child += 1
        if best[child] <= value:
            break
        best[i] = best[child]
        i = child
    best[i] = value
    return size


@kernel
def compact(rows: I64, squares: F64, n: int, most: float) -> int:
    """Drop what lies beyond ``most``; returns how many stay."""
    m = 0
    for i in range(n):
        if squares[i] <= most:
            rows[m], squares[m] = rows[i], squares[i]
            m += 1
    return m


@kernel
def measured(index: PostingsArrays, geographic: bool, lon: float, lat: float, rows: I64, k: int) -> tuple[I64, I64]:
    """The k nearest of ``rows`` and all ties at the k-th rounded distance, and the distances.

    In order up to ``IN_ORDER`` of them.
    """
    n = rows.shape[0]
    far, best = np.empty(n, np.int64), np.empty(min(k, n), np.int64)
    known = 0
    for i in range(n):
        x, y = index.lon[rows[i]], index.lat[rows[i]]
        far[i] = haversine_mm(lon, lat, x, y) if geographic else planar_mm(lon, lat, x, y)
    for i in range(n):
        if known < k or far[i] < best[0]:
            known = keep_smallest(best, known, far[i])
    m = 0
    out, mm = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        if known < k or far[i] <= best[0]:
            out[m], mm[m] = rows[i], far[i]
            m += 1
    if m <= IN_ORDER:
        in_order(out, mm, m)
    return out[:m], mm[:m]


@kernel
def in_order(rows: I64, distance: I64, n: int) -> None:
    """Insertion sort by distance, then row."""
    for i in range(1, n):
        row, mm, j = rows[i], distance[i], i
        while j > 0 and (distance[j - 1] > mm or (distance[j - 1] == mm and rows[j - 1] > row)):
            rows[j], distance[j] = rows[j - 1], distance[j - 1]
            j -= 1
        rows[j], distance[j] = row, mm


@kernel
def leaf_size(index: PostingsArrays, asked: I64, c: int, length: int, k: int) -> int:
    """Postings of a node that is read whole: enough for a fourth of the k matches, if terms were independent."""
    share, base, rows = 1.0, 2 * asked[0] + 2, index.lon.shape[0]
    for j in range(base + asked[1 + 2 * c], base + asked[2 + 2 * c]):
        bit = head_of(index, asked[j])
        if bit >= 0:
            share *= index.heads[1, bit] / rows
        else:
            share *= (index.starts[asked[j] + 1] - index.starts[asked[j]]) / rows
    share = share / max(1, length) * rows  # the key's own share
    return int(min(float(MOST_LEAF), max(float(LEAST_LEAF), 0.25 * k / max(share, 1e-9))))


@kernel
def nearest_rows(index: PostingsArrays, asked: I64, lon: float, lat: float, k: int, lo: int, hi: int,
                 geographic: bool) -> tuple[I64, I64, int]:
    """The k nearest matching rows and all ties at the k-th distance: (rows, distances in mm, looked at).

    In order up to ``IN_ORDER`` of them.
    """
    rows_in_all = index.lon.shape[0]
    out, squares = np.empty(256, np.int64), np.empty(256, np.float64)
    n, looked, known = 0, 0, 0
    if hi < index.span[0] or lo > index.span[1] or hi < lo:
        return out[:0], np.empty(0, np.int64), 0
    best = np.empty(min(k, rows_in_all), np.float64)  # the k smallest squares, the largest first
    h_most = np.inf
    plan = resolve(index, asked)
    cosine = math.cos(_RADIANS * lat) if geographic else 1.0
    timed = lo > index.span[0] or hi < index.span[1]
    # A cell is widened by what rounding may have moved a row, and by a thousandth of the finest cell.
    west, south = index.extent[0], index.extent[1]
    unit_x, unit_y = (index.extent[2] - west) / 2.0**BITS, (index.extent[3] - south) / 2.0**BITS
    slack_x = 1e-3 * unit_x + 1e-14 * max(abs(west), abs(index.extent[2]))
    slack_y = 1e-3 * unit_y + 1e-14 * max(abs(south), abs(index.extent[3]))
    order, heap = np.empty(128, np.float64), np.empty(128, np.int64)
    pool = np.empty((128, 8), np.int64)  # level, key, x, y, rows from and to, postings from and to
    for c in range(asked[0]):
        key, need, deny = plan.key[c], needed(index, plan, c), plan.deny[c]
        care = need | deny
        listed = plan.cuts[2 * c] < plan.cuts[2 * c + 2]
        leaf = leaf_size(index, asked, c, plan.length[c], k)
        pool[0, :4], pool[0, 4], pool[0, 5] = 0, 0, rows_in_all
        pool[0, 6] = index.starts[key] if key >= 0 else 0
        pool[0, 7] = index.starts[key + 1] if key >= 0 else rows_in_all
        order[0], heap[0] = 0.0, 0
        waiting, used = 1, 1
        while waiting > 0 and order[0] <= h_most:
            node = heap[0]
            heap_pop(order, heap, waiting)
            waiting -= 1
            depth, p, q = pool[node, 0], pool[node, 6], pool[node, 7]
            if q - p <= leaf or depth == index.span[3]:
                looked += q - p
                for j in range(p, q):
                    row = int(index.postings[j]) if key >= 0 else j
                    if care != ZERO and (index.bits[row] & care) != need:
                        continue
                    x, y = index.lon[row], index.lat[row]
                    if known == k and lower_bound(geographic, lon, lat, cosine, x, y, x, y) > h_most:
                        continue
                    if timed and (index.ts[row] < lo or index.ts[row] > hi):
                        continue
                    if listed and not rest_holds(index, plan, c, row):
                        continue
                    h = square(geographic, lon, lat, cosine, x, y)
                    if h > h_most or (c > 0 and found_before(index, plan, c, row)):
                        continue
                    if n == out.shape[0]:
                        n = compact(out, squares, n, h_most)
                        if 2 * n > out.shape[0]:
                            more, more_squares = np.empty(4 * n, np.int64), np.empty(4 * n, np.float64)
                            more[:n], more_squares[:n] = out[:n], squares[:n]
                            out, squares = more, more_squares
                    out[n], squares[n] = row, h
                    n += 1
                    if known < k or h < best[0]:
                        known = keep_smallest(best, known, h)
                        if known == k:
                            h_most = beyond(geographic, best[0])
                continue
            if used + 4 > pool.shape[0]:
                more_pool = np.empty((2 * pool.shape[0], 8), np.int64)
                more_pool[:used] = pool[:used]
                pool = more_pool
            if waiting + 4 > order.shape[0]:
                more_order, more_heap = np.empty(2 * order.shape[0], np.float64), np.empty(2 * order.shape[0], np.int64)
                more_order[:waiting], more_heap[:waiting] = order[:waiting], heap[:waiting]
                order, heap = more_order, more_heap
            size = np.int64(1) << (BITS - depth - 1)
            quarter = np.int64(1) << (2 * (BITS - depth - 1))
            end = pool[node, 5]
            for child in range(3, -1, -1):
                begin, from_key = pool[node, 4], pool[node, 1] + child * quarter
                begin_p = p
                if child > 0:
                    begin = first_row(index, depth + 1, from_key, begin, end)
                    begin_p = first_posting(index.postings, p, q, begin) if key >= 0 else begin
                if begin_p < q:
                    x_cell = pool[node, 2] + size * (child & 1)
                    y_cell = pool[node, 3] + size * (child >> 1)
                    x, y = west + x_cell * unit_x, south + y_cell * unit_y
                    bound = lower_bound(geographic, lon, lat, cosine, x - slack_x, y - slack_y,
                                        x + size * unit_x + slack_x, y + size * unit_y + slack_y)
                    if bound <= h_most:
                        pool[used, 0], pool[used, 1], pool[used, 2], pool[used, 3] = depth + 1, from_key, x_cell, y_cell
                        pool[used, 4], pool[used, 5], pool[used, 6], pool[used, 7] = begin, end, begin_p, q
                        heap_push(order, heap, waiting, bound, used)
                        waiting += 1
                        used += 1
                end, q = begin, begin_p
    n = compact(out, squares, n, h_most)
    rows, distance = measured(index, geographic, lon, lat, out[:n], k)
    return rows, distance, looked
