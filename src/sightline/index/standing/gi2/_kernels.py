"""Kernels of GI2; conventions are those of :mod:`sightline.index.standing._kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.index.arrays import F64, I32, I64, U8
from sightline.index.standing._kernels import Batch, Conjuncts, holds, slot_hash
from sightline.jit import kernel

SIDE = 64  # grid cells per axis, PS2Stream section 6 (2^6 x 2^6)
ROOT = SIDE * SIDE  # pseudo cell of the queries that meet too many cells
IN_CELLS, IN_ROOT = 1, 2  # bits of Gi2Arrays.levels


class Gi2Arrays(NamedTuple):
    """Frozen GI2: ``slots`` maps (cell, term) to a run of inlined entries."""

    grid: F64  # x0, y0, cells per degree in x, in y
    levels: U8  # per term: IN_CELLS | IN_ROOT
    slots: I64  # [m, 2] key, start << 32 | length; key -1 is empty
    boxes: F64  # [e, 4] west, south, east, north
    entries: I32  # [e, 4] second term, third term, conjunct, query


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
