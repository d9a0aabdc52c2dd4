"""Best-first search for the rows nearest to a point (Hjaltason and Samet's order, SSTD section 6.2 in one segment).

Nodes are cells of the curve's quadtree with their part of the rarest term's postings, in a heap by a lower bound of
the distance of anything in them. The search ends when the nearest node left is surely farther than the k-th match.
It begins at the cell around the point that should hold half a leaf of postings. As soon as k matches are known, the
cells beside that one and beside its ancestors, with it the whole space, join it in the heap where their bounds allow;
most are never looked up. On the way distances are squared half chords ``h`` (planar: squared distances), always
compared with slack on the safe side; the rounded distance, which decides, is computed at the end for the few rows that
can be among the answers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sightline.geo._kernels import haversine_mm, planar_mm, quantise_one, spread
from sightline.index.arrays import I64
from sightline.index.objects.postings._kernels import (
    BITS,
    ZERO,
    PostingsArrays,
    first_at_least,
    first_posting,
    first_row,
    found_before,
    head_of,
    needed,
    resolve,
    rest_holds,
)
from sightline.index.objects.postings.nearest.heaps._kernels import (
    compact,
    heap_pop,
    heap_push,
    in_order,
    keep_smallest,
    with_more_room,
)
from sightline.jit import kernel

LEAST_LEAF, MOST_LEAF = 32, 2048  # postings of a node that is read, not cut
AT_ONCE = 64  # candidates whose places are fetched before one is measured, so that their cache misses overlap
CELLS = 3 * BITS + 4  # that are put into the pool at once, at most
UNKNOWN = -1  # postings of a cell that nobody has looked up
IN_ORDER = 64  # answers up to this size are put in order here
_RADIANS = math.pi / 180


class View(NamedTuple):
    """Where the search stands, and the cells of the curve in coordinates."""

    geographic: bool
    lon: float
    lat: float
    cosine: float  # of the latitude
    west: float
    south: float
    unit_x: float  # sides of the finest cell
    unit_y: float
    slack_x: float  # what rounding may have moved a row, and a thousandth of the finest cell
    slack_y: float


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
def measured(index: PostingsArrays, geographic: bool, lon: float, lat: float, rows: I64, k: int) -> I64:
    """The k nearest of ``rows`` and all ties at the k-th rounded distance, above their distances: [2, m].

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
    found = np.empty((2, n), np.int64)
    for i in range(n):
        if known < k or far[i] <= best[0]:
            found[0, m], found[1, m] = rows[i], far[i]
            m += 1
    if m <= IN_ORDER:
        in_order(found[0], found[1], m)
    return found[:, :m]


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
def view_of(index: PostingsArrays, geographic: bool, lon: float, lat: float) -> View:
    """The view from a point."""
    west, south, east, north = index.extent[0], index.extent[1], index.extent[2], index.extent[3]
    unit_x, unit_y = (east - west) / 2.0**BITS, (north - south) / 2.0**BITS
    slack_x = 1e-3 * unit_x + 1e-14 * max(abs(west), abs(east))
    slack_y = 1e-3 * unit_y + 1e-14 * max(abs(south), abs(north))
    cosine = math.cos(_RADIANS * lat) if geographic else 1.0
    return View(geographic, lon, lat, cosine, west, south, unit_x, unit_y, slack_x, slack_y)


@kernel
def cell_bound(view: View, x_cell: np.int64, y_cell: np.int64, size: np.int64) -> float:
    """:func:`lower_bound` of a cell."""
    x, y = view.west + x_cell * view.unit_x, view.south + y_cell * view.unit_y
    return lower_bound(view.geographic, view.lon, view.lat, view.cosine, x - view.slack_x, y - view.slack_y,
                       x + size * view.unit_x + view.slack_x, y + size * view.unit_y + view.slack_y)


@kernel
def start_depth(index: PostingsArrays, x: np.int64, y: np.int64, length: int, leaf: int) -> int:
    """Depth of the smallest cell around a place that has half a leaf of postings, if they lie as the rows do.

    Below the directory, rows are taken to be spread evenly.
    """
    level, aim = index.span[2], 0.5 * leaf * index.lon.shape[0]
    if length <= leaf:
        return 0
    depth = level
    while depth > 0:
        cell, below = cell_of(x, y, depth), 2 * (level - depth)
        rows = np.int64(index.directory[(cell + 1) << below]) - np.int64(index.directory[cell << below])
        expected = float(rows) * length
        if expected >= aim:
            while expected >= 4.0 * aim and level <= depth < index.span[3]:
                expected *= 0.25
                depth += 1
            break
        depth -= 1
    return int(depth)


@kernel
def cell_of(x: np.int64, y: np.int64, depth: int) -> np.int64:
    """Number along the curve of the cell around a place."""
    return np.int64(spread(x >> (BITS - depth)) | (spread(y >> (BITS - depth)) << 1))


@kernel
def put_cell(x: np.int64, y: np.int64, depth: int, node: I64) -> None:
    """Write the cell of a place to a line of the pool; nobody has looked up its rows."""
    shift = BITS - depth
    node[0], node[1] = depth, cell_of(x, y, depth) << (2 * shift)
    node[2], node[3], node[6] = (x >> shift) << shift, (y >> shift) << shift, UNKNOWN


