"""Best-first search for the rows nearest to a point (Hjaltason and Samet's order, SSTD section 6.2 in one segment).

Nodes are cells of the curve's quadtree with their part of the rarest term's postings, in a heap by a lower bound of
the distance of anything in them. The search ends when the nearest node left is surely farther than the k-th match.
It begins at the cell around the point that should hold half a leaf of postings. As soon as k matches are known, the
cells beside that one and beside its ancestors join it in the heap where their bounds allow, up to the ancestor that
holds everything as near; most are never looked up. On the way distances are squared half chords ``h`` (planar: squared
distances), always compared with slack on the safe side; the rounded distance, which decides, is computed at the end for
the few rows that can be among the answers.
"""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.flat.heaps_kernels import heap_pop, heap_push, keep_smallest
from sightline.geo._kernels import quantise_one, spread
from sightline.index.objects.postings._kernels import (
    BITS,
    ZERO,
    ConjunctPlan,
    PostingsArrays,
    first_at_least,
    first_posting,
    first_row,
    found_before,
    resolve,
    rest_holds,
)
from sightline.index.objects.postings.measures_kernels import (
    beyond,
    cell_bound,
    millimetres,
    outside_bound,
    squares_of,
    view_of,
)
from sightline.index.objects.postings.room_kernels import (
    compact,
    put_in_order,
    with_more_room,
)
from sightline.jit import kernel

LEAST_LEAF, MOST_LEAF = 32, 2048  # postings of a node that is read, not cut
POSTED, TOGETHER = 0.25, 2.0  # share of the k matches that a leaf should have
AT_ONCE = 32  # candidates whose places are fetched before one is measured, so that their cache misses overlap
CELLS, FOUND = 14, 64  # cells and matches there is room for at first
UNKNOWN = -1  # postings of a cell that nobody has looked up
IN_ORDER = 64  # answers up to this size are put in order here


@kernel
def leaf_size(k: int, posted: bool, length: int, expected: float) -> int:
    """Postings of a node that is read whole: for a share of the k matches, if terms were independent.

    Rows of a list lie apart, and each that is read is a cache miss or two. Without a list they lie together, and to
    read more of them is cheaper than to look up another cell.
    """
    share = POSTED if posted else TOGETHER
    return int(min(float(MOST_LEAF), max(float(LEAST_LEAF), share * k * length / max(expected, 1e-9))))


@kernel
def start_depth(
    directory: I32, level: int, deep: int, rows_in_all: int, x: np.int64, y: np.int64, length: int, leaf: int
) -> int:
    """Depth of the smallest cell around a place that has half a leaf of postings, if they lie as the rows do.

    Below the directory, rows are taken to be spread evenly.
    """
    if length <= leaf:
        return 0
    depth, aim = level, 0.5 * leaf * rows_in_all
    while depth > 0:
        cell, below = cell_of(x, y, depth), 2 * (level - depth)
        rows = int(directory[(cell + 1) << below]) - int(directory[cell << below])
        expected = float(rows) * length
        if expected >= aim:
            while expected >= 4.0 * aim and level <= depth < deep:
                expected *= 0.25
                depth += 1
            break
        depth -= 1
    return depth


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
def keep_matching(index: PostingsArrays, plan: ConjunctPlan, c: int, rows: I64, n: int) -> int:
    """Drop those of n rows that lack a term of conjunct c or have one of its negatives; returns how many stay."""
    m = 0
    for i in range(n):
        rows[m] = rows[i]
        m += int(rest_holds(index, plan, c, rows[i]))
    return m


@kernel
def measured(
    x: F64, y: F64, geographic: bool, lon: float, lat: float, k: int, n: int, rows: I64, squares: F64, answer: I64
) -> int:
    """Write n rows to the first half of ``answer``, which has room, and their distances to the second; how many count.

    Up to ``IN_ORDER`` these are the k nearest and all ties at the k-th distance, in order; if there are more, all.
    """
    room = answer.shape[0] >> 1
    for i in range(n):
        row = rows[i]
        mm = millimetres(geographic, lon, lat, x[row], y[row], squares[i])
        if n <= IN_ORDER:
            put_in_order(answer, room, i, row, mm)
        else:
            answer[i], answer[room + i] = row, mm
    if n <= IN_ORDER:
        while n > k and answer[room + n - 1] > answer[room + k - 1]:
            n -= 1
    return n


@kernel
def nearest_of_term(
    index: PostingsArrays, answer: I64, term: int, lon: float, lat: float, k: int, lo: int, hi: int, geographic: bool
) -> tuple[int, int]:
    """:func:`nearest_rows` of one term: to make its ``asked`` in Python takes most of a microsecond."""
    asked = np.empty(5, np.int64)
    asked[0], asked[1], asked[2], asked[3], asked[4] = 1, 0, 1, 1, term
    plan = resolve(index.starts, index.heads, index.lon.shape[0], asked)
    return search(index, answer, plan, lon, lat, k, lo, hi, geographic)


