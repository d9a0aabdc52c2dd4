"""Kernels of the balls; conventions are those of :mod:`sightline.index.standing.inverted._kernels`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sightline.index.arrays import F32, I32, I64, Flag
from sightline.index.standing._kernels import Conjuncts
from sightline.index.standing.inverted._kernels import (
    WIDER,
    InvertedArrays,
    Kept,
    Objects,
    Output,
    Reaches,
    Scratch,
    mark_terms,
    note_near,
    settle,
)
from sightline.jit import kernel

FAN = 16  # entries per node, and nodes per node above
LEVELS = 3


class Nodes(NamedTuple):
    """Spheres around runs of 16, 256 and 4,096 entries of the longer lists."""

    tree: I32  # [terms + 1] row of ``first``, -1 for a list of at most FAN entries
    first: I64  # [trees + 1, LEVELS] first node of each level
    sphere: F32  # [m, 4] centre and extent: no entry's place lies farther from the centre


@kernel
def enclose(starts: I64, places: F32, nodes: Nodes) -> None:
    """Spheres of all nodes: the centre of the box of their entries, and the farthest entry from it."""
    for t in range(nodes.tree.shape[0]):
        row = nodes.tree[t]
        if row < 0:
            continue
        span = 1
        for level in range(LEVELS):
            span *= FAN
            for m in range(nodes.first[row, level], nodes.first[row + 1, level]):
                begin = starts[t] + (m - nodes.first[row, level]) * span
                end = min(begin + span, starts[t + 1])
                for d in range(3):
                    low, high = places[begin, d], places[begin, d]
                    for e in range(begin + 1, end):
                        low, high = min(low, places[e, d]), max(high, places[e, d])
                    nodes.sphere[m, d] = (low + high) / np.float32(2)
                most = 0.0
                for e in range(begin, end):
                    dx = np.float64(places[e, 0]) - np.float64(nodes.sphere[m, 0])
                    dy = np.float64(places[e, 1]) - np.float64(nodes.sphere[m, 1])
                    dz = np.float64(places[e, 2]) - np.float64(nodes.sphere[m, 2])
                    most = max(most, dx * dx + dy * dy + dz * dz)
                nodes.sphere[m, 3] = np.float32(math.sqrt(most) * WIDER)


@kernel
def node_reaches(starts: I64, nodes: Nodes, entry: F32, out: F32) -> None:
    """Largest reach of the entries of every node."""
    for t in range(nodes.tree.shape[0]):
        row = nodes.tree[t]
        if row < 0:
            continue
        for m in range(nodes.first[row, 0], nodes.first[row + 1, 0]):
            begin = starts[t] + (m - nodes.first[row, 0]) * FAN
            out[m] = entry[begin : min(begin + FAN, starts[t + 1])].max()
        for level in range(1, LEVELS):
            for m in range(nodes.first[row, level], nodes.first[row + 1, level]):
                begin = nodes.first[row, level - 1] + (m - nodes.first[row, level]) * FAN
                out[m] = out[begin : min(begin + FAN, nodes.first[row + 1, level - 1])].max()


@kernel
def covers(m: int, sphere: F32, reach: F32, x: float, y: float, z: float, slack: float) -> bool:
    """Whether a ball of node ``m`` may hold the point."""
    dx, dy, dz = sphere[m, 0] - x, sphere[m, 1] - y, sphere[m, 2] - z
    far = sphere[m, 3] + reach[m] + slack
    return bool(dx * dx + dy * dy + dz * dz <= far * abs(far))


@kernel
def note_tree(row: int, start: int, stop: int, index: InvertedArrays, nodes: Nodes, node: F32, entry: F32, point: F32,
              noted: I32, n: int) -> tuple[int, int]:
    """Append the entries of one list whose reach covers the point: (number noted, entries looked at).

    The largest reach below a node is known again once its children were read: it is tightened on the way.
    """
    x, y, z, slack = point[0], point[1], point[2], point[3]
    sphere, looked = nodes.sphere, 0
    top1, top2, top3 = nodes.first[row, 0], nodes.first[row, 1], nodes.first[row, 2]
    end1, end2, end3 = nodes.first[row + 1, 0], nodes.first[row + 1, 1], nodes.first[row + 1, 2]
    for c in range(top3, end3):
        if not covers(c, sphere, node, x, y, z, slack):
            continue
        most3 = np.float32(-np.inf)
        first2 = top2 + (c - top3) * FAN
        for b in range(first2, min(first2 + FAN, end2)):
            if covers(b, sphere, node, x, y, z, slack):
                most2 = np.float32(-np.inf)
                first1 = top1 + (b - top2) * FAN
                for a in range(first1, min(first1 + FAN, end1)):
                    if covers(a, sphere, node, x, y, z, slack):
                        first = start + (a - top1) * FAN
                        last = min(first + FAN, stop)
                        n = note_near(first, last, index.places, entry, point, noted, n)
                        looked += last - first
                        most1 = entry[first]
                        for e in range(first + 1, last):
                            most1 = max(most1, entry[e])
                        node[a] = most1
                    most2 = max(most2, node[a])
                node[b] = most2
            most3 = max(most3, node[b])
        node[c] = most3
    return n, looked


@kernel
def balls_match(index: InvertedArrays, nodes: Nodes, lists: Conjuncts, reaches: Reaches, node: F32, kept: Kept,
                objects: Objects, first: int, planar: bool, slack: float, scratch: Scratch,
                out: Output) -> tuple[int, int, int]:
    """Pairs of the objects from place ``first`` on: (place to resume at, pairs, entries looked at)."""
    batch = objects.batch
    wildcard = index.starts.shape[0] - 2
    n, looked = 0, 0
    for place in range(first, objects.order.shape[0]):
        i = objects.order[place]
        lo, hi = batch.offsets[i], batch.offsets[i + 1]
        noted = 0
        for j in range(lo, hi + 1):
            t = wildcard
            if j < hi:
                t = batch.remap[batch.ids[j]]
            if t < 0:
                continue
            if nodes.tree[t] < 0:
                noted = note_near(index.starts[t], index.starts[t + 1], index.places, reaches.entry,
                                  objects.points[i], scratch.noted, noted)
                looked += index.starts[t + 1] - index.starts[t]
            else:
                noted, read = note_tree(nodes.tree[t], index.starts[t], index.starts[t + 1], index, nodes, node,
                                        reaches.entry, objects.points[i], scratch.noted, noted)
                looked += read
        if noted == 0:
            continue
        mark_terms(i, batch, scratch.present, 1)
        n = settle(i, noted, index, lists, reaches, kept, objects, planar, slack, scratch, out, n)
        mark_terms(i, batch, scratch.present, 0)
        if n < 0:
            return place, -1 - n, looked
    return objects.order.shape[0], n, looked


@kernel
def keep_nearest(rows: I32, queries: I32, distances: I64, first_number: int, offsets: I64, distance: I64, number: I64,
                 count: I32, changed: Flag) -> int:
    """Put pairs among the k nearest of their queries, by distance and then number; returns how many found a place."""
    entered = 0
    for p in range(rows.shape[0]):
        q, mm, new = queries[p], distances[p], first_number + rows[p]
        first, last = offsets[q], offsets[q + 1]
        j = first + count[q]
        if j == last:
            j -= 1
            if mm > distance[j] or (mm == distance[j] and new >= number[j]):
                continue
        else:
            count[q] += 1
        while j > first and (distance[j - 1] > mm or (distance[j - 1] == mm and number[j - 1] > new)):
            distance[j], number[j] = distance[j - 1], number[j - 1]
            j -= 1
        distance[j], number[j] = mm, new
        changed[q] = True
        entered += 1
    return entered
