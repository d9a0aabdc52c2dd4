"""Kernels of the cost models: expected matches, the most overlapping rectangle, greedy dealing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.index.arrays import F64, I32, I64
from sightline.jit import kernel
from sightline.partition.subsets.sample._kernels import (
    Places,
    Postings,
    Words,
    count_in,
    first_above,
    first_at_least,
    first_from,
)


class Tally(NamedTuple):
    """Objects per term in one rectangle; only those whose ``mark`` is the rectangle's number are counted yet."""

    held: I64
    mark: I64


class Strip(NamedTuple):
    """A rectangle as the objects between two parallels and two meridians."""

    first: int
    last: int
    west: float
    east: float
    whole: bool  # no object lies west or east of it


@kernel
def _objects_of(term: int, places: Places, postings: Postings, strip: Strip, tally: Tally, mark: int) -> int:
    """|O_(R, term)| of Eq. 4, counted once per rectangle."""
    if term < 0:
        return 0
    if tally.mark[term] != mark:
        begin, end = postings.offsets[term], postings.offsets[term + 1]
        first = first_from(postings.objects, begin, end, strip.first)
        last = first_from(postings.objects, first, end, strip.last)
        count = last - first
        if not strip.whole:
            count = 0
            for p in range(first, last):
                if strip.west <= places.lon[postings.objects[p]] <= strip.east:
                    count += 1
        tally.held[term] = count
        tally.mark[term] = mark
    return int(tally.held[term])


@kernel
def costs_in(words: Words, places: Places, postings: Postings, rows: I64, box: F64, tally: Tally, mark: int) -> F64:
    """C(s) of Eq. 5 times |O_init| for the queries ``rows`` and the rectangle ``box``, which ``mark`` is for.

    One positive term counts its objects in the rectangle; further ones and negated ones multiply it by the share of
    the objects in the rectangle that have (lack) them. A conjunct without positive terms starts from all objects.
    """
    n = places.lat.shape[0]
    first, last = first_at_least(places.lat, box[1]), first_above(places.lat, box[3])
    strip = Strip(first, last, box[0], box[2], box[0] <= places.west[0] and places.west[n - 1] <= box[2])
    inside = count_in(places, box[0], box[1], box[2], box[3])
    out = np.zeros(rows.shape[0], np.float64)
    if inside == 0:
        return out
    for i in range(rows.shape[0]):
        total = 0.0
        for c in range(words.conjuncts[rows[i]], words.conjuncts[rows[i] + 1]):
            expected = float(inside)
            for p in range(words.pos_offsets[c], words.pos_offsets[c + 1]):
                having = float(_objects_of(words.pos[p], places, postings, strip, tally, mark))
                expected = having if p == words.pos_offsets[c] else expected * (having / inside)
            for p in range(words.neg_offsets[c], words.neg_offsets[c + 1]):
                having = float(_objects_of(words.neg[p], places, postings, strip, tally, mark))
                expected *= 1.0 - having / inside
            total += expected
        out[i] = total
    return out


@kernel
def most_overlapping(boxes: F64, rectangles: F64) -> I32:
    """S* of Eq. 7: the rectangle that shares the largest area with each box.

    Ties go to the lower number; one that touches the box comes before one that does not.
    """
    out = np.zeros(boxes.shape[0], np.int32)
    for b in range(boxes.shape[0]):
        best = -1.0
        for r in range(rectangles.shape[0]):
            width = min(boxes[b, 2], rectangles[r, 2]) - max(boxes[b, 0], rectangles[r, 0])
            height = min(boxes[b, 3], rectangles[r, 3]) - max(boxes[b, 1], rectangles[r, 1])
            if width >= 0.0 and height >= 0.0 and width * height > best:
                best = width * height
                out[b] = r
    return out


@kernel
def deal(costs: F64, loads: F64, taken: I64) -> I32:
    """Alg. 1 l. 3-5: each cost, as they come, to the worker with the least load; ``loads`` and ``taken`` grow.

    Ties go to the worker that has taken fewer, then to the lower number.
    """
    out = np.empty(costs.shape[0], np.int32)
    for i in range(costs.shape[0]):
        best = 0
        for w in range(1, loads.shape[0]):
            if loads[w] < loads[best] or (loads[w] == loads[best] and taken[w] < taken[best]):
                best = w
        loads[best] += costs[i]
        taken[best] += 1
        out[i] = best
    return out
