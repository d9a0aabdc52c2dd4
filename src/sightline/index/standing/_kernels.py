"""Kernels of the standing indexes: queries wait, objects pass.

All of them share three conventions.

* Term ids are those of the query block; ``remap`` takes an object's own ids there (-1: no query has the term).
  The id after the last one is the *wildcard*: every object has it, so match-all queries, and the unused keyword
  columns of short conjuncts, need no branch of their own.
* ``present[t]`` is 1 while the object in hand has term ``t``; ``present[wildcard]`` is always 1.
* Output buffers resume: a kernel that runs out of room takes back the pairs of the object in hand and returns
  its row; the caller brings a new buffer and goes on from there. Nothing is ever cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.geo._kernels import haversine_mm, planar_mm
from sightline.index.arrays import F64, I32, I64, U8
from sightline.jit import kernel

SIDE = 64  # grid cells per axis, PS2Stream section 6 (2^6 x 2^6)
ROOT = SIDE * SIDE  # pseudo cell of the queries that meet too many cells
IN_CELLS, IN_ROOT = 1, 2  # bits of Gi2Arrays.levels
FAN = 16  # entries per block and blocks per group of the inverted file


class Conjuncts(NamedTuple):
    """Verification lists of a block: conjunct -> positive and negative term ids."""

    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32


CONJUNCT_TYPES = (np.int64, np.int32, np.int64, np.int32)


class Batch(NamedTuple):
    """The objects of one call."""

    lon: F64
    lat: F64
    offsets: I64
    ids: I32
    remap: I32


class Gi2Arrays(NamedTuple):
    """Frozen GI2: ``slots`` maps (cell, term) to a run of inlined entries."""

    grid: F64  # x0, y0, cells per degree in x, in y
    levels: U8  # per term: IN_CELLS | IN_ROOT
    slots: I64  # [m, 2] key, start << 32 | length; key -1 is empty
    boxes: F64  # [e, 4] west, south, east, north
    entries: I32  # [e, 4] second term, third term, conjunct, query


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
def cell_of(x: float, origin: float, scale: float) -> int:
    """Grid column of ``x``, clamped; monotone, so a closed interval meets the columns from one end to the other."""
    v = (x - origin) * scale
    if v <= 0.0:
        return 0
    if v >= SIDE - 1:
        return SIDE - 1
    return int(v)


@kernel
def slot_hash(key: int) -> int:
    """Mix of a non-negative key below 2**60 that never leaves int64 (so plain Python computes the same)."""
    h = key ^ (key >> 29)
    h = (h & 0x7FFFFFFF) * 0x5BD1E995
    return (h ^ (h >> 31)) >> 7


@kernel
def key_terms(lists: Conjuncts, frequency: I64, wildcard: int) -> I32:
    """Per conjunct: its three rarest terms, rarest first (wildcard where there are fewer), and a verify flag.

    The flag says that the three columns do not tell everything: more than three positives, or a negative.
    """
    n = lists.pos_offsets.shape[0] - 1
    out = np.empty((n, 4), np.int32)
    for c in range(n):
        a, b, d = wildcard, wildcard, wildcard
        fa, fb, fd = np.int64(2**62), np.int64(2**62), np.int64(2**62)
        for j in range(lists.pos_offsets[c], lists.pos_offsets[c + 1]):
            t = lists.pos[j]
            f = frequency[t]
            if f < fa:
                a, b, d = t, a, b
                fa, fb, fd = f, fa, fb
            elif f < fb:
                b, d = t, b
                fb, fd = f, fb
            elif f < fd:
                d = t
                fd = f
        out[c, 0], out[c, 1], out[c, 2] = a, b, d
        many = lists.pos_offsets[c + 1] - lists.pos_offsets[c] > 3
        out[c, 3] = 1 if many or lists.neg_offsets[c + 1] > lists.neg_offsets[c] else 0
    return out


@kernel
def gi2_copies(conj_query: I32, piece_offsets: I64, piece_box: F64,
               grid: F64, max_cells: int) -> int:
    """Entries that the block needs: one per conjunct, piece and met cell (one alone at the root)."""
    total = 0
    for c in range(conj_query.shape[0]):
        q = conj_query[c]
        for p in range(piece_offsets[q], piece_offsets[q + 1]):
            nx = cell_of(piece_box[p, 2], grid[0], grid[2]) - cell_of(piece_box[p, 0], grid[0], grid[2]) + 1
            ny = cell_of(piece_box[p, 3], grid[1], grid[3]) - cell_of(piece_box[p, 1], grid[1], grid[3]) + 1
            total += nx * ny if nx * ny <= max_cells else 1
    return total


@kernel
def gi2_spread(conj_query: I32, piece_offsets: I64, piece_box: F64,
               grid: F64, max_cells: int, terms: I32, stride: int,
               keys: I64, source: I32) -> None:
    """Write the key and the (conjunct, piece) of every entry counted by :func:`gi2_copies`."""
    n = 0
    for c in range(conj_query.shape[0]):
        q = conj_query[c]
        term = np.int64(terms[c, 0])
        for p in range(piece_offsets[q], piece_offsets[q + 1]):
            x1, x2 = cell_of(piece_box[p, 0], grid[0], grid[2]), cell_of(piece_box[p, 2], grid[0], grid[2])
            y1, y2 = cell_of(piece_box[p, 1], grid[1], grid[3]), cell_of(piece_box[p, 3], grid[1], grid[3])
            if (x2 - x1 + 1) * (y2 - y1 + 1) > max_cells:
                keys[n] = ROOT * stride + term
                source[n, 0], source[n, 1] = c, p
                n += 1
                continue
            for y in range(y1, y2 + 1):
                for x in range(x1, x2 + 1):
                    keys[n] = (y * SIDE + x) * stride + term
                    source[n, 0], source[n, 1] = c, p
                    n += 1


@kernel
def gi2_fill(order: I64, keys: I64, source: I32,
             conj_query: I32, piece_offsets: I64,
             piece_box: F64, terms: I32, shared: U8,
             stride: int, index: Gi2Arrays) -> None:
    """Write runs, slots and level bits; ``order`` sorts ``keys``, ``shared[q]`` says that q has several entries."""
    mask = index.slots.shape[0] - 1
    start = 0
    for i in range(order.shape[0]):
        e = order[i]
        c, p = source[e, 0], source[e, 1]
        q = conj_query[c]
        for j in range(4):
            index.boxes[i, j] = piece_box[p, j]
        index.entries[i, 0], index.entries[i, 1] = terms[c, 1], terms[c, 2]
        # A negative conjunct asks for verification, a negative query for the duplicate check.
        index.entries[i, 2] = -c - 1 if terms[c, 3] else c
        index.entries[i, 3] = -q - 1 if shared[q] else q
        key = keys[e]
        if i + 1 == order.shape[0] or keys[order[i + 1]] != key:
            slot = slot_hash(key) & mask
            while index.slots[slot, 0] >= 0:
                slot = (slot + 1) & mask
            index.slots[slot, 0] = key
            index.slots[slot, 1] = (np.int64(start) << 32) | (i + 1 - start)
            index.levels[key % stride] |= IN_ROOT if key // stride == ROOT else IN_CELLS
            start = i + 1


@kernel
def holds(c: int, lists: Conjuncts, present: U8) -> bool:
    """Whether the object in hand has all positive and no negative terms of conjunct ``c``."""
    for j in range(lists.pos_offsets[c], lists.pos_offsets[c + 1]):
        if present[lists.pos[j]] == 0:
            return False
    broken = 0
    for j in range(lists.neg_offsets[c], lists.neg_offsets[c + 1]):
        broken += present[lists.neg[j]]
    return broken == 0


@kernel
def gi2_match(index: Gi2Arrays, lists: Conjuncts, batch: Batch, first: int, present: U8,
              stamp: I32, out_object: I32,
              out_query: I32) -> tuple[int, int, int]:
    """Match objects ``first``.. against all queries: (row to resume at, pairs written, entries looked at)."""
    rows, room = batch.lon.shape[0], out_query.shape[0]
    wildcard = index.levels.shape[0] - 1
    stride = np.int64(wildcard + 1)
    mask = index.slots.shape[0] - 1
    levels, slots, boxes, entries = index.levels, index.slots, index.boxes, index.entries
    n, looked = 0, 0
    for i in range(first, rows):
        before = n
        lo, hi = batch.offsets[i], batch.offsets[i + 1]
        lon, lat = batch.lon[i], batch.lat[i]
        for j in range(lo, hi):
            t = batch.remap[batch.ids[j]]
            if t >= 0:
                present[t] = 1
        cell = cell_of(lat, index.grid[1], index.grid[3]) * SIDE + cell_of(lon, index.grid[0], index.grid[2])
        full = False
        for j in range(lo, hi + 1):
            t = wildcard
            if j < hi:
                t = batch.remap[batch.ids[j]]
            if t < 0 or levels[t] == 0:
                continue
            for level in range(2):
                if levels[t] & (1 << level) == 0:
                    continue
                key = (cell if level == 0 else ROOT) * stride + t
                slot = slot_hash(key) & mask
                while slots[slot, 0] != key and slots[slot, 0] >= 0:
                    slot = (slot + 1) & mask
                if slots[slot, 0] < 0:
                    continue
                start = slots[slot, 1] >> 32
                stop = start + (slots[slot, 1] & 0xFFFFFFFF)
                looked += stop - start
                for e in range(start, stop):
                    if present[entries[e, 0]] & present[entries[e, 1]] == 0:
                        continue
                    if lon < boxes[e, 0] or lon > boxes[e, 2] or lat < boxes[e, 1] or lat > boxes[e, 3]:
                        continue
                    c, q = entries[e, 2], entries[e, 3]
                    if c < 0 and not holds(-c - 1, lists, present):
                        continue
                    if q < 0:
                        q = -q - 1
                        if stamp[q] == i:
                            continue
                        stamp[q] = i
                    if n == room:
                        full = True
                        break
                    out_object[n] = i
                    out_query[n] = q
                    n += 1
                if full:
                    break
            if full:
                break
        for j in range(lo, hi):
            t = batch.remap[batch.ids[j]]
            if t >= 0:
                present[t] = 0
        if full:
            # The pair that found no room may have stamped its query already; so may the ones taken back.
            stamp[:] = -1
            return i, before, looked
    return rows, n, looked


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
