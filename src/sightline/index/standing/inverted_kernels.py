"""Kernels of the inverted file; conventions are those of :mod:`sightline.index.standing._kernels`.

An object is answered in two steps. The first reads what lies inline, places and reaches of the entries of the
object's terms, and notes which entries can be near enough; it has no branch but the loop's. The second takes the few
that were noted, tells keywords, lifetimes and repeats apart, and computes exact distances.

* A *ball* is ``x, y, z, reach`` in single precision, 16 bytes: a place in three dimensions (unit sphere; or the plane
  with z = 0) and the straight-line form of the radius. Reaches carry slack for all rounding, so the first step keeps
  too much, never too little. A reach of minus infinity covers nothing.
* Radii only shrink during a call. Reaches are upper bounds: an entry that passes with a stale one is tightened.
* ``stamp[q] == i`` says that query ``q`` has its pair with object ``i``. A kernel that runs out of room keeps what it
  wrote and returns the place of the object in hand; when that is done again, the stamps skip what was written.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F32, F64, I32, I64, U8
from sightline.geo._kernels import EARTH_RADIUS_M, haversine_mm, planar_mm
from sightline.index._kernels import Conjuncts
from sightline.index.standing._kernels import ObjectBatch, holds
from sightline.jit import kernel

# Of the largest coordinate: a place is rounded by at most sqrt(3) * 2**-24 of it, the edge of a box by 2**-24 more.
SLACK = 2.5e-7
WIDER = 1.0 + 1e-6  # single precision rounds a distance and its bound by less than 5e-7 of themselves


class InvertedArrays(NamedTuple):
    """Frozen inverted file of nearest queries."""

    starts: I64  # [terms + 2] first entry of each key term, the wildcard last
    query: I32  # [e]
    second: I32  # [e] next-rarest term (the wildcard where there is none); empty if key terms always tell all
    check: I32  # [e] conjunct to verify, -1 where these two terms tell all; empty if key terms always do
    at: F64  # [n, 2] exact places of the queries


class Reaches(NamedTuple):
    """What shrinks: the ball of every entry, and the reach of every query."""

    ball: F32  # [e, 4]
    query: F32  # [n]


class KeptDistances(NamedTuple):
    """Radii of the queries, and the nearest distances of this call that shrink them.

    What a pair needs of its query lies side by side, on one line of the cache.
    """

    record: I64  # [n, 4] radius, first of its distances, room for them (0: the radius must not shrink), their number
    distance: I64  # ascending per query
    start: I64  # [n] lifetime; both are empty if every query lives through the whole call
    end: I64


class Objects(NamedTuple):
    """The objects of one call, in the order in which they are to be visited."""

    batch: ObjectBatch
    ts: I64
    points: F32  # [rows, 4] x, y, z, slack
    order: I64


class Output(NamedTuple):
    """Room for pairs."""

    object: I32
    query: I32
    distance: I64


class NearestScratch(NamedTuple):
    """What an object leaves behind for the next: terms present (all 0), stamps; and room for what it has and meets."""

    present: U8
    stamp: I32
    noted: I32  # entries
    has: I32  # terms that a query has


@kernel
def reach_of(mm: int, planar: bool, slack: float) -> np.float32:
    """Straight-line reach of a radius; one millimetre more covers the rounding of distances. Below 0: none."""
    if mm < 0:
        return np.float32(-np.inf)
    reach = (mm + 1.0) / 1000.0
    if not planar:
        reach = 2.0 * math.sin(min(reach / EARTH_RADIUS_M, math.pi) / 2.0)
    return np.float32((reach + slack) * WIDER)


@kernel
def spread_reaches(radius: I64, query: I32, planar: bool, slack: float, reaches: Reaches) -> None:
    """Reaches of all queries and entries."""
    for q in range(radius.shape[0]):
        reaches.query[q] = reach_of(radius[q], planar, slack)
    for e in range(query.shape[0]):
        reaches.ball[e, 3] = reaches.query[query[e]]


@kernel
def shrink_reaches(changed: I64, radius: I64, planar: bool, slack: float, reaches: Reaches) -> None:
    """Reaches of queries whose radius is smaller than before; their entries follow when they are read."""
    for q in changed:
        reaches.query[q] = reach_of(radius[q], planar, slack)


@kernel
def note_near(first: int, last: int, ball: F32, x: float, y: float, z: float, slack: float, noted: I32, n: int) -> int:
    """Append the balls of ``[first, last)`` that cover the point; returns the new number noted."""
    for e in range(first, last):
        dx, dy, dz = ball[e, 0] - x, ball[e, 1] - y, ball[e, 2] - z
        far = ball[e, 3] + slack
        noted[n] = e
        n += dx * dx + dy * dy + dz * dz <= far * abs(far)
    return n


@kernel
def known_terms(i: int, batch: ObjectBatch, has: I32) -> int:
    """Write those terms of object ``i`` to ``has`` that a query has; returns their number.

    Three of four terms are nobody's, in no order that a branch could foretell.
    """
    m = 0
    for j in range(batch.offsets[i], batch.offsets[i + 1]):
        t = batch.remap[batch.ids[j]]
        has[m] = t
        m += t >= 0
    return m


@kernel
def mark_terms(has: I32, m: int, present: U8, value: int) -> None:
    """Set or clear the terms of the object in hand."""
    for j in range(m):
        present[has[j]] = value


@kernel
def keep_present(noted: I32, n: int, second: I32, present: U8) -> int:
    """Drop the noted entries whose next-rarest term the object lacks; returns how many stay."""
    kept = 0
    for h in range(n):
        e = noted[h]
        noted[kept] = e
        kept += present[second[e]] != 0
    return kept


@kernel
def offer(kept: KeptDistances, q: int, mm: np.int64) -> bool:
    """Put a distance among the k nearest of a query; whether its radius has shrunk."""
    first, room = kept.record[q, 1], kept.record[q, 2]
    if room == 0:
        return False
    j = first + kept.record[q, 3]
    if j == first + room:
        j -= 1
        if mm >= kept.distance[j]:
            return False
    else:
        kept.record[q, 3] += 1
    while j > first and kept.distance[j - 1] > mm:
        kept.distance[j] = kept.distance[j - 1]
        j -= 1
    kept.distance[j] = mm
    if kept.record[q, 3] < room or kept.distance[first + room - 1] >= kept.record[q, 0]:
        return False
    kept.record[q, 0] = kept.distance[first + room - 1]
    return True


@kernel
def settle(
    i: int,
    noted: int,
    index: InvertedArrays,
    lists: Conjuncts,
    reaches: Reaches,
    kept: KeptDistances,
    objects: Objects,
    planar: bool,
    slack: float,
    scratch: NearestScratch,
    out: Output,
    n: int,
) -> int:
    """Second step for object ``i``: append its pairs; returns their new number, negative (-1 - n) when out of room."""
    batch, point = objects.batch, objects.points[i]
    ts, ball, timed, single = objects.ts[i], reaches.ball, kept.start.shape[0] > 0, index.check.shape[0] == 0
    for h in range(noted):
        e = scratch.noted[h]
        q = index.query[e]
        if reaches.query[q] < ball[e, 3]:
            far = reaches.query[q]
            ball[e, 3] = far
            far += point[3]
            dx, dy, dz = ball[e, 0] - point[0], ball[e, 1] - point[1], ball[e, 2] - point[2]
            if dx * dx + dy * dy + dz * dz > far * abs(far):
                continue
        if scratch.stamp[q] == i or (timed and (ts < kept.start[q] or ts >= kept.end[q])):
            continue
        if not single and index.check[e] >= 0 and not holds(index.check[e], lists, scratch.present):
            continue
        if planar:
            mm = planar_mm(index.at[q, 0], index.at[q, 1], batch.lon[i], batch.lat[i])
        else:
            mm = haversine_mm(index.at[q, 0], index.at[q, 1], batch.lon[i], batch.lat[i])
        if mm > kept.record[q, 0]:
            continue
        if n == out.query.shape[0]:
            return -1 - n
        scratch.stamp[q] = i
        out.object[n], out.query[n], out.distance[n] = i, q, mm
        n += 1
        if offer(kept, q, mm):
            reaches.query[q] = reach_of(kept.record[q, 0], planar, slack)
    return n


@kernel
def inverted_match(
    index: InvertedArrays,
    lists: Conjuncts,
    reaches: Reaches,
    kept: KeptDistances,
    objects: Objects,
    first: int,
    planar: bool,
    slack: float,
    scratch: NearestScratch,
    out: Output,
) -> tuple[int, int, int]:
    """Pairs of the objects from place ``first`` on: (place to resume at, pairs, entries looked at)."""
    # Arrays taken out of a tuple inside the loop cost a reference count each time.
    batch, has, noting, ball = objects.batch, scratch.has, scratch.noted, reaches.ball
    starts, order, points = index.starts, objects.order, objects.points
    second, present = index.second, scratch.present
    wildcard = starts.shape[0] - 2
    n, looked = 0, 0
    for place in range(first, order.shape[0]):
        i = order[place]
        x, y, z, reach = points[i, 0], points[i, 1], points[i, 2], points[i, 3]
        noted, m = 0, known_terms(i, batch, has)
        for j in range(m + 1):
            t = has[j] if j < m else wildcard
            noted = note_near(starts[t], starts[t + 1], ball, x, y, z, reach, noting, noted)
            looked += starts[t + 1] - starts[t]
        if noted == 0:
            continue
        mark_terms(has, m, present, 1)
        if second.shape[0] > 0:
            noted = keep_present(noting, noted, second, present)
        if noted > 0:
            n = settle(i, noted, index, lists, reaches, kept, objects, planar, slack, scratch, out, n)
        mark_terms(has, m, present, 0)
        if n < 0:
            return place, -1 - n, looked
    return order.shape[0], n, looked