@kernel
def nearest_rows(
    index: PostingsArrays, answer: I64, asked: I64, lon: float, lat: float, k: int, lo: int, hi: int, geographic: bool
) -> tuple[int, int]:
    """:func:`search` of what :func:`resolve` makes of ``asked``."""
    plan = resolve(index.starts, index.heads, index.lon.shape[0], asked)
    return search(index, answer, plan, lon, lat, k, lo, hi, geographic)


@kernel
def search(
    index: PostingsArrays,
    answer: I64,
    plan: ConjunctPlan,
    lon: float,
    lat: float,
    k: int,
    lo: int,
    hi: int,
    geographic: bool,
) -> tuple[int, int]:
    """Write the k nearest matching rows and all ties at the k-th distance to the first half of ``answer``, and their
    distances in mm to the second.

    Returns how many there are and how many were looked at. Up to ``IN_ORDER`` are in order; beyond, there may be some
    that are farther than the k-th. If there are more than fit, nothing is written. The caller makes ``answer``: an
    array that a kernel hands to Python costs half a microsecond.
    """
    rows_in_all = index.lon.shape[0]
    if hi < index.span[0] or lo > index.span[1] or hi < lo:
        return 0, 0
    n, looked, known, h_most = 0, 0, 0, np.inf
    # Few and small arrays for all that is in hand: each takes 40 ns to make, and one above a kilobyte more.
    ints, floats = np.empty(AT_ONCE + FOUND + CELLS, np.int64), np.empty(3 * AT_ONCE + CELLS, np.float64)
    some, out, heap = ints[:AT_ONCE], ints[AT_ONCE : AT_ONCE + FOUND], ints[AT_ONCE + FOUND :]
    order, place_x = floats[:CELLS], floats[CELLS : CELLS + AT_ONCE]
    place_y, place_h = floats[CELLS + AT_ONCE : CELLS + 2 * AT_ONCE], floats[CELLS + 2 * AT_ONCE :]
    smallest = np.empty(FOUND + min(k, rows_in_all), np.float64)
    squares, best = smallest[:FOUND], smallest[FOUND:]  # of all found; the k smallest of them, the largest first
    pool = np.empty((CELLS, 8), np.int64)  # level, key, x, y, rows from and to, postings from and to
    view = view_of(index.extent, geographic, lon, lat)
    at_x = quantise_one(lon, view.west, index.extent[2])
    at_y = quantise_one(lat, view.south, index.extent[3])
    timed = lo > index.span[0] or hi < index.span[1]
    for c in range(plan.key.shape[0]):
        key, need, deny = plan.key[c], plan.lack[c], plan.deny[c]
        care = need | deny
        listed = plan.cuts[2 * c] < plan.cuts[2 * c + 2]
        length = plan.length[c] if key >= 0 else rows_in_all
        leaf = leaf_size(k, key >= 0, length, plan.expected[c])
        start = start_depth(
            index.directory, int(index.span[2]), int(index.span[3]), rows_in_all, at_x, at_y, length, leaf
        )
        alone = True
        put_cell(at_x, at_y, start, pool[0])
        order[0], heap[0] = 0.0, 0
        waiting, used = 1, 1
        while True:
            if alone and (waiting == 0 or known == k):
                # The rest of the space: three cells beside the first one, and beside each of its ancestors.
                alone = False
                for depth in range(start, 0, -1):
                    size = np.int64(1) << (BITS - depth)
                    if outside_bound(view, at_x & -size, at_y & -size, size) > h_most:
                        break
                    for beside in range(1, 4):
                        x_cell, y_cell = at_x ^ (size * (beside & 1)), at_y ^ (size * (beside >> 1))
                        bound = cell_bound(view, x_cell & -size, y_cell & -size, size)
                        if bound <= h_most:
                            if used == pool.shape[0]:
                                pool, order, heap = with_more_room(pool, order, heap)
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
                    p += AT_ONCE
                    ahead = listed and known < k  # no place rules a row out yet, so its terms come first
                    if ahead:
                        m = keep_matching(index, plan, c, some, m)
                    for i in range(m):
                        place_x[i], place_y[i] = index.lon[some[i]], index.lat[some[i]]
                    squares_of(geographic, lon, lat, view.cosine, m, place_x, place_y, place_h)
                    for i in range(m):
                        row, h = some[i], place_h[i]
                        if h > h_most or (timed and (index.ts[row] < lo or index.ts[row] > hi)):
                            continue
                        if listed and not ahead and not rest_holds(index, plan, c, row):
                            continue
                        if c > 0 and found_before(index, plan, c, row):
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
    if 2 * n > answer.shape[0]:
        return n, looked
    return measured(index.lon, index.lat, geographic, lon, lat, k, n, out, squares, answer), looked
