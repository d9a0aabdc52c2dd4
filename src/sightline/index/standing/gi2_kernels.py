"""Kernels of GI2; conventions are those of :mod:`sightline.index.standing._kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U8
from sightline.geo._kernels import step_of
from sightline.index.standing._kernels import Exact, MatchScratch, ObjectBatch, Posted, accepted, quantise, slot_hash
from sightline.jit import kernel

SIDE = 64  # grid cells per axis, PS2Stream section 6 (2^6 x 2^6)
ROOT = SIDE * SIDE  # pseudo cell of the queries that meet too many cells
IN_CELLS, IN_ROOT = 1, 2  # bits of Gi2Arrays.levels
TERM_BITS = 18  # of a term, beside the 13 bits of a cell, in a slot


class Gi2Arrays(NamedTuple):
    """Frozen GI2: ``slots`` maps (cell, term) to a run of inlined entries."""

    grid: F64  # x0, y0, quantised steps per unit in x, in y
    cells: F64  # x0, y0, cells per quantised step in x, in y
    levels: U8  # per term: IN_CELLS | IN_ROOT
    slots: I64  # first entry << 31 | cell << 18 | low bits of the term; -1 is empty
    entries: I32  # [e, 8] west, south, east, north, second, third, query, first term (complemented: last of its run)


@kernel
def cell_of(x: int, origin: float, scale: float) -> int:
    """Grid column of ``x``, clamped; monotone, so a closed interval meets the columns from one end to the other."""
    return step_of(x, origin, scale, SIDE - 1)


@kernel
def gi2_spread(posted: Posted, cells: F64, max_cells: int, stride: int, keys: I64, source: I32) -> int:
    """Number of entries: one per conjunct, piece and met cell (one alone at the root).

    Their keys and (conjunct, piece) are written if ``keys`` has room for any.
    """
    n = 0
    write = keys.shape[0] > 0
    for c in range(posted.conj_query.shape[0]):
        q = posted.conj_query[c]
        q = q if q >= 0 else -q - 1
        term = np.int64(posted.terms[c, 0])
        for p in range(posted.piece_offsets[q], posted.piece_offsets[q + 1]):
            x1, x2 = cell_of(posted.box[p, 0], cells[0], cells[2]), cell_of(posted.box[p, 2], cells[0], cells[2])
            y1, y2 = cell_of(posted.box[p, 1], cells[1], cells[3]), cell_of(posted.box[p, 3], cells[1], cells[3])
            met = (x2 - x1 + 1) * (y2 - y1 + 1)
            copies = met if met <= max_cells else 1
            if write:
                for k in range(copies):
                    cell = (y1 + k // (x2 - x1 + 1)) * SIDE + x1 + k % (x2 - x1 + 1) if met <= max_cells else ROOT
                    keys[n + k] = cell * stride + term
                    source[n + k, 0], source[n + k, 1] = c, p
            n += copies
    return n


@kernel
def gi2_fill(order: I64, keys: I64, source: I32, posted: Posted, stride: int, index: Gi2Arrays) -> None:
    """Write runs, slots and level bits; ``order`` sorts ``keys``."""
    size = index.slots.shape[0]
    start = 0
    for i in range(order.shape[0]):
        e = order[i]
        c, p = source[e, 0], source[e, 1]
        for j in range(4):
            index.entries[i, j] = posted.box[p, j]
        index.entries[i, 4], index.entries[i, 5] = posted.terms[c, 1], posted.terms[c, 2]
        index.entries[i, 6] = posted.conj_query[c]
        term = posted.terms[c, 0]
        index.entries[i, 7] = term
        key = keys[e]
        if i + 1 == order.shape[0] or keys[order[i + 1]] != key:
            index.entries[i, 7] = -term - 1
            slot = ((slot_hash(key) & 0x7FFFFFFF) * size) >> 31
            while index.slots[slot] >= 0:
                slot = slot + 1 if slot + 1 < size else 0
            cell = key // stride
            index.slots[slot] = (np.int64(start) << 31) | (cell << TERM_BITS) | (term & ((1 << TERM_BITS) - 1))
            index.levels[term] |= IN_ROOT if cell == ROOT else IN_CELLS
            start = i + 1


@kernel
def gi2_run(slots: I64, entries: I32, cell: int, term: int, stride: int) -> int:
    """First entry of a run, or -1.

    A slot has few bits of the term; those of the run's first entry, which is read next anyway, decide.
    """
    size = slots.shape[0]
    mark = (cell << TERM_BITS) | (term & ((1 << TERM_BITS) - 1))
    slot = ((slot_hash(cell * stride + term) & 0x7FFFFFFF) * size) >> 31
    while slots[slot] >= 0:
        if slots[slot] & 0x7FFFFFFF == mark:
            start: int = slots[slot] >> 31
            first = entries[start, 7]
            if first == term or first == -term - 1:
                return start
        slot = slot + 1 if slot + 1 < size else 0
    return -1


@kernel
def gi2_match(
    index: Gi2Arrays,
    exact: Exact,
    batch: ObjectBatch,
    scratch: MatchScratch,
    first: int,
    n: int,
    out_object: I32,
    out_query: I32,
) -> tuple[int, int, int]:
    """Match objects ``first``.. against all queries: (row to resume at, pairs so far, entries looked at)."""
    rows, room = batch.lon.shape[0], out_query.shape[0]
    wildcard = index.levels.shape[0] - 1
    stride = wildcard + 1
    levels, slots, entries, present = index.levels, index.slots, index.entries, scratch.present
    looked = 0
    for i in range(first, rows):
        before = n
        lo, hi = batch.offsets[i], batch.offsets[i + 1]
        lon, lat = batch.lon[i], batch.lat[i]
        x, y = quantise(lon, index.grid[0], index.grid[2]), quantise(lat, index.grid[1], index.grid[3])
        for j in range(lo, hi):
            t = batch.remap[batch.ids[j]]
            if t >= 0:
                present[t] = 1
        cell = cell_of(y, index.cells[1], index.cells[3]) * SIDE + cell_of(x, index.cells[0], index.cells[2])
        full = False
        for j in range(lo, hi + 1):
            t = wildcard
            if j < hi:
                t = int(batch.remap[batch.ids[j]])
            if t < 0 or levels[t] == 0:
                continue
            for level in range(2):
                if levels[t] & (1 << level) == 0:
                    continue
                e = gi2_run(slots, entries, cell if level == 0 else ROOT, t, stride)
                last = e < 0
                while not last:
                    looked += 1
                    last = entries[e, 7] < 0
                    third = entries[e, 5]
                    if present[entries[e, 4]] != 0 and (third > wildcard or present[third] != 0):
                        west, south, east, north = entries[e, 0], entries[e, 1], entries[e, 2], entries[e, 3]
                        if west <= x and x <= east and south <= y and y <= north:
                            tie = west == x or x == east or south == y or y == north
                            q = entries[e, 6]
                            if tie or q < 0 or third > wildcard:
                                q = accepted(q, third, tie, i, lon, lat, exact, scratch)
                            if q >= 0:
                                if n == room:
                                    full = True
                                    break
                                out_object[n] = i
                                out_query[n] = q
                                n += 1
                    e += 1
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
            scratch.stamp[:] = 0
            return i, before, looked
    return rows, n, looked
