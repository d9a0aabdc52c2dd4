"""Kernels that walk a tree over blocks: best first for the nearest rows, depth first for counts of terms."""

from __future__ import annotations

import math

import numpy as np

from sightline.flat.arrays import F64, I64
from sightline.flat.heaps_kernels import heap_pop, heap_push, keep_smallest
from sightline.geo._kernels import CIRCLE, EARTH_RADIUS_M, haversine_mm, planar_mm
from sightline.index._kernels import Conjuncts
from sightline.index.objects.blocks._kernels import (
    BlockArrays,
    FrequencyTables,
    block_rows,
    children_to_open,
    in_pieces,
    level_of,
    may_hold,
    meets,
)
from sightline.jit import kernel

FIRST_ROOM = 64  # rows of the first output buffer; it at least doubles when full
# The computed distance of points less than 3 radians apart is off by far less than a millimetre; near the antipode it
# loses its digits, one unit in the last place of the haversine is worth 19 cm there.
SLACK_MM, FAR_SLACK_MM, FAR_MM = 10, 10_000, 19_000_000_000
MM_PER_DEGREE = 1000.0 * EARTH_RADIUS_M * math.pi / 180.0
LARGEST_MM = 180.0 * MM_PER_DEGREE + 1.0  # no two points are farther apart


@kernel
def box_distance_mm(geographic: bool, x: float, y: float, box: F64) -> np.int64:
    """A lower bound of the distance from (x, y) to any point of ``box``, in whole millimetres.

    In the plane the nearest point of the box; rounding is monotone, so the bound needs no slack. On the globe the
    nearest meridian of the box, at one of its ends or at the foot of the perpendicular.
    """
    near_x, near_y = min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])
    if not geographic:
        return planar_mm(x, y, near_x, near_y)
    if near_x == x:
        distance = haversine_mm(x, y, x, near_y)
    else:
        to_west, to_east = (box[0] - x) % 360.0, (x - box[2]) % 360.0
        edge, turn = (box[0], to_west) if to_west < to_east else (box[2], to_east)
        distance = min(haversine_mm(x, y, edge, box[1]), haversine_mm(x, y, edge, box[3]))
        lat = y * math.pi / 180.0
        foot = math.atan2(math.sin(lat), math.cos(lat) * math.cos(turn * math.pi / 180.0)) * 180.0 / math.pi
        if box[1] < foot < box[3]:
            distance = min(distance, haversine_mm(x, y, edge, foot))
    return max(distance - np.int64(FAR_SLACK_MM if distance > FAR_MM else SLACK_MM), np.int64(0))


@kernel
def nearest_rows(
    index: BlockArrays,
    tables: FrequencyTables,
    fanout: int,
    asked: Conjuncts,
    geographic: bool,
    x: float,
    y: float,
    k: int,
    lo: int,
    hi: int,
) -> tuple[I64, I64, int, int]:
    """Rows that include the k nearest and all ties, best first: (rows, distances, nodes opened, looked at).

    Nodes come in the order of their lower bounds from a heap; the search ends at the first that is farther than the
    k-th distance known. Children are entered if a table says they have the terms.
    """
    levels, top_level = index.levels, index.levels.shape[0] - 2
    bounds, nodes = np.empty(index.boxes.shape[0], np.int64), np.empty(index.boxes.shape[0], np.int64)
    size = 0
    for node in range(levels[top_level], levels[top_level + 1]):
        if may_hold(index, node, lo, hi):
            heap_push(bounds, nodes, size, box_distance_mm(geographic, x, y, index.boxes[node]), node)
            size += 1
    k = min(k, index.lon.shape[0])
    best = np.empty(k, np.int64)  # the k least distances, the largest first
    kept = 0
    everywhere = np.array([[-np.inf, -np.inf, np.inf, np.inf]])
    rows, distances = np.empty(FIRST_ROOM, np.int64), np.empty(FIRST_ROOM, np.int64)
    found = np.empty(FIRST_ROOM, np.int64)
    n, opened, looked = 0, 0, 0
    while size > 0 and (kept < k or bounds[0] <= best[0]):
        node = nodes[0]
        heap_pop(bounds, nodes, size)
        size -= 1
        opened += 1
        level = level_of(levels, node)
        if level > 0:
            mask = children_to_open(tables, node - levels[1], asked)
            first = levels[level - 1] + (node - levels[level]) * fanout
            for i in range(min(fanout, levels[level] - first)):
                child = first + i
                if (mask >> i) & 1 == 0 or not may_hold(index, child, lo, hi):
                    continue
                bound = box_distance_mm(geographic, x, y, index.boxes[child])
                if kept < k or bound <= best[0]:
                    heap_push(bounds, nodes, size, bound, child)
                    size += 1
            continue
        found, count, read = block_rows(index, node, asked, everywhere, lo, hi, found, 0)
        looked += read
        if n + count > rows.shape[0]:
            room = max(2 * rows.shape[0], n + count)
            more_rows, more_distances = np.empty(room, np.int64), np.empty(room, np.int64)
            more_rows[:n], more_distances[:n] = rows[:n], distances[:n]
            rows, distances = more_rows, more_distances
        for j in range(count):
            row = found[j]
            px, py = index.lon[row], index.lat[row]
            distance = haversine_mm(x, y, px, py) if geographic else planar_mm(x, y, px, py)
            if kept == k and distance > best[0]:
                continue
            rows[n], distances[n] = row, distance
            n += 1
            kept = keep_smallest(best, kept, distance)
    return rows[:n].copy(), distances[:n].copy(), opened, looked


