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

from sightline.flat.arrays import F64, I32, I64, U8
from sightline.geo._kernels import step_of
from sightline.index._kernels import Conjuncts
from sightline.jit import kernel


class ObjectBatch(NamedTuple):
    """The objects of one call."""

    lon: F64
    lat: F64
    offsets: I64
    ids: I32
    remap: I32


class Exact(NamedTuple):
    """What a candidate is checked against when its inlined entry cannot decide."""

    box: F64  # [p, 4] pieces of the regions as given: west, south, east, north
    first_piece: I32  # [n + 1] of each query; empty where every query has one
    lists: Conjuncts  # of the conjuncts that the three terms of an entry do not tell in full


class Posted(NamedTuple):
    """Conjuncts and pieces of a block as a build kernel spreads them over cells."""

    conj_query: I32  # complemented where the query has several entries
    terms: I32  # [c, 3] rarest, second, third (or wildcard + 1 + verified conjunct)
    piece_offsets: I64
    box: I32  # [p, 4] quantised pieces


class MatchScratch(NamedTuple):
    """Marks of the object in hand."""

    present: U8  # per term of the block
    stamp: I32  # per query that has several entries: 1 + the latest object it matched


@kernel
def slot_hash(key: int) -> int:
    """Mix of a non-negative key below 2**60 that never leaves int64 (so plain Python computes the same)."""
    h = key ^ (key >> 29)
    h = (h & 0x7FFFFFFF) * 0x5BD1E995
    return (h ^ (h >> 31)) >> 7


@kernel
def quantise(x: float, origin: float, scale: float) -> int:
    """Whole number of 31 bits that grows with ``x``: two places that differ in it are in that order exactly."""
    return step_of(x, origin, scale, 2147483647)


@kernel
def quantise_boxes(box: F64, grid: F64, out: I32) -> None:
    """All pieces as whole numbers; ``grid`` is origin and scale, x before y."""
    for p in range(box.shape[0]):
        for k in range(4):
            out[p, k] = quantise(box[p, k], grid[k & 1], grid[2 + (k & 1)])


@kernel
def accepted(
    query: int, third: int, tie: bool, i: int, lon: float, lat: float, exact: Exact, scratch: MatchScratch
) -> int:
    """Row of the query that object ``i`` matches and has not matched before, or -1.

    The caller has found the inlined terms present and the point inside the quantised box; ``tie``: on its edge.
    ``query`` is complemented if it has several entries; ``third`` beyond the wildcard names a conjunct to verify.
    """
    q = query if query >= 0 else -query - 1
    if tie:
        lo = q if exact.first_piece.shape[0] == 0 else exact.first_piece[q]
        hi = q + 1 if exact.first_piece.shape[0] == 0 else exact.first_piece[q + 1]
        # Any piece will do: they are one region, and the query is reported once.
        inside = False
        for p in range(lo, hi):
            inside |= (
                (exact.box[p, 0] <= lon)
                & (lon <= exact.box[p, 2])
                & (exact.box[p, 1] <= lat)
                & (lat <= exact.box[p, 3])
            )
        if not inside:
            return -1
    wildcard = scratch.present.shape[0] - 1
    if third > wildcard and not holds(third - wildcard - 1, exact.lists, scratch.present):
        return -1
    if query < 0:
        if scratch.stamp[q] == i + 1:
            return -1
        scratch.stamp[q] = i + 1
    return q


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
def holds(c: int, lists: Conjuncts, present: U8) -> bool:
    """Whether the object in hand has all positive and no negative terms of conjunct ``c``."""
    for j in range(lists.pos_offsets[c], lists.pos_offsets[c + 1]):
        if present[lists.pos[j]] == 0:
            return False
    broken = 0
    for j in range(lists.neg_offsets[c], lists.neg_offsets[c + 1]):
        broken += present[lists.neg[j]]
    return broken == 0
