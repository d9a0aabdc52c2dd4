"""Kernels of the delta; conventions are those of :mod:`sightline.index.standing._kernels`, but for the wildcard.

The delta's dictionary grows, so "the id after the last" would move: here term 0 is the wildcard, and term ``t`` of the
dictionary is ``t + 1``. ``remap`` takes a term that no query has to 0; the loops leave it out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U8
from sightline.index._kernels import Conjuncts
from sightline.index.standing._kernels import ObjectBatch, holds
from sightline.index.standing.pyramid_kernels import (
    DEEPEST,
    STEP,
    TERM_BITS,
    box_cells,
    cell_code,
    fine_cell,
    own_level,
    pair_home,
    pair_key,
    pair_slot,
)
from sightline.jit import kernel

WILDCARD = 0
AHEAD = 32  # keys whose lines of the table are fetched before one is searched, so that the cache misses overlap
MOST_CELLS = 4  # copies of a piece; with 2 a mixed load of 50 k looked at 2.2 times the entries


class DeltaArrays(NamedTuple):
    """Chained table: ``slots`` maps (cell, term) to the newest of its entries, each entry names the one before it."""

    grid: F64  # x0, y0, finest cells per unit in x, in y
    levels: U8  # per term: bit l is set where the term keys entries of pyramid level l
    slots: I64  # [m, 2] key, newest entry; key -1 is empty
    boxes: F64  # [e, 4] west, south, east, north
    entries: I32  # [e, 5] second term, third term, list to verify (-1: none), query, next entry (-1: last)
    alive: U8  # per query: 0 once it was deleted


@kernel
def delta_copies(conj_query: I32, piece_offsets: I64, piece_box: F64, grid: F64) -> int:
    """Entries that a block needs: one per conjunct, piece and met cell."""
    total = 0
    for c in range(conj_query.shape[0]):
        q = conj_query[c]
        for p in range(piece_offsets[q], piece_offsets[q + 1]):
            x1, x2, y1, y2 = box_cells(piece_box[p], grid)
            shift = STEP * (DEEPEST - own_level(x1, x2, y1, y2, MOST_CELLS))
            total += ((x2 >> shift) - (x1 >> shift) + 1) * ((y2 >> shift) - (y1 >> shift) + 1)
    return total


@kernel
def fetch(slots: I64, keys: I64, n: int, seen: I64) -> None:
    """Read where the search for each of n keys begins; no branch depends on what is there."""
    for i in range(n):
        seen[i] = slots[pair_home(slots.shape[0] - 1, keys[i] >> TERM_BITS, keys[i] & ((1 << TERM_BITS) - 1)), 0]


@kernel
def chain(slots: I64, entries: I32, keys: I64, seen: I64, first: int, end: int) -> int:
    """Chain the entries ``first:end`` under their keys; returns how many keys are new."""
    fresh = 0
    fetch(slots, keys, end - first, seen)
    for e in range(first, end):
        key = keys[e - first]
        slot = pair_slot(slots, key >> TERM_BITS, key & ((1 << TERM_BITS) - 1))
        if slots[slot, 0] < 0:
            slots[slot, 0], slots[slot, 1] = key, -1
            fresh += 1
        entries[e, 4] = slots[slot, 1]
        slots[slot, 1] = e
    return fresh


@kernel
def delta_insert(
    delta: DeltaArrays,
    used: I64,
    conj_query: I32,
    piece_offsets: I64,
    piece_box: F64,
    terms: I32,
    verify: I32,
    shared: U8,
    first_query: int,
) -> None:
    """Chain the entries of a block; there is room. ``used`` counts entries and keys."""
    e, in_all = used[0], used[1]
    grid, levels, slots, boxes, entries = delta.grid, delta.levels, delta.slots, delta.boxes, delta.entries
    first, keys, seen = e, np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64)
    for c in range(conj_query.shape[0]):
        row = conj_query[c]
        q = row + first_query
        term = terms[c, 0]
        for p in range(piece_offsets[row], piece_offsets[row + 1]):
            x1, x2, y1, y2 = box_cells(piece_box[p], grid)
            level = own_level(x1, x2, y1, y2, MOST_CELLS)
            shift = STEP * (DEEPEST - level)
            levels[term] |= np.uint8(1 << level)
            for y in range(y1 >> shift, (y2 >> shift) + 1):
                for x in range(x1 >> shift, (x2 >> shift) + 1):
                    if e - first == AHEAD:
                        in_all += chain(slots, entries, keys, seen, first, e)
                        first = e
                    keys[e - first] = pair_key(cell_code(level, x << shift, y << shift), term)
                    for j in range(4):
                        boxes[e, j] = piece_box[p, j]
                    entries[e, 0], entries[e, 1], entries[e, 2] = terms[c, 1], terms[c, 2], verify[c]
                    # A negative query asks for the duplicate check.
                    entries[e, 3] = -q - 1 if shared[row] else q
                    e += 1
    in_all += chain(slots, entries, keys, seen, first, e)
    used[0], used[1] = e, in_all


@kernel
def delta_rehash(old: I64, new: I64) -> None:
    """Enter all keys of a table into a larger, empty one."""
    for i in range(old.shape[0]):
        key = old[i, 0]
        if key >= 0:
            slot = pair_slot(new, key >> TERM_BITS, key & ((1 << TERM_BITS) - 1))
            new[slot, 0], new[slot, 1] = key, old[i, 1]


@kernel
def delta_match(
    delta: DeltaArrays,
    lists: Conjuncts,
    batch: ObjectBatch,
    present: U8,
    stamp: I32,
    first: int,
    n: int,
    out_object: I32,
    out_query: I32,
) -> tuple[int, int, int]:
    """Match objects ``first``.. against all queries: (row to resume at, pairs so far, entries looked at)."""
    rows, room = batch.lon.shape[0], out_query.shape[0]
    levels, slots, boxes, entries = delta.levels, delta.slots, delta.boxes, delta.entries
    looked = 0
    for i in range(first, rows):
        before = n
        lo, hi = batch.offsets[i], batch.offsets[i + 1]
        lon, lat = batch.lon[i], batch.lat[i]
        for j in range(lo, hi):
            present[batch.remap[batch.ids[j]]] = 1
        x, y = fine_cell(lon, delta.grid[0], delta.grid[2]), fine_cell(lat, delta.grid[1], delta.grid[3])
        full = False
        for j in range(lo, hi + 1):
            t = WILDCARD
            if j < hi:
                t = batch.remap[batch.ids[j]]
                if t == WILDCARD:
                    continue
            mask = np.int64(levels[t])
            level = -1
            while mask != 0 and not full:
                level += 1
                here = mask & 1
                mask >>= 1
                if here == 0:
                    continue
                slot = pair_slot(slots, cell_code(level, x, y), t)
                if slots[slot, 0] < 0:
                    continue
                after = slots[slot, 1]
                while after >= 0:
                    e = after
                    after = np.int64(entries[e, 4])
                    looked += 1
                    if present[entries[e, 0]] & present[entries[e, 1]] == 0:
                        continue
                    if lon < boxes[e, 0] or lon > boxes[e, 2] or lat < boxes[e, 1] or lat > boxes[e, 3]:
                        continue
                    if entries[e, 2] >= 0 and not holds(entries[e, 2], lists, present):
                        continue
                    q = entries[e, 3]
                    if q < 0:
                        q = -q - 1
                        if stamp[q] == i:
                            continue
                        stamp[q] = i
                    if delta.alive[q] == 0:
                        continue
                    if n == room:
                        full = True
                        break
                    out_object[n] = i
                    out_query[n] = q
                    n += 1
            if full:
                break
        for j in range(lo, hi):
            present[batch.remap[batch.ids[j]]] = 0
        present[WILDCARD] = 1
        if full:
            # The pair that found no room may have stamped its query already; so may the ones taken back.
            stamp[:] = -1
            return i, before, looked
    return rows, n, looked
