"""Kernels of the levels index; conventions are those of :mod:`sightline.index.standing._kernels`.

Inside its cell a place has 14 bits per axis, the ones below the cell's in the quantised coordinate. A box, clipped to
the cell, is four such numbers in one int64: west, south, and the distances of east and north from the far edges, each
with a guard bit above. One subtraction from the point's four numbers, guards set, tests all four sides: a guard that
survives says that its side holds. Subtracting one more from each says so strictly; the two differ on an edge only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U16
from sightline.index.standing._kernels import Exact, MatchScratch, ObjectBatch, Posted, accepted, quantise
from sightline.jit import kernel

MAX_DEPTH = 14  # cells per axis 2^14
FINE = 16383  # largest place inside a cell
HALF = (1 << 30) - 1  # two lanes of 15 bits
GUARDS = (1 << 14) | (1 << 29) | (1 << 44) | (1 << 59)
ONES = 1 | (1 << 15) | (1 << 30) | (1 << 45)
LAST = 1 << 30  # flag in the second half of a box: last entry of its run
TERM = (1 << 30) - 1


class LevelArrays(NamedTuple):
    """Frozen index: cell -> its slots, slot -> run of entries, those that need one term only at the end."""

    grid: F64  # x0, y0, quantised steps per unit in x, in y
    depths: I32  # levels in use, ascending; level d has 2^d cells per axis
    gate: U16  # per term: bit l is set if it has a run at depths[l]
    cells: I64  # [m, 2] cell number, first slot << 30 | slots; -1 is empty
    slots: I64  # first entry << 30 | term; -1 is empty
    entries: I32  # [e, 5] box (two halves), second term (-1: none to check), third, query


@kernel
def depth_of(box: I32, p: int) -> int:
    """Natural depth of a piece: the deepest level whose cells are as large as its longer side."""
    side = max(np.int64(box[p, 2]) - box[p, 0], np.int64(box[p, 3]) - box[p, 1]) + 1
    depth = MAX_DEPTH
    while depth > 0 and 1 << (31 - depth) < side:
        depth -= 1
    return depth


@kernel
def levels_census(posted: Posted, step: int, weight: F64, crowd_depth: int, sums: F64, census: F64) -> None:
    """Per natural depth and depth of cells: pieces, entries, and sum of the probabilities that an object meets one.

    Every ``step``-th conjunct is looked at. Cells smaller than those of the crowd are taken to have their share of it.
    """
    for c in range(0, posted.conj_query.shape[0], step):
        q = posted.conj_query[c]
        q = q if q >= 0 else -q - 1
        for p in range(posted.piece_offsets[q], posted.piece_offsets[q + 1]):
            natural = depth_of(posted.box, p)
            for depth in range(MAX_DEPTH + 1):
                s = 31 - depth
                x1, x2 = np.int64(posted.box[p, 0] >> s), np.int64(posted.box[p, 2] >> s)
                y1, y2 = np.int64(posted.box[p, 1] >> s), np.int64(posted.box[p, 3] >> s)
                entries = float((x2 - x1 + 1) * (y2 - y1 + 1))
                share = 1.0
                if depth > crowd_depth:
                    x1, x2 = x1 >> (depth - crowd_depth), x2 >> (depth - crowd_depth)
                    y1, y2 = y1 >> (depth - crowd_depth), y2 >> (depth - crowd_depth)
                    met = float((x2 - x1 + 1) * (y2 - y1 + 1))
                    share = entries / (met * float(np.int64(1) << (2 * (depth - crowd_depth))))
                up = max(crowd_depth - depth, 0)
                x1, x2, y1, y2 = x1 << up, (x2 + 1) << up, y1 << up, (y2 + 1) << up
                mass = sums[y2, x2] - sums[y1, x2] - sums[y2, x1] + sums[y1, x1]
                census[natural, depth, 0] += 1.0
                census[natural, depth, 1] += entries
                census[natural, depth, 2] += mass * share * weight[posted.terms[c, 0]]


@kernel
def clipped(v: int, cell: int, depth: int) -> int:
    """A quantised coordinate inside a cell, that of the nearer edge if it is outside."""
    w = v >> (17 - depth)
    return min(max(w - (cell << 14), 0), FINE)


@kernel
def levels_spread(posted: Posted, level_of: I32, depths: I32, bases: I64, wildcard: int, keys: I64, raw: I32) -> int:
    """Number of entries; their keys and they themselves are written if ``keys`` has room for any.

    A key is cell number, term, and whether the term is all there is to check; ``level_of[depth]`` is the level used
    for a depth, ``bases`` the first cell number of each level.
    """
    n = 0
    write = keys.shape[0] > 0
    stride, box = np.int64(wildcard + 1), posted.box
    for c in range(posted.conj_query.shape[0]):
        q = posted.conj_query[c]
        q = q if q >= 0 else -q - 1
        term = np.int64(posted.terms[c, 0])
        single = 1 if posted.terms[c, 1] == wildcard and posted.terms[c, 2] == wildcard else 0
        for p in range(posted.piece_offsets[q], posted.piece_offsets[q + 1]):
            level = level_of[depth_of(posted.box, p)]
            depth = int(depths[level])
            s = 31 - depth
            x1, x2 = int(posted.box[p, 0] >> s), int(posted.box[p, 2] >> s)
            y1, y2 = int(posted.box[p, 1] >> s), int(posted.box[p, 3] >> s)
            if write:
                k = n
                for y in range(y1, y2 + 1):
                    for x in range(x1, x2 + 1):
                        cell = bases[level] + (y << depth) + x
                        keys[k] = (cell * stride + term) * 2 + single
                        east, north = clipped(box[p, 2], x, depth), clipped(box[p, 3], y, depth)
                        raw[k, 0] = clipped(box[p, 0], x, depth) | (clipped(box[p, 1], y, depth) << 15)
                        raw[k, 1] = (FINE - east) | ((FINE - north) << 15)
                        raw[k, 2] = -1 if single else posted.terms[c, 1]
                        raw[k, 3], raw[k, 4] = posted.terms[c, 2], posted.conj_query[c]
                        k += 1
            n += (x2 - x1 + 1) * (y2 - y1 + 1)
    return n


@kernel
def levels_count(ordered: I64, stride: int) -> tuple[int, int]:
    """Cells and slots that ascending keys need; a cell has half as many slots again as terms, and one empty."""
    cells, slots, terms = 0, 0, 0
    for i in range(ordered.shape[0]):
        run = ordered[i] >> 1
        if i == 0 or run != ordered[i - 1] >> 1:
            if i == 0 or run // stride != (ordered[i - 1] >> 1) // stride:
                slots += terms + (terms >> 1) + 1 if terms else 0
                cells += 1
                terms = 0
            terms += 1
    return cells, slots + (terms + (terms >> 1) + 1 if terms else 0)


@kernel
def place(hashed: int, size: int) -> int:
    """Where a small number starts to probe a table of any size below 2^32."""
    return ((((hashed * 0x9E3779B1) & 0xFFFFFFFF) >> 1) * size) >> 31


@kernel
def levels_fill(order: I64, ordered: I64, raw: I32, bases: I64, index: LevelArrays) -> None:
    """Put the entries in order, mark the ends of runs, and write slots, cells and gates; ``ordered``: sorted keys."""
    stride = np.int64(index.gate.shape[0])
    n = order.shape[0]
    first_slot, i = 0, 0
    while i < n:
        cell = (ordered[i] >> 1) // stride
        beyond = (cell + 1) * stride * 2
        terms, end = 0, i
        while end < n and ordered[end] < beyond:
            if end == i or ordered[end] >> 1 != ordered[end - 1] >> 1:
                terms += 1
            end += 1
        size = terms + (terms >> 1) + 1
        at = place(cell, index.cells.shape[0])
        while index.cells[at, 0] >= 0:
            at = at + 1 if at + 1 < index.cells.shape[0] else 0
        index.cells[at, 0], index.cells[at, 1] = cell, (np.int64(first_slot) << 30) | size
        level = 0
        while level + 1 < bases.shape[0] and bases[level + 1] <= cell:
            level += 1
        while i < end:
            run = ordered[i] >> 1
            term = run - cell * stride
            at = place(term, size)
            while index.slots[first_slot + at] >= 0:
                at = at + 1 if at + 1 < size else 0
            index.slots[first_slot + at] = (np.int64(i) << 30) | term
            index.gate[term] |= 1 << level
            while i < end and ordered[i] >> 1 == run:
                for k in range(5):
                    index.entries[i, k] = raw[order[i], k]
                i += 1
            index.entries[i - 1, 1] |= LAST
        first_slot += size


@kernel
def levels_match(
    index: LevelArrays,
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
    gate, slots, entries, present = index.gate, index.slots, index.entries, scratch.present
    wildcard = gate.shape[0] - 1
    levels = index.depths.shape[0]
    longest = 0
    for i in range(first, rows):
        longest = max(longest, batch.offsets[i + 1] - batch.offsets[i])
    has, keyed, gates = np.empty(longest, np.int32), np.empty(longest + 1, np.int32), np.empty(longest + 1, np.int32)
    # Along the curve the next object is mostly in the same cells: their slots are kept, per level.
    at, slot0, size_of = np.full(levels, -1, np.int64), np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    bases = np.zeros(levels, np.int64)
    for level in range(1, levels):
        bases[level] = bases[level - 1] + (np.int64(1) << (2 * index.depths[level - 1]))
    looked = 0
    for i in range(first, rows):
        before = n
        lon, lat = batch.lon[i], batch.lat[i]
        m, k = 0, 0
        for j in range(batch.offsets[i], batch.offsets[i + 1]):
            t = batch.remap[batch.ids[j]]
            if t >= 0:
                present[t] = 1
                has[m] = t
                m += 1
                g = gate[t]
                keyed[k], gates[k] = t, g
                k += g != 0
        if gate[wildcard] != 0:
            keyed[k], gates[k] = wildcard, gate[wildcard]
            k += 1
        x, y = quantise(lon, index.grid[0], index.grid[2]), quantise(lat, index.grid[1], index.grid[3])
        full = False
        for level in range(levels):
            depth = int(index.depths[level])
            cell = bases[level] + ((y >> (31 - depth)) << depth) + (x >> (31 - depth))
            if cell != at[level]:
                at[level] = cell
                c = place(cell, index.cells.shape[0])
                while index.cells[c, 0] >= 0 and index.cells[c, 0] != cell:
                    c = c + 1 if c + 1 < index.cells.shape[0] else 0
                known = index.cells[c, 0] == cell
                slot0[level] = index.cells[c, 1] >> 30 if known else 0
                size_of[level] = index.cells[c, 1] & TERM if known else 0
            size, start = size_of[level], slot0[level]
            if size == 0:
                continue
            fx, fy = (x >> (17 - depth)) & FINE, (y >> (17 - depth)) & FINE
            point = fx | (fy << 15) | ((FINE - fx) << 30) | ((FINE - fy) << 45) | GUARDS
            for j in range(k):
                if (gates[j] >> level) & 1 == 0:
                    continue
                t = int(keyed[j])
                s = place(t, size)
                word = slots[start + s]
                while word >= 0 and word & TERM != t:
                    s = s + 1 if s + 1 < size else 0
                    word = slots[start + s]
                if word < 0:
                    continue
                e = word >> 30
                looked -= e
                last = False
                while not last:
                    second = entries[e, 2]
                    if second < 0:
                        break
                    far = entries[e, 1]
                    last = far >= LAST
                    if present[second] != 0:
                        third = entries[e, 3]
                        if third > wildcard or present[third] != 0:
                            d = point - (np.int64(entries[e, 0]) | (np.int64(far & HALF) << 30))
                            if d & GUARDS == GUARDS:
                                tie = (d - ONES) & GUARDS != GUARDS
                                q = entries[e, 4]
                                if tie or q < 0 or third > wildcard:
                                    q = accepted(q, third, tie, i, lon, lat, exact, scratch)
                                if q >= 0:
                                    if n == room:
                                        full = True
                                        break
                                    out_query[n] = q
                                    n += 1
                    e += 1
                while not last and not full:
                    if n == room:
                        full = True
                        break
                    far = entries[e, 1]
                    last = far >= LAST
                    q = entries[e, 4]
                    d = point - (np.int64(entries[e, 0]) | (np.int64(far & HALF) << 30))
                    closed, strict = d & GUARDS == GUARDS, (d - ONES) & GUARDS == GUARDS
                    if (q < 0) | (closed != strict):
                        q = accepted(q, wildcard, not strict, i, lon, lat, exact, scratch) if closed else -1
                        out_query[n] = q
                        n += q >= 0
                    else:
                        # No branch on what cannot be foretold: written anyway, counted if inside.
                        out_query[n] = q
                        n += strict
                    e += 1
                looked += e
                if full:
                    break
            if full:
                break
        for j in range(m):
            present[has[j]] = 0
        if full:
            # The pair that found no room may have stamped its query already; so may the ones taken back.
            scratch.stamp[:] = 0
            return i, before, looked
        for j in range(before, n):
            out_object[j] = i
    return rows, n, looked
