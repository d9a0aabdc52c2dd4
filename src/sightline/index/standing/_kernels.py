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

from sightline.index.arrays import F64, I32, I64, U8
from sightline.jit import kernel


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
def holds(c: int, lists: Conjuncts, present: U8) -> bool:
    """Whether the object in hand has all positive and no negative terms of conjunct ``c``."""
    for j in range(lists.pos_offsets[c], lists.pos_offsets[c + 1]):
        if present[lists.pos[j]] == 0:
            return False
    broken = 0
    for j in range(lists.neg_offsets[c], lists.neg_offsets[c + 1]):
        broken += present[lists.neg[j]]
    return broken == 0
