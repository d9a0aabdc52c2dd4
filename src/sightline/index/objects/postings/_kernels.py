"""Kernels of the postings index: the cover of a rectangle, the plan of a conjunct, range search.

Rows are ranks along a Z-order curve over the segment's own extent (31 bits per axis, x in the even bits).
``directory[c]`` is the first row of cell ``c`` at level ``span[2]``; below, ``fine`` has the key bits down to level
``span[3]``. Postings of a term are ascending rows, so a rectangle, which is a few runs of rows, is a few runs of any
term's postings. The 64 most frequent terms are the *head*: bit j of ``bits[row]`` says whether the row has term
``heads[0, j]``. A head term that is in so many rows that its list would only repeat the rows has no postings but a
plane, one bit per row: the rows are its list, and the bits tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64
from sightline.geo._kernels import quantise_one, spread
from sightline.index.objects.postings.planes_kernels import SPARE, append_set, keep_inside, planes_of
from sightline.jit import kernel

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

BITS = 31  # bits per axis of a key
SPLIT = 64  # cells are cut until their side is 1/64 of the rectangle's longer side
NO_LIMIT = 1 << BITS  # or until they have few rows
FEW = 24  # a cell with so few candidates is read rather than cut: about what a cut costs
SMALL_BITS, LARGE_BITS = 9, 12  # log2 rows of the two sizes of blocks with tail maxima
NEAR = 16  # postings beside the expected place that are searched first
ZERO, ONE = np.uint64(0), np.uint64(1)
RUNS = 1024  # most runs of a cover; beyond, the last run grows (a cover may be too large, never too small)


class PostingsArrays(NamedTuple):
    """A sealed segment's index; all row-wise arrays in curve order."""

    lon: F64
    lat: F64
    ts: I64
    offsets: I32  # [rows + 1] forward lists
    ids: I32
    starts: I32  # [terms + 1] postings
    postings: I32
    fine: U32  # [rows] key bits below the directory
    directory: I32  # [4 ** level + 1]
    heads: I32  # [3, h] ascending term ids, the rows that have each, its plane or -1
    bits: U64  # [rows]
    planes: U64  # [terms without postings, words]
    extent: F64  # west, south, east, north of the rows
    span: I64  # earliest ts, latest ts, level of the directory, level of the finest key


class ConjunctPlan(NamedTuple):
    """Conjuncts resolved against a segment; conjunct c has the terms ``rest[cuts[2 c]:...]`` to look up in lists."""

    key: I64  # rarest term, -1: none or one without postings, whose rows are all rows
    length: I64  # rows that have it
    expected: F64  # rows that have all positives, if terms were independent
    need: U64  # head bits
    lack: U64  # those of positives other than the key, which a row in its list may lack
    deny: U64
    cuts: I64  # [2 c + 1] positives, then negatives outside the head and not the key
    rest: I64


