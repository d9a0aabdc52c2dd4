"""K-th distances over flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.index.arrays import F64, I32, I64
from sightline.jit import kernel


class Corpus(NamedTuple):
    """Objects with their terms, and the other way round."""

    points: F64  # [n, 3] on the unit sphere, or in the plane with 0
    offsets: I64
    ids: I32
    starts: I64  # [terms + 1]
    rows: I32  # objects of each term, ascending


class Wanted(NamedTuple):
    """Nearest queries; terms are numbers of the corpus, -1 where it has none."""

    at: F64  # [q, 3]
    k: I64
    first: I64  # [q + 1] conjuncts of each query
    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32


@kernel
def invert(offsets: I64, ids: I32, terms: int) -> tuple[I64, I32]:
    """Objects of each term: offsets and rows, ascending."""
    starts = np.zeros(terms + 1, np.int64)
    for term in ids:
        starts[term + 1] += 1
    for t in range(terms):
        starts[t + 1] += starts[t]
    place = starts[:-1].copy()
    rows = np.empty(len(ids), np.int32)
    for i in range(len(offsets) - 1):
        for e in range(offsets[i], offsets[i + 1]):
            rows[place[ids[e]]] = i
            place[ids[e]] += 1
    return starts, rows


@kernel
def _has(ids: I32, low: int, high: int, term: int) -> bool:
    """Whether an ascending run of term numbers holds one."""
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < term:
            low = middle + 1
        elif ids[middle] > term:
            high = middle
        else:
            return True
    return False


@kernel
def _offer(heap: F64, size: int, k: int, value: float) -> int:
    """Keep the k least values in a max-heap; its new size."""
    if size < k:
        child = size
        while child > 0 and heap[(child - 1) // 2] < value:
            heap[child] = heap[(child - 1) // 2]
            child = (child - 1) // 2
        heap[child] = value
        return size + 1
    if value >= heap[0]:
        return size
    hole = 0
    while 2 * hole + 1 < size:
        child = 2 * hole + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = value
    return size


@kernel
def kth_squares(corpus: Corpus, wanted: Wanted) -> F64:
    """Squared (chord) distance of each query's k-th nearest match, infinite where it has fewer.

    Each conjunct looks at the objects of its rarest term, one without terms at all. Keywords are read only of objects
    that are near enough, and no sine is computed.
    """
    points, offsets, ids, starts, rows = corpus
    at, ks, first, pos_offsets, pos, neg_offsets, neg = wanted
    n = len(points)
    out = np.full(len(ks), np.inf)
    seen = np.full(n, -1, np.int64)
    heap = np.empty(n, np.float64)
    for q in range(len(ks)):
        k = ks[q]
        if k > n:
            continue
        x, y, z = at[q, 0], at[q, 1], at[q, 2]
        size, bound = 0, np.inf
        for c in range(first[q], first[q + 1]):
            rarest, fewest = -1, n
            for e in range(pos_offsets[c], pos_offsets[c + 1]):
                term = pos[e]
                count = 0 if term < 0 else starts[term + 1] - starts[term]
                if rarest < 0 or count < fewest:
                    rarest, fewest = max(term, 0), count
            for j in range(fewest):
                i = rows[starts[rarest] + j] if rarest >= 0 else j
                dx, dy, dz = points[i, 0] - x, points[i, 1] - y, points[i, 2] - z
                square = dx * dx + dy * dy + dz * dz
                if square >= bound or seen[i] == q:
                    continue
                matches = True
                for e in range(pos_offsets[c], pos_offsets[c + 1]):
                    if pos[e] != rarest and not _has(ids, offsets[i], offsets[i + 1], pos[e]):
                        matches = False
                        break
                for e in range(neg_offsets[c], neg_offsets[c + 1]):
                    if matches and neg[e] >= 0 and _has(ids, offsets[i], offsets[i + 1], neg[e]):
                        matches = False
                if matches:
                    seen[i] = q
                    size = _offer(heap, size, k, square)
                    if size == k:
                        bound = heap[0]
        out[q] = bound
    return out