@kernel
def within_circle(geographic: bool, circle: F64, box: F64) -> bool:
    """Whether every point of ``box`` is surely within a circle (x, y, radius in mm); False may mean "not known".

    In the plane the farthest corner decides. On the globe: the distance to the middle of the box, and from there
    along its parallel and then along a meridian, which is no shortcut to any point of the box.
    """
    x, y = circle[0], circle[1]
    if not geographic:
        far_x = box[0] if abs(box[0] - x) > abs(box[2] - x) else box[2]
        far_y = box[1] if abs(box[1] - y) > abs(box[3] - y) else box[3]
        return bool(planar_mm(x, y, far_x, far_y) <= circle[2])
    if circle[2] >= LARGEST_MM:
        return True
    mid_x, mid_y = (box[0] + box[2]) / 2.0, (box[1] + box[3]) / 2.0
    width, height = (box[2] - box[0]) / 2.0, (box[3] - box[1]) / 2.0
    reach = (width * math.cos(mid_y * math.pi / 180.0) + height) * MM_PER_DEGREE
    return bool(haversine_mm(x, y, mid_x, mid_y) + reach + FAR_SLACK_MM <= circle[2])


@kernel
def count_region(
    index: BlockArrays,
    tables: FrequencyTables,
    fanout: int,
    geographic: bool,
    kind: int,
    circle: F64,
    pieces: F64,
    lo: int,
    hi: int,
    counts: I64,
) -> tuple[int, int, int]:
    """Add the rows of a box or circle and a time to ``counts`` per term: (nodes opened, tables added, rows read).

    Nodes wholly inside add their table (blocks the lengths of their lists) and are not entered.
    """
    levels, top_level = index.levels, index.levels.shape[0] - 2
    tops = levels[top_level + 1] - levels[top_level]
    stack = np.empty(tops + fanout * top_level + 1, np.int64)
    stack[:tops] = np.arange(levels[top_level], levels[top_level + 1])
    size = tops
    opened, added, read = 0, 0, 0
    while size > 0:
        size -= 1
        node = stack[size]
        box = index.boxes[node]
        if not may_hold(index, node, lo, hi) or not meets(box, pieces):
            continue
        opened += 1
        whole = False
        for i in range(pieces.shape[0]):
            whole |= (
                box[0] >= pieces[i, 0] and box[2] <= pieces[i, 2] and box[1] >= pieces[i, 1] and box[3] <= pieces[i, 3]
            )
        level = level_of(levels, node)
        whole = whole and index.spans[node, 0] >= lo and index.spans[node, 1] <= hi
        if whole and (kind != CIRCLE or within_circle(geographic, circle, box)):
            if level == 0:
                added += 1
                add_lists(index, node, counts)
                continue
            if tables.starts.shape[0] > 1:
                added += 1
                inner = node - levels[1]
                for e in range(tables.starts[inner], tables.starts[inner + 1]):
                    counts[tables.table_terms[e]] += tables.table_counts[e]
                continue
        if level > 0:
            first = levels[level - 1] + (node - levels[level]) * fanout
            for child in range(first, min(first + fanout, levels[level])):
                stack[size] = child
                size += 1
            continue
        read += index.firsts[node + 1] - index.firsts[node]
        for row in range(index.firsts[node], index.firsts[node + 1]):
            x, y, t = index.lon[row], index.lat[row], index.ts[row]
            if t < lo or t > hi or not in_pieces(x, y, pieces):
                continue
            if kind == CIRCLE:
                a, b = circle[0], circle[1]
                if (haversine_mm(a, b, x, y) if geographic else planar_mm(a, b, x, y)) > circle[2]:
                    continue
            for j in range(index.offsets[row], index.offsets[row + 1]):
                counts[index.ids[j]] += 1
    return opened, added, read


@kernel
def add_lists(index: BlockArrays, block: int, counts: I64) -> None:
    """Add the lengths of a block's lists to ``counts``."""
    before = np.int64(0)
    for e in range(index.lists[block], index.lists[block + 1]):
        counts[index.list_terms[e]] += index.list_ends[e] - before
        before = np.int64(index.list_ends[e])