@kernel
def look_up(index: PostingsArrays, key: int, node: I64) -> None:
    """Fill in the rows and postings of a cell."""
    depth, level, deep = node[0], index.span[2], index.span[3]
    begin = node[1] >> (2 * (BITS - level))
    if depth <= level:
        a, b = int(index.directory[begin]), int(index.directory[begin + (1 << (2 * (level - depth)))])
    else:
        a, b = int(index.directory[begin]), int(index.directory[begin + 1])
        first = int((node[1] >> (2 * (BITS - deep))) & ((np.int64(1) << (2 * (deep - level))) - 1))
        a = first_at_least(index.fine, a, b, first)
        b = first_at_least(index.fine, a, b, first + int(np.int64(1) << (2 * (deep - depth))))
    node[4], node[5], node[6], node[7] = a, b, a, b
    if key >= 0:
        end = int(index.starts[key + 1])
        node[6] = first_posting(index.postings, int(index.starts[key]), end, a)
        node[7] = end if b == index.lon.shape[0] else first_posting(index.postings, node[6], end, b)


@kernel
def nearest_rows(index: PostingsArrays, asked: I64, lon: float, lat: float, k: int, lo: int, hi: int,
                 geographic: bool) -> tuple[I64, int]:
    """The k nearest matching rows and all ties at the k-th distance: (rows above distances in mm [2, m], looked at).

    One array, because each that is handed to Python costs half a microsecond. In order up to ``IN_ORDER`` of them.
    """
    rows_in_all = index.lon.shape[0]
    out, squares = np.empty(256, np.int64), np.empty(256, np.float64)
    n, looked, known = 0, 0, 0
    if hi < index.span[0] or lo > index.span[1] or hi < lo:
        return np.empty((2, 0), np.int64)[:, :0], 0
    best = np.empty(min(k, rows_in_all), np.float64)  # the k smallest squares, the largest first
    h_most = np.inf
    plan = resolve(index, asked)
    view = view_of(index, geographic, lon, lat)
    at_x = quantise_one(lon, view.west, index.extent[2])
    at_y = quantise_one(lat, view.south, index.extent[3])
    timed = lo > index.span[0] or hi < index.span[1]
    order, heap = np.empty(2 * CELLS, np.float64), np.empty(2 * CELLS, np.int64)
    pool = np.empty((2 * CELLS, 8), np.int64)  # level, key, x, y, rows from and to, postings from and to
    some, place = np.empty(AT_ONCE, np.int64), np.empty((2, AT_ONCE), np.float64)
    for c in range(asked[0]):
        key, need, deny = plan.key[c], needed(index, plan, c), plan.deny[c]
        care = need | deny
        listed = plan.cuts[2 * c] < plan.cuts[2 * c + 2]
        leaf = leaf_size(index, asked, c, plan.length[c], k)
        depth = start_depth(index, at_x, at_y, plan.length[c] if key >= 0 else rows_in_all, leaf)
        start, alone = depth, True
        put_cell(at_x, at_y, depth, pool[0])
        order[0], heap[0] = 0.0, 0
        waiting, used = 1, 1
        while True:
            if alone and (waiting == 0 or known == k):
                # The rest of the space: three cells beside the first one, and beside each of its ancestors.
                alone = False
                for depth in range(start, 0, -1):
                    size = np.int64(1) << (BITS - depth)
                    for beside in range(1, 4):
                        x_cell, y_cell = at_x ^ (size * (beside & 1)), at_y ^ (size * (beside >> 1))
                        bound = cell_bound(view, x_cell & -size, y_cell & -size, size)
                        if bound <= h_most:
                            put_cell(x_cell, y_cell, depth, pool[used])
                            heap_push(order, heap, waiting, bound, used)
                            waiting += 1
                            used += 1
            if waiting == 0 or order[0] > h_most:
                break
            node = heap[0]
            heap_pop(order, heap, waiting)
            waiting -= 1
            if pool[node, 6] == UNKNOWN:
                look_up(index, key, pool[node])
            depth, p, q = pool[node, 0], pool[node, 6], pool[node, 7]
            if q - p <= leaf or depth == index.span[3]:
                looked += q - p
                while p < q:
                    m = 0
                    for j in range(p, min(p + AT_ONCE, q)):
                        row = np.int64(index.postings[j]) if key >= 0 else j
                        some[m] = row
                        m += int(care == ZERO or (index.bits[row] & care) == need)
                    for i in range(m):
                        place[0, i], place[1, i] = index.lon[some[i]], index.lat[some[i]]
                    p += AT_ONCE
                    for i in range(m):
                        row, x, y = some[i], place[0, i], place[1, i]
                        if known == k and lower_bound(geographic, lon, lat, view.cosine, x, y, x, y) > h_most:
                            continue
                        if timed and (index.ts[row] < lo or index.ts[row] > hi):
                            continue
                        if listed and not rest_holds(index, plan, c, row):
                            continue
                        h = square(geographic, lon, lat, view.cosine, x, y)
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
            if used + CELLS > pool.shape[0]:
                pool, order, heap = with_more_room(pool, order, heap)
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
                    bound = cell_bound(view, x_cell, y_cell, size)
                    if bound <= h_most:
                        pool[used, 0], pool[used, 1], pool[used, 2], pool[used, 3] = depth + 1, from_key, x_cell, y_cell
                        pool[used, 4], pool[used, 5], pool[used, 6], pool[used, 7] = begin, end, begin_p, q
                        heap_push(order, heap, waiting, bound, used)
                        waiting += 1
                        used += 1
                end, q = begin, begin_p
    n = compact(out, squares, n, h_most)
    return measured(index, geographic, lon, lat, out[:n], k), looked
