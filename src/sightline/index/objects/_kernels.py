"""Kernels of the object index: objects wait along a Z-order curve, queries pass.

Rows are ranks along the curve. ``keys`` are the Morton keys of the rows (31 bits per axis, x in the even bits),
``directory[c]`` is the first row of cell ``c`` at a level chosen from the number of rows. Postings of a term are
ascending rows, so a rectangle, which is a few runs of rows, is a few runs of any term's postings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.geo._kernels import quantise_one
from sightline.index.arrays import F64, I32, I64, U16
from sightline.jit import kernel

BITS = 31  # bits per axis of a key
SPLIT = 8  # cells are cut until their side is 1/8 of the rectangle's longer side (05: m=4; 8 costs no more, reads less)
FEW_ROWS = 64  # cells with so few rows are taken whole
RUNS = 512  # most runs of a cover; beyond, the last run grows (a cover may be too large, never too small)


class PostingsArrays(NamedTuple):
    """A sealed segment's index; all arrays in curve order."""

    lon: F64
    lat: F64
    ts: I64
    offsets: I64  # [rows + 1] forward lists
    ids: I32
    starts: I64  # [terms + 1] postings
    postings: I32
    keys: I64
    directory: I32  # [4 ** level + 1]


@kernel
def gather_lists(order: I64, offsets: I64, ids: I32) -> tuple[I64, I32]:
    """The term lists of rows ``order``, in that order."""
    n = order.shape[0]
    new_offsets = np.empty(n + 1, np.int64)
    new_offsets[0] = 0
    for i in range(n):
        r = order[i]
        new_offsets[i + 1] = new_offsets[i] + offsets[r + 1] - offsets[r]
    new_ids = np.empty(new_offsets[n], np.int32)
    for i in range(n):
        source = offsets[order[i]]
        for j in range(new_offsets[i], new_offsets[i + 1]):
            new_ids[j] = ids[source]
            source += 1
    return new_offsets, new_ids


@kernel
def gather_counts(order: I64, offsets: I64, counts: U16) -> U16:
    """The counts beside the lists of :func:`gather_lists`."""
    total = np.int64(0)
    for r in order:
        total += offsets[r + 1] - offsets[r]
    out = np.empty(total, np.uint16)
    n = 0
    for r in order:
        for j in range(offsets[r], offsets[r + 1]):
            out[n] = counts[j]
            n += 1
    return out


@kernel
def invert(offsets: I64, ids: I32, terms: int) -> tuple[I64, I32]:
    """Postings: for every term the ascending rows that have it."""
    starts = np.zeros(terms + 1, np.int64)
    for j in range(ids.shape[0]):
        starts[ids[j] + 1] += 1
    for t in range(terms):
        starts[t + 1] += starts[t]
    cursor = starts[:-1].copy()
    postings = np.empty(ids.shape[0], np.int32)
    for i in range(offsets.shape[0] - 1):
        for j in range(offsets[i], offsets[i + 1]):
            t = ids[j]
            postings[cursor[t]] = i
            cursor[t] += 1
    return starts, postings


@kernel
def make_directory(keys: I64, level: int) -> I32:
    """First row of every cell of ``level`` (and the row count at the end); ``keys`` ascending."""
    shift = 2 * (BITS - level)
    cells = 1 << (2 * level)
    directory = np.empty(cells + 1, np.int32)
    row = 0
    for cell in range(cells):
        while row < keys.shape[0] and (keys[row] >> shift) < cell:
            row += 1
        directory[cell] = row
    directory[cells] = keys.shape[0]
    return directory


