"""Kernels over a sample of objects: those in a rectangle, and the k-th nearest that satisfies some keywords."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.flat.heaps_kernels import keep_smallest
from sightline.index.objects.blocks._kernels import find_term
from sightline.index.objects.postings._kernels import first_posting
from sightline.jit import kernel
from sightline.partition.cost._kernels import QueryWords


class Places(NamedTuple):
    """Places of the objects, which are numbered from the south (ties from the west)."""

    lon: F64
    lat: F64  # ascending
    west: F64  # all longitudes, ascending
    by_lon: I32  # the object of each of them
    below: I32  # [i, j]: objects of the first i blocks of numbers that are in the first j blocks of ``by_lon``


class SamplePostings(NamedTuple):
    """Objects of every term, ascending."""

    offsets: I64
    objects: I32


class Nearest(NamedTuple):
    """The k smallest squared distances as a max-heap; the latest query that kept each object; objects looked at."""

    heap: F64
    seen: I64
    looked: I64


@kernel
def block_size(n: int) -> int:
    """Objects per block: the power of two at or above the root, so that a count looks at O(sqrt n) objects."""
    size = 16
    while size * size < n:
        size *= 2
    return size


@kernel
def between(values: F64, low: float, high: float) -> tuple[int, int]:
    """The run of ascending values that lie in a closed interval."""
    return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))


@kernel
def _east_west(lon: F64, first: int, last: int, west: float, east: float) -> int:
    count = 0
    for o in range(first, last):
        if west <= lon[o] <= east:
            count += 1
    return count


@kernel
def _numbered(by_lon: I32, first: int, last: int, low: int, high: int) -> int:
    count = 0
    for j in range(first, last):
        if low <= by_lon[j] < high:
            count += 1
    return count


@kernel
def count_in(places: Places, west: float, south: float, east: float, north: float) -> int:
    """|O_R| of Eq. 2: objects in a closed rectangle, from whole blocks and at most four ragged edges."""
    n = places.lat.shape[0]
    i0, i1 = between(places.lat, south, north)
    j0, j1 = between(places.west, west, east)
    if i1 <= i0 or j1 <= j0:
        return 0
    if j1 - j0 == n:
        return i1 - i0
    if i1 - i0 == n:
        return j1 - j0
    block = block_size(n)
    if i1 - i0 <= 2 * block:
        return _east_west(places.lon, i0, i1, west, east)
    if j1 - j0 <= 2 * block:
        return _numbered(places.by_lon, j0, j1, i0, i1)
    a, b = (i0 + block - 1) // block, i1 // block
    c, d = (j0 + block - 1) // block, j1 // block
    count = int(places.below[b, d]) - int(places.below[a, d]) - int(places.below[b, c]) + int(places.below[a, c])
    count += _east_west(places.lon, i0, a * block, west, east) + _east_west(places.lon, b * block, i1, west, east)
    count += _numbered(places.by_lon, j0, c * block, a * block, b * block)
    return count + _numbered(places.by_lon, d * block, j1, a * block, b * block)


@kernel
def counts_in(places: Places, boxes: F64) -> I64:
    """Objects in each of many rectangles."""
    out = np.empty(boxes.shape[0], np.int64)
    for b in range(boxes.shape[0]):
        out[b] = count_in(places, boxes[b, 0], boxes[b, 1], boxes[b, 2], boxes[b, 3])
    return out


@kernel
def _holds(words: QueryWords, postings: SamplePostings, c: int, listed: int, o: int) -> bool:
    """Whether object ``o``, which has the term ``listed``, satisfies conjunct ``c``."""
    for p in range(words.pos_offsets[c], words.pos_offsets[c + 1]):
        term = words.pos[p]
        if term != listed and find_term(postings.objects, postings.offsets[term], postings.offsets[term + 1], o) < 0:
            return False
    for p in range(words.neg_offsets[c], words.neg_offsets[c + 1]):
        term = words.neg[p]
        if term >= 0 and find_term(postings.objects, postings.offsets[term], postings.offsets[term + 1], o) >= 0:
            return False
    return True


@kernel
def _sweep(
    position: F64,
    postings: SamplePostings,
    words: QueryWords,
    c: int,
    at: F64,
    kept: Nearest,
    size: int,
    k: int,
    query: int,
) -> int:
    """Take the objects of conjunct ``c`` into the k nearest, from the query's parallel outwards.

    Only the shortest list of the conjunct is read. Both directions stop when the parallel itself is as far as the
    k-th nearest. Returns how many are kept.
    """
    listed, begin, end = -1, 0, position.shape[0]
    for p in range(words.pos_offsets[c], words.pos_offsets[c + 1]):
        term = words.pos[p]
        if term < 0:
            return size
        if listed < 0 or postings.offsets[term + 1] - postings.offsets[term] < end - begin:
            listed, begin, end = int(term), int(postings.offsets[term]), int(postings.offsets[term + 1])
    low = int(np.searchsorted(position[:, 2], at[2]))
    if listed >= 0:
        low = first_posting(postings.objects, begin, end, low)
    up, down = low, low - 1
    while up < end or down >= begin:
        above = -1 if up >= end else (up if listed < 0 else int(postings.objects[up]))
        under = -1 if down < begin else (down if listed < 0 else int(postings.objects[down]))
        if under < 0 or (above >= 0 and position[above, 2] - at[2] <= at[2] - position[under, 2]):
            o = above
            up += 1
        else:
            o = under
            down -= 1
        kept.looked[0] += 1
        dx, dy, dz = position[o, 0] - at[0], position[o, 1] - at[1], position[o, 2] - at[2]
        if size == k and dz * dz >= kept.heap[0]:
            break
        squared = dx * dx + dy * dy + dz * dz
        if size == k and squared >= kept.heap[0]:
            continue
        if kept.seen[o] != query and _holds(words, postings, c, listed, o):
            kept.seen[o] = query
            size = keep_smallest(kept.heap[:k], size, squared)
    return size


@kernel
def kth_squared(
    position: F64, postings: SamplePostings, words: QueryWords, rows: I64, at: F64, k: I32
) -> tuple[F64, int]:
    """Squared distance of the k-th nearest object that satisfies query ``rows[i]``, infinite if there are fewer.

    Also the number of objects looked at.
    """
    n = position.shape[0]
    out = np.full(rows.shape[0], np.inf)
    most = 1
    for i in range(rows.shape[0]):
        if k[i] <= n:
            most = max(most, int(k[i]))
    kept = Nearest(np.empty(most, np.float64), np.full(n, -1, np.int64), np.zeros(1, np.int64))
    for i in range(rows.shape[0]):
        if k[i] > n:
            continue
        size = 0
        for c in range(words.conjuncts[rows[i]], words.conjuncts[rows[i] + 1]):
            size = _sweep(position, postings, words, c, at[i], kept, size, int(k[i]), i)
        if size == k[i]:
            out[i] = kept.heap[0]
    return out, int(kept.looked[0])
