"""Kernels of the inverted file; conventions are those of :mod:`sightline.index.standing._kernels`."""

from __future__ import annotations

from typing import NamedTuple

from sightline.geo._kernels import haversine_mm, planar_mm
from sightline.index.arrays import F64, I32, I64, U8
from sightline.index.standing._kernels import Batch, Conjuncts, holds
from sightline.jit import kernel

FAN = 16  # entries per block and blocks per group of the inverted file


class InvertedArrays(NamedTuple):
    """Frozen inverted file of nearest queries, with boxes over runs of FAN and FAN * FAN entries."""

    starts: I64  # [terms + 2] first entry of each key term
    blocks: I64  # [terms + 2] first block of each key term
    groups: I64  # [terms + 2] first group of each key term
    block_box: F64  # [b, 6]
    group_box: F64  # [g, 6]
    points: F64  # [e, 3]
    entries: I32  # [e, 4] as in Gi2Arrays
    at: F64  # [n, 2]


@kernel
def box_gap2(x: float, y: float, z: float, box: F64, row: int) -> float:
    """Squared distance of a point from a box ``x1, y1, z1, x2, y2, z2``."""
    dx = max(box[row, 0] - x, x - box[row, 3], 0.0)
    dy = max(box[row, 1] - y, y - box[row, 4], 0.0)
    dz = max(box[row, 2] - z, z - box[row, 5], 0.0)
    return float(dx * dx + dy * dy + dz * dz)


@kernel
def inverted_boxes(starts: I64, units: I64, points: F64,
                   span: int, out: F64) -> None:
    """Bounding boxes of the runs of ``span`` entries of every key term."""
    for t in range(starts.shape[0] - 1):
        for u in range(units[t], units[t + 1]):
            first = starts[t] + (u - units[t]) * span
            last = min(first + span, starts[t + 1])
            for d in range(3):
                low, high = points[first, d], points[first, d]
                for e in range(first + 1, last):
                    low, high = min(low, points[e, d]), max(high, points[e, d])
                out[u, d], out[u, d + 3] = low, high


@kernel
def inverted_limits(index: InvertedArrays, limit: F64, block_limit: F64,
                    group_limit: F64) -> None:
    """Largest limit of the queries of each block and group; radii change with every batch, boxes do not."""
    for t in range(index.starts.shape[0] - 1):
        for b in range(index.blocks[t], index.blocks[t + 1]):
            first = index.starts[t] + (b - index.blocks[t]) * FAN
            top = -1.0
            for e in range(first, min(first + FAN, index.starts[t + 1])):
                q = index.entries[e, 3]
                top = max(top, limit[-q - 1 if q < 0 else q])
            block_limit[b] = top
        for g in range(index.groups[t], index.groups[t + 1]):
            first = index.blocks[t] + (g - index.groups[t]) * FAN
            top = -1.0
            for b in range(first, min(first + FAN, index.blocks[t + 1])):
                top = max(top, block_limit[b])
            group_limit[g] = top


@kernel
def inverted_match(index: InvertedArrays, lists: Conjuncts, batch: Batch, points: F64, first: int,
                   limits: tuple[F64, F64, F64],
                   radius: I64, planar: bool, present: U8,
                   stamp: I32, out_object: I32,
                   out_query: I32, out_mm: I64) -> tuple[int, int, int]:
    """All pairs whose keywords match within ``radius[query]``: (row to resume at, pairs, entries looked at).

    ``limits`` (query, block, group) bound squared straight-line distances from above and only save work;
    the decision is the exact rounded distance.
    """
    rows, room = batch.lon.shape[0], out_query.shape[0]
    query_limit, block_limit, group_limit = limits
    wildcard = index.starts.shape[0] - 2
    n, looked = 0, 0
    for i in range(first, rows):
        before = n
        lo, hi = batch.offsets[i], batch.offsets[i + 1]
        for j in range(lo, hi):
            t = batch.remap[batch.ids[j]]
            if t >= 0:
                present[t] = 1
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        full = False
        for j in range(lo, hi + 1):
            t = wildcard
            if j < hi:
                t = batch.remap[batch.ids[j]]
            if t < 0 or full:
                continue
            for g in range(index.groups[t], index.groups[t + 1]):
                if full or box_gap2(x, y, z, index.group_box, g) > group_limit[g]:
                    continue
                b1 = index.blocks[t] + (g - index.groups[t]) * FAN
                for b in range(b1, min(b1 + FAN, index.blocks[t + 1])):
                    if full or box_gap2(x, y, z, index.block_box, b) > block_limit[b]:
                        continue
                    e1 = index.starts[t] + (b - index.blocks[t]) * FAN
                    e2 = min(e1 + FAN, index.starts[t + 1])
                    looked += e2 - e1
                    for e in range(e1, e2):
                        if present[index.entries[e, 0]] & present[index.entries[e, 1]] == 0:
                            continue
                        c, q = index.entries[e, 2], index.entries[e, 3]
                        shared = q < 0
                        if shared:
                            q = -q - 1
                        dx, dy, dz = index.points[e, 0] - x, index.points[e, 1] - y, index.points[e, 2] - z
                        if dx * dx + dy * dy + dz * dz > query_limit[q]:
                            continue
                        if c < 0 and not holds(-c - 1, lists, present):
                            continue
                        if shared and stamp[q] == i:
                            continue
                        if planar:
                            mm = planar_mm(index.at[q, 0], index.at[q, 1], batch.lon[i], batch.lat[i])
                        else:
                            mm = haversine_mm(index.at[q, 0], index.at[q, 1], batch.lon[i], batch.lat[i])
                        if mm > radius[q]:
                            continue
                        if n == room:
                            full = True
                            break
                        if shared:
                            stamp[q] = i
                        out_object[n] = i
                        out_query[n] = q
                        out_mm[n] = mm
                        n += 1
        for j in range(lo, hi):
            t = batch.remap[batch.ids[j]]
            if t >= 0:
                present[t] = 0
        if full:
            stamp[:] = -1
            return i, before, looked
    return rows, n, looked
