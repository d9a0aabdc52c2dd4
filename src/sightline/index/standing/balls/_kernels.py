"""Kernels of the balls; conventions are those of :mod:`sightline.index.standing.inverted_kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F32, I32, I64, Flag
from sightline.index._kernels import Conjuncts
from sightline.index.standing.inverted_kernels import (
    InvertedArrays,
    KeptDistances,
    NearestScratch,
    Objects,
    Output,
    Reaches,
    keep_present,
    known_terms,
    mark_terms,
    note_near,
    settle,
)
from sightline.jit import kernel

FAN = 16  # entries per node, and nodes per node above
LEVELS = 3
REST = 8  # every so many objects nodes are made anew as they are read; more often costs more than it saves


class BallNodes(NamedTuple):
    """Where the nodes are: boxes around the balls of runs of 16, 256 and 4,096 entries of the longer lists.

    A node is ``x1, y1, z1, x2, y2, z2``; if no ball below covers anything, x1 is above x2.
    """

    tree: I32  # [terms + 1] row of ``first``, -1 for a list of at most FAN entries
    first: I64  # [trees + 1, LEVELS] first node of each level


@kernel
def box_balls(first: int, last: int, ball: F32, node: F32, m: int) -> None:
    """Make node ``m`` the box of the balls of ``[first, last)``."""
    x1 = y1 = z1 = np.float32(np.inf)
    x2 = y2 = z2 = np.float32(-np.inf)
    for e in range(first, last):
        x, y, z, reach = ball[e, 0], ball[e, 1], ball[e, 2], ball[e, 3]
        x1, y1, z1 = min(x1, x - reach), min(y1, y - reach), min(z1, z - reach)
        x2, y2, z2 = max(x2, x + reach), max(y2, y + reach), max(z2, z + reach)
    node[m, 0], node[m, 1], node[m, 2], node[m, 3], node[m, 4], node[m, 5] = x1, y1, z1, x2, y2, z2


@kernel
def box_boxes(first: int, last: int, node: F32, m: int) -> None:
    """Make node ``m`` the box of the nodes of ``[first, last)``."""
    x1 = y1 = z1 = np.float32(np.inf)
    x2 = y2 = z2 = np.float32(-np.inf)
    for e in range(first, last):
        x1, y1, z1 = min(x1, node[e, 0]), min(y1, node[e, 1]), min(z1, node[e, 2])
        x2, y2, z2 = max(x2, node[e, 3]), max(y2, node[e, 4]), max(z2, node[e, 5])
    node[m, 0], node[m, 1], node[m, 2], node[m, 3], node[m, 4], node[m, 5] = x1, y1, z1, x2, y2, z2


@kernel
def box_all(starts: I64, nodes: BallNodes, ball: F32, node: F32) -> None:
    """All nodes, from below."""
    for t in range(nodes.tree.shape[0]):
        row = nodes.tree[t]
        if row < 0:
            continue
        for m in range(nodes.first[row, 0], nodes.first[row + 1, 0]):
            begin = starts[t] + (m - nodes.first[row, 0]) * FAN
            box_balls(begin, min(begin + FAN, starts[t + 1]), ball, node, m)
        for level in range(1, LEVELS):
            for m in range(nodes.first[row, level], nodes.first[row + 1, level]):
                begin = nodes.first[row, level - 1] + (m - nodes.first[row, level]) * FAN
                box_boxes(begin, min(begin + FAN, nodes.first[row + 1, level - 1]), node, m)


@kernel
def covers(m: int, node: F32, x: float, y: float, z: float, slack: float) -> bool:
    """Whether the point, give or take its slack, lies in box ``m``."""
    return bool(
        (x + slack >= node[m, 0])
        & (x - slack <= node[m, 3])
        & (y + slack >= node[m, 1])
        & (y - slack <= node[m, 4])
        & (z + slack >= node[m, 2])
        & (z - slack <= node[m, 5])
    )


@kernel
def note_tree(
    row: int, start: int, stop: int, first: I64, node: F32, ball: F32, point: F32, tighten: bool, noted: I32, n: int
) -> tuple[int, int]:
    """Append the entries of one list whose ball covers the point: (number noted, entries looked at).

    Balls below a node have shrunk since it was made. What is read is boxed anew if ``tighten``, the lowest level also
    when an entry was noted, because only then entries are found to have shrunk.
    """
    x, y, z, slack = point[0], point[1], point[2], point[3]
    looked = 0
    top1, top2, top3 = first[row, 0], first[row, 1], first[row, 2]
    end1, end2, end3 = first[row + 1, 0], first[row + 1, 1], first[row + 1, 2]
    for c in range(top3, end3):
        if not covers(c, node, x, y, z, slack):
            continue
        first2 = top2 + (c - top3) * FAN
        last2 = min(first2 + FAN, end2)
        for b in range(first2, last2):
            if not covers(b, node, x, y, z, slack):
                continue
            first1 = top1 + (b - top2) * FAN
            last1 = min(first1 + FAN, end1)
            for a in range(first1, last1):
                if not covers(a, node, x, y, z, slack):
                    continue
                begin = start + (a - top1) * FAN
                end = min(begin + FAN, stop)
                before = n
                n = note_near(begin, end, ball, x, y, z, slack, noted, n)
                looked += end - begin
                if tighten or n > before:
                    box_balls(begin, end, ball, node, a)
            if tighten:
                box_boxes(first1, last1, node, b)
        if tighten:
            box_boxes(first2, last2, node, c)
    return n, looked


@kernel
def balls_match(
    nodes: BallNodes,
    node: F32,
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
    starts, tree, order, points = index.starts, nodes.tree, objects.order, objects.points
    second, present = index.second, scratch.present
    wildcard = starts.shape[0] - 2
    n, looked = 0, 0
    for place in range(first, order.shape[0]):
        i = order[place]
        x, y, z, reach = points[i, 0], points[i, 1], points[i, 2], points[i, 3]
        noted, m = 0, known_terms(i, batch, has)
        for j in range(m + 1):
            t = has[j] if j < m else wildcard
            if tree[t] < 0:
                noted = note_near(starts[t], starts[t + 1], ball, x, y, z, reach, noting, noted)
                looked += starts[t + 1] - starts[t]
            else:
                noted, read = note_tree(
                    tree[t],
                    starts[t],
                    starts[t + 1],
                    nodes.first,
                    node,
                    ball,
                    points[i],
                    place % REST == 0,
                    noting,
                    noted,
                )
                looked += read
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


@kernel
def keep_nearest(
    rows: I32,
    queries: I32,
    distances: I64,
    first_number: int,
    offsets: I64,
    distance: I64,
    number: I64,
    count: I32,
    changed: Flag,
) -> int:
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