@kernel
def first_at_least(values: U32, lo: int, hi: int, target: int) -> int:
    """First position in ``values[lo:hi]`` that is not below ``target``."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if np.int64(values[mid]) < target:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def first_posting(postings: I32, lo: int, hi: int, row: int) -> int:
    """First position in ``postings[lo:hi]`` that is not below ``row``.

    Looks near the front, then gallops from where the row would be if all were equally far apart: every step of a
    plain search in a long list is a page of its own.
    """
    if lo + NEAR < hi and postings[lo + NEAR] < row:
        lo += NEAR + 1
        first, last = np.int64(postings[lo - 1]), np.int64(postings[hi - 1])
        if last < row:
            return hi
        guess = lo + int((row - first) * (hi - 1 - lo) // (last - first))
        step = NEAR
        if postings[guess] < row:
            lo = guess + 1
            while lo + step < hi and postings[lo + step] < row:
                lo += step + 1
                step *= 2
            hi = min(hi, lo + step)
        else:
            hi = guess
            while hi - step > lo and postings[hi - step] >= row:
                hi -= step
                step *= 2
            lo = max(lo, hi - step)
    else:
        hi = min(hi, lo + NEAR)
    while lo < hi:
        mid = (lo + hi) >> 1
        if postings[mid] < row:
            lo = mid + 1
        else:
            hi = mid
    return lo


@kernel
def first_row(index: PostingsArrays, depth: int, key: int, a: int, end: int) -> int:
    """First row of the cell ``key`` of level ``depth``, which lies in the rows ``a:end`` of its parent."""
    level, deep = index.span[2], index.span[3]
    if depth <= level:
        return int(index.directory[key >> (2 * (BITS - level))])
    mask = (np.int64(1) << (2 * (deep - level))) - 1
    return first_at_least(index.fine, a, end, (key >> (2 * (BITS - deep))) & mask)


@kernel
def cover(index: PostingsArrays, box: F64, few: int, split: int, runs: I64) -> int:
    """Runs of rows that contain every row inside ``box`` (closed): ``runs[r] = first, end, inner``, ascending.

    Rows of an inner run are surely in the box. A depth-first walk of the implicit quadtree in curve order; a node
    knows its rows, so empty and small nodes end it early wherever the data is thin. Returns the number of runs.
    """
    if box[0] > index.extent[2] or box[2] < index.extent[0] or box[1] > index.extent[3] or box[3] < index.extent[1]:
        return 0
    # Quantising is monotone, so a row in a cell strictly between those of two sides is strictly between the sides; a
    # side beyond all rows needs no test.
    last = np.int64(1) << BITS
    west, south, east, north = index.extent[0], index.extent[1], index.extent[2], index.extent[3]
    x1 = quantise_one(box[0], west, east) if box[0] > west else np.int64(-1)
    y1 = quantise_one(box[1], south, north) if box[1] > south else np.int64(-1)
    x2 = quantise_one(box[2], west, east) if box[2] < east else last
    y2 = quantise_one(box[3], south, north) if box[3] < north else last
    side = np.int64(1)
    while side * split < max(x2 - x1, y2 - y1):
        side *= 2
    n, top = 0, 0
    stack = np.empty((4 * BITS + 8, 6), np.int64)  # level, key, x, y, first row, end row; keys descend
    # The walk begins below the root, with the cells of the deepest level of the directory of which two by two cover
    # the box.
    begin_x, begin_y, end_x, end_y = max(x1, 0), max(y1, 0), min(x2, last - 1), min(y2, last - 1)
    shift = BITS - index.span[2]
    while (end_x >> shift) - (begin_x >> shift) > 1 or (end_y >> shift) - (begin_y >> shift) > 1:
        shift += 1
    depth = BITS - shift
    below = 2 * (index.span[2] - depth)
    for x in range(begin_x >> shift, (end_x >> shift) + 1):
        for y in range(begin_y >> shift, (end_y >> shift) + 1):
            cell = spread(np.int64(x)) | (spread(np.int64(y)) << 1)
            a, b = index.directory[cell << below], index.directory[(cell + 1) << below]
            if a == b:
                continue
            key = cell << (2 * shift)
            at = top
            while at > 0 and stack[at - 1, 1] < key:
                for j in range(6):
                    stack[at, j] = stack[at - 1, j]
                at -= 1
            stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3] = depth, key, x << shift, y << shift
            stack[at, 4], stack[at, 5] = a, b
            top += 1
    while top > 0:
        top -= 1
        depth, key, x, y = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        a, b = stack[top, 4], stack[top, 5]
        size = np.int64(1) << (BITS - depth)
        inner = x > x1 and y > y1 and x + size <= x2 and y + size <= y2
        if inner or size <= side or b - a <= few or depth == index.span[3]:
            flag = np.int64(1) if inner else np.int64(0)
            if n > 0 and runs[n - 1, 1] == a and runs[n - 1, 2] == flag:
                runs[n - 1, 1] = b
            elif n == runs.shape[0]:
                runs[n - 1, 1], runs[n - 1, 2] = b, 0
            else:
                runs[n, 0], runs[n, 1], runs[n, 2] = a, b, flag
                n += 1
            continue
        half = size >> 1
        quarter = np.int64(1) << (2 * (BITS - depth - 1))
        end = b
        for child in range(3, -1, -1):  # pushed last to first: child 0 is on top and pops first
            begin = first_row(index, depth + 1, key + child * quarter, a, end) if child > 0 else a
            child_x, child_y = x + half * (child & 1), y + half * (child >> 1)
            if begin < end and child_x <= x2 and child_y <= y2 and child_x + half > x1 and child_y + half > y1:
                stack[top, 0], stack[top, 1] = depth + 1, key + child * quarter
                stack[top, 2], stack[top, 3], stack[top, 4], stack[top, 5] = child_x, child_y, begin, end
                top += 1
            end = begin
    return n


@kernel
def head_of(heads: I32, term: int) -> int:
    """Bit of a head term, -1 for any other."""
    lo, hi = 0, heads.shape[1]
    while lo < hi:
        mid = (lo + hi) >> 1
        if heads[0, mid] < term:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < heads.shape[1] and heads[0, lo] == term else -1


@kernel
def resolve(starts: I32, heads: I32, rows_in_all: int, asked: I64) -> ConjunctPlan:
    """Plan of ``asked``: the number of conjuncts c, 2 c + 1 cuts, then positives and negatives by conjunct."""
    count, base = asked[0], 2 * asked[0] + 2
    # Three arrays for all: to make one takes as long as to resolve a term.
    numbers, words = np.empty(4 * count + 1 + asked.shape[0] - base, np.int64), np.empty(3 * count, np.uint64)
    key, length, cuts = numbers[:count], numbers[count : 2 * count], numbers[2 * count : 4 * count + 1]
    need, lack, deny, rest = words[:count], words[count : 2 * count], words[2 * count :], numbers[4 * count + 1 :]
    expected = np.empty(count, np.float64)
    n = 0
    cuts[0] = 0
    for c in range(count):
        first, middle, end = base + asked[1 + 2 * c], base + asked[2 + 2 * c], base + asked[3 + 2 * c]
        rarest, fewest, own, bits, denied, matching = -1, rows_in_all, ZERO, ZERO, ZERO, float(rows_in_all)
        for j in range(first, middle):
            term = int(asked[j])
            rows, listed, bit, head = int(starts[term + 1]) - int(starts[term]), True, ZERO, head_of(heads, term)
            if head >= 0:
                bit, listed, rows = ONE << np.uint64(head), rows > 0, int(heads[1, head])
                bits |= bit
            if rows < fewest:
                fewest, rarest, own = rows, term if listed else -1, bit if listed else ZERO
            matching *= rows / rows_in_all
        for j in range(first, middle):
            if asked[j] != rarest and head_of(heads, asked[j]) < 0:
                rest[n] = asked[j]
                n += 1
        cuts[2 * c + 1] = n
        for j in range(middle, end):
            head = head_of(heads, asked[j])
            if head >= 0:
                denied |= ONE << np.uint64(head)
            else:
                rest[n] = asked[j]
                n += 1
        cuts[2 * c + 2] = n
        key[c], length[c], expected[c] = rarest, fewest, matching
        need[c], lack[c], deny[c] = bits, bits & ~own, denied
    return ConjunctPlan(key, length, expected, need, lack, deny, cuts, rest)


@kernel
def has_term(index: PostingsArrays, row: int, term: int) -> bool:
    """Whether a row has a term; its list is short, so it is read, not searched."""
    for j in range(index.offsets[row], index.offsets[row + 1]):
        if index.ids[j] == term:
            return True
    return False


@kernel
def rest_holds(index: PostingsArrays, plan: ConjunctPlan, c: int, row: int) -> bool:
    """Whether a row has the other positives of conjunct c and none of its negatives, outside the head."""
    for j in range(plan.cuts[2 * c], plan.cuts[2 * c + 1]):
        if not has_term(index, row, plan.rest[j]):
            return False
    for j in range(plan.cuts[2 * c + 1], plan.cuts[2 * c + 2]):
        if has_term(index, row, plan.rest[j]):
            return False
    return True


@kernel
def found_before(index: PostingsArrays, plan: ConjunctPlan, c: int, row: int) -> bool:
    """Whether a row satisfies a conjunct before c, which has reported it."""
    word = index.bits[row]
    for b in range(c):
        if (word & plan.need[b]) == plan.need[b] and (word & plan.deny[b]) == ZERO:
            keyed = plan.key[b] < 0 or plan.lack[b] != plan.need[b] or has_term(index, row, plan.key[b])
            if keyed and rest_holds(index, plan, b, row):
                return True
    return False


@kernel
def append_rows(
    index: PostingsArrays,
    a: int,
    b: int,
    posted: bool,
    care: np.uint64,
    need: np.uint64,
    box: F64,
    inner: bool,
    out: I64,
    n: int,
) -> int:
    """Append the rows ``a:b``, or of the postings ``a:b``, whose head bits ``care`` are ``need`` and that lie in the
    box (an inner run does); returns how many there are. No branch depends on a row: a third of them may match.
    """
    if inner and care == ZERO:
        if posted:
            for j in range(a, b):
                out[n + j - a] = index.postings[j]
        else:
            for j in range(a, b):
                out[n + j - a] = j
        return n + b - a
    west, south, east, north = box[0], box[1], box[2], box[3]
    if inner:
        for j in range(a, b):
            row = np.int64(index.postings[j]) if posted else j
            out[n] = row
            n += int((index.bits[row] & care) == need)
    elif care == ZERO:
        for j in range(a, b):
            row = np.int64(index.postings[j]) if posted else j
            x, y = index.lon[row], index.lat[row]
            out[n] = row
            n += int((x >= west) & (x <= east) & (y >= south) & (y <= north))
    else:
        for j in range(a, b):
            row = np.int64(index.postings[j]) if posted else j
            out[n] = row
            if (index.bits[row] & care) == need:
                x, y = index.lon[row], index.lat[row]
                n += int((x >= west) & (x <= east) & (y >= south) & (y <= north))
    return n


@kernel
def range_rows(index: PostingsArrays, asked: I64, boxes: F64, lo: int, hi: int) -> tuple[I64, int]:
    """Rows in any of the disjoint ``boxes`` with ``lo <= ts <= hi`` that satisfy a conjunct: (rows, looked at).

    Distinct; ascending within a conjunct and box.
    """
    out = np.empty(256, np.int64)
    n, looked = 0, 0
    if hi < index.span[0] or lo > index.span[1] or hi < lo:
        return out[:0], 0
    plan = resolve(index.starts, index.heads, index.lon.shape[0], asked)
    timed = lo > index.span[0] or hi < index.span[1]
    runs = np.empty((RUNS, 3), np.int64)
    rows_in_all = index.lon.shape[0]
    for q in range(boxes.shape[0]):
        box = boxes[q]
        for c in range(asked[0]):
            key, need, deny = plan.key[c], plan.lack[c], plan.deny[c]
            words = (need | deny) != ZERO
            listed = plan.cuts[2 * c] < plan.cuts[2 * c + 2]
            plain = not timed and not listed and c == 0
            # Without a key, the rarest term has no postings, and neither has any other.
            planes = planes_of(index.heads[2], need if plain and key < 0 and deny == ZERO else ZERO)
            # The rarer the term, the more rows a cell may have until its postings are worth a cut.
            few = FEW if key < 0 else FEW * rows_in_all // max(1, plan.length[c])
            count = cover(index, box, few, SPLIT, runs)
            p, end = 0, 0
            if key >= 0:
                p, end = int(index.starts[key]), int(index.starts[key + 1])
            for r in range(count):
                a, b, inner = runs[r, 0], runs[r, 1], runs[r, 2] == 1
                if key >= 0:
                    a = first_posting(index.postings, p, end, a)
                    b = end if b == rows_in_all else first_posting(index.postings, a, end, b)
                    p = b
                looked += b - a
                if n + b - a + SPARE > out.shape[0]:
                    larger = np.empty(max(2 * out.shape[0], n + b - a + SPARE), np.int64)
                    larger[:n] = out[:n]
                    out = larger
                if planes.shape[0] > 0:
                    start, n = n, append_set(index.planes, planes, a, b, out, n)
                    n = n if inner else keep_inside(index.lon, index.lat, box, out, start, n)
                    continue
                if plain:
                    n = append_rows(index, a, b, key >= 0, need | deny, need, box, inner, out, n)
                    continue
                for j in range(a, b):
                    row = int(index.postings[j]) if key >= 0 else j
                    if words:
                        word = index.bits[row]
                        if (word & need) != need or (word & deny) != ZERO:
                            continue
                    if not inner:
                        x, y = index.lon[row], index.lat[row]
                        if x < box[0] or x > box[2] or y < box[1] or y > box[3]:
                            continue
                    if timed and (index.ts[row] < lo or index.ts[row] > hi):
                        continue
                    if listed and not rest_holds(index, plan, c, row):
                        continue
                    if c > 0 and found_before(index, plan, c, row):
                        continue
                    out[n] = row
                    n += 1
    return out[:n].copy() if 2 * n < out.shape[0] else out[:n], looked