@kernel
def first_at_least(values: I64, lo: int, hi: int, target: int) -> int:
    """First position in ``values[lo:hi]`` that is not below ``target``."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if values[mid] < target:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def first_posting(postings: I32, lo: int, hi: int, row: int) -> int:
    """First position in ``postings[lo:hi]`` that is not below ``row``; gallops, targets lie near the front."""
    step = 16
    while lo + step < hi and postings[lo + step] < row:
        lo += step + 1
        step *= 2
    hi = min(hi, lo + step)
    while lo < hi:
        mid = (lo + hi) >> 1
        if postings[mid] < row:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def cover(index: PostingsArrays, box: F64, bounds: F64) -> I64:
    """Runs of rows that contain every row inside ``box`` (west, south, east, north, closed): [r, 2] ascending.

    A depth-first walk of the implicit quadtree in curve order; a node knows its rows, so empty and small nodes
    end it early wherever the data is thin.
    """
    # Quantising is monotone and clamps, so points of the closed box lie between the cells of its corners.
    x1, x2 = quantise_one(box[0], bounds[0], bounds[2]), quantise_one(box[2], bounds[0], bounds[2])
    y1, y2 = quantise_one(box[1], bounds[1], bounds[3]), quantise_one(box[3], bounds[1], bounds[3])
    cells, level = index.directory.shape[0] - 1, 0
    while (1 << (2 * level)) < cells:
        level += 1
    side = np.int64(1)
    while side * SPLIT < max(x2 - x1, y2 - y1) + 1:
        side *= 2
    runs = np.empty((RUNS, 2), np.int64)
    n = 0
    stack = np.empty((4 * BITS + 8, 6), np.int64)  # level, key, x, y, first row, end row
    stack[0, :] = 0
    stack[0, 5] = index.keys.shape[0]
    top = 1
    while top > 0:
        top -= 1
        depth, key, x, y = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        a, b = stack[top, 4], stack[top, 5]
        size = np.int64(1) << (BITS - depth)
        if a == b or x > x2 or y > y2 or x + size <= x1 or y + size <= y1:
            continue
        inside = x >= x1 and y >= y1 and x + size - 1 <= x2 and y + size - 1 <= y2
        if inside or size <= side or b - a <= FEW_ROWS:
            if n > 0 and (runs[n - 1, 1] == a or n == RUNS):
                runs[n - 1, 1] = b
            else:
                runs[n, 0], runs[n, 1] = a, b
                n += 1
            continue
        half = size >> 1
        quarter = np.int64(1) << (2 * (BITS - depth - 1))
        end = b
        for child in range(3, -1, -1):  # pushed last to first, so that they pop in curve order
            child_key = key + child * quarter
            begin = a
            if child > 0:
                if depth < level:
                    begin = np.int64(index.directory[child_key >> (2 * (BITS - level))])
                else:
                    begin = first_at_least(index.keys, a, end, child_key)
            stack[top, 0], stack[top, 1] = depth + 1, child_key
            stack[top, 2], stack[top, 3] = x + half * (child & 1), y + half * (child >> 1)
            stack[top, 4], stack[top, 5] = begin, end
            top += 1
            end = begin
        # Children were pushed 3, 2, 1, 0: child 0 is on top.
    return runs[:n].copy()


@kernel
def has_terms(index: PostingsArrays, row: int, pos: I32, neg: I32) -> bool:
    """Whether a row has all of ``pos`` and none of ``neg``; its list is short, so it is read, not searched."""
    lo, hi = index.offsets[row], index.offsets[row + 1]
    for t in pos:
        found = False
        for j in range(lo, hi):
            if index.ids[j] == t:
                found = True
                break
        if not found:
            return False
    for t in neg:
        for j in range(lo, hi):
            if index.ids[j] == t:
                return False
    return True


@kernel
def range_rows(index: PostingsArrays, key_term: int, pos: I32, neg: I32, box: F64, bounds: F64, lo: int,
               hi: int) -> tuple[I64, int]:
    """Rows in ``box`` (closed) with ``lo <= ts <= hi`` and the terms of one conjunct: (rows ascending, looked at).

    ``key_term`` is the conjunct's rarest term, ``pos`` its others; -1 stands for a match-all conjunct.
    """
    runs = cover(index, box, bounds)
    if key_term >= 0:
        # Rows to postings. A run costs two searches, so a short list is cheaper read whole.
        p, end = index.starts[key_term], index.starts[key_term + 1]
        if end - p <= 8 * runs.shape[0]:
            runs = np.empty((1, 2), np.int64)
            runs[0, 0], runs[0, 1] = p, end
        else:
            for r in range(runs.shape[0]):
                p = first_posting(index.postings, p, end, runs[r, 0])
                runs[r, 0] = p
                p = first_posting(index.postings, p, end, runs[r, 1])
                runs[r, 1] = p
    looked = 0
    for r in range(runs.shape[0]):
        looked += runs[r, 1] - runs[r, 0]
    out = np.empty(looked, np.int64)
    n = 0
    for r in range(runs.shape[0]):
        for p in range(runs[r, 0], runs[r, 1]):
            row = int(index.postings[p]) if key_term >= 0 else p
            x, y, t = index.lon[row], index.lat[row], index.ts[row]
            if x < box[0] or x > box[2] or y < box[1] or y > box[3] or t < lo or t > hi:
                continue
            if has_terms(index, row, pos, neg):
                out[n] = row
                n += 1
    return out[:n].copy(), looked


@kernel
def near_rows(index: PostingsArrays, key_term: int, pos: I32, neg: I32, key: int, reach: int, lo: int,
              hi: int) -> tuple[I64, int]:
    """Matching rows among the ``reach`` postings either side of ``key`` on the curve: (rows, looked at)."""
    p = first_at_least(index.keys, 0, index.keys.shape[0], key)
    first, end = 0, index.keys.shape[0]
    if key_term >= 0:
        first, end = int(index.starts[key_term]), int(index.starts[key_term + 1])
        p = first_posting(index.postings, first, end, p)
    first, end = max(first, p - reach), min(end, p + reach)
    out = np.empty(end - first, np.int64)
    n = 0
    for j in range(first, end):
        row = int(index.postings[j]) if key_term >= 0 else j
        if lo <= index.ts[row] <= hi and has_terms(index, row, pos, neg):
            out[n] = row
            n += 1
    return out[:n].copy(), end - first
