"""Kernels of the QT-tree: the two kinds of split, the lookups of objects and boxes.

Conventions they share:

* *Terms* are numbers in the table of words that the history's snapshot queries ask for; other words have no mass in
  M_srq or M_skq, move no H, and are dropped as soon as they are seen (-1).
* Four *keyword lists* in a row belong to the children of one textual node. They share one byte per term, a bit for
  each list: after a while most words of an object are in all four, which is one look.
* Children of a spatial node: 0 south-west, 1 south-east, 2 north-west, 3 north-east. A place on a cut belongs to the
  east and the north. Objects and boxes are compared with the same two numbers, and nothing is computed from them, so
  a point inside a closed box is in a leaf that the box visits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U8, Flag
from sightline.jit import kernel
from sightline.partition.cost._kernels import covered

LEAF, SPATIAL, TEXTUAL = 0, 1, 2
FOUR, ALL = 4, 15  # children of a node, and a bit for each


class TreeNodes(NamedTuple):
    """What a descent looks at; node 0 is the root."""

    kind: U8
    first: I32  # first of the four children
    cut: F64  # [n, 2] of a spatial node: x, y
    leaf: I32  # number of a leaf
    lists: I32  # first of the four keyword lists of a textual node


class AskedKeywords(NamedTuple):
    """Keywords of snapshot queries: M_srq and M_skq, and how many keywords such queries have."""

    mass: F64  # [terms, 2] SRQ, SKQ
    lengths_srq: F64  # probability of 0, 1, 2... keywords
    lengths_skq: F64


class Lists(NamedTuple):
    """Keyword lists of the children of textual nodes; all but the weights change while objects are assigned."""

    has: U8  # [m / 4, terms] bit c: list c of the four has the term
    h: F64  # [m, 2] H_srq, H_skq
    cover: F64  # [m] work that a random snapshot query with keywords makes here per object
    objects: I64  # [m] how many came
    weight: F64  # [m, 2] probability that a random query is an SRQ (SKQ) that reaches the region


class WeightedWords(NamedTuple):
    """Every keyword of every SRQ and SKQ that is known itself."""

    term: I32  # -1: not in the table
    type: U8  # 0 SRQ, 1 SKQ
    weight: F64


class Past(NamedTuple):
    """Keywords of the SRQs and SKQs of which only counts are known."""

    weight: F64  # [terms, 2]
    total: F64  # [2] with those of terms that are not in the table


class TermRows(NamedTuple):
    """Distinct terms of each object."""

    offsets: I64
    terms: I32


@kernel
def cover_of(h_srq: float, h_skq: float, weight_srq: float, weight_skq: float, asked: AskedKeywords) -> float:
    """The part of Eq. 2 per object that depends on keywords: Pr(srq) W_srq + Pr(skq) W_skq, over |O|."""
    return weight_srq * covered(h_srq, asked.lengths_srq) + weight_skq * covered(h_skq, asked.lengths_skq)


@kernel
def covers_of(h: F64, weight: F64, asked: AskedKeywords) -> F64:
    """``cover`` of every list."""
    out = np.empty(len(h), np.float64)
    for i in range(len(h)):
        out[i] = cover_of(h[i, 0], h[i, 1], weight[i, 0], weight[i, 1], asked)
    return out


@kernel
def visitors(query: I32, box: F64, queries: int, region: F64, bounds: F64) -> Flag:
    """Which queries have a piece that visits a region of the tree.

    Regions are half-open as the lookups are, and those at the border of the space go on for ever.
    """
    out = np.zeros(queries, np.bool_)
    for p in range(len(query)):
        if (
            (box[p, 0] < region[2] or region[2] >= bounds[2])
            and (box[p, 2] >= region[0] or region[0] <= bounds[0])
            and (box[p, 1] < region[3] or region[3] >= bounds[3])
            and (box[p, 3] >= region[1] or region[1] <= bounds[1])
        ):
            out[query[p]] = True
    return out


@kernel
def numbers_of(wanted: I64, hashes: I64, slots: I32) -> I32:
    """The number of each hash in the table, -1 where absent (open addressing, as in the term dictionary)."""
    out = np.empty(len(wanted), np.int32)
    mask = len(slots) - 1
    for i in range(len(wanted)):
        slot = wanted[i] & mask
        while slots[slot] >= 0 and hashes[slots[slot]] != wanted[i]:
            slot = (slot + 1) & mask
        out[i] = slots[slot]
    return out


@kernel
def gather(ids: I32, start: int, end: int, number: I32, stamp: I32, row: int, out: I32, at: int) -> int:
    """Write the distinct terms of a row from ``out[at]`` on; the end of what was written."""
    for i in range(start, end):
        term = number[ids[i]]
        if term >= 0 and stamp[term] != row:
            stamp[term] = row
            out[at] = term
            at += 1
    return at


@kernel
def rows_of(offsets: I64, ids: I32, number: I32, terms: int) -> tuple[I64, I32]:
    """Offsets and terms of all rows."""
    out_offsets, out = np.zeros(len(offsets), np.int64), np.empty(len(ids), np.int32)
    stamp = np.full(terms, -1, np.int32)
    for i in range(len(offsets) - 1):
        out_offsets[i + 1] = gather(ids, offsets[i], offsets[i + 1], number, stamp, i, out, out_offsets[i])
    return out_offsets, out[: out_offsets[-1]].copy()


@kernel
def add_term(row: int, term: int, asked: AskedKeywords, lists: Lists) -> None:
    """Enter a term into a list; a new one raises H by its masses."""
    group, bit = row // FOUR, 1 << (row % FOUR)
    if lists.has[group, term] & bit == 0:
        lists.has[group, term] |= np.uint8(bit)
        lists.h[row, 0] += asked.mass[term, 0]
        lists.h[row, 1] += asked.mass[term, 1]


@kernel
def add_terms(rows: I32, terms: I32, asked: AskedKeywords, lists: Lists) -> None:
    """Enter one term into one list, for each pair; terms below 0 are none."""
    for i in range(len(rows)):
        if terms[i] >= 0:
            add_term(rows[i], terms[i], asked, lists)


@kernel
def assign(first: int, terms: I32, start: int, end: int, asked: AskedKeywords, lists: Lists) -> int:
    """The child with the least workload increment for an object with these terms; it then has the object.

    The increment of the other four types is the same in every child and left out, so that equal increments are equal
    numbers. Ties: fewest objects, then lowest index.
    """
    group = first // FOUR
    in_all = ALL
    for i in range(start, end):
        in_all &= lists.has[group, terms[i]]
    best, least = 0, np.inf
    for c in range(FOUR):
        row, bit = first + c, 1 << c
        after = lists.cover[row]
        if in_all & bit == 0:
            h_srq, h_skq = lists.h[row, 0], lists.h[row, 1]
            for i in range(start, end):
                if lists.has[group, terms[i]] & bit == 0:
                    h_srq += asked.mass[terms[i], 0]
                    h_skq += asked.mass[terms[i], 1]
            after = cover_of(h_srq, h_skq, lists.weight[row, 0], lists.weight[row, 1], asked)
        rise = after + lists.objects[row] * (after - lists.cover[row])
        if rise < least or (rise == least and lists.objects[row] < lists.objects[first + best]):
            best, least = c, rise
    row = first + best
    lists.objects[row] += 1
    if in_all & (1 << best) == 0:
        for i in range(start, end):
            add_term(row, terms[i], asked, lists)
        weight_srq, weight_skq = lists.weight[row, 0], lists.weight[row, 1]
        lists.cover[row] = cover_of(lists.h[row, 0], lists.h[row, 1], weight_srq, weight_skq, asked)
    return best


@kernel
def quadrant(lon: float, lat: float, x: float, y: float) -> int:
    """Child of a spatial node."""
    return int(lon >= x) + 2 * int(lat >= y)


@kernel
def split_space(order: I32, lon: F64, lat: F64, x: float, y: float) -> U8:
    """Child of each object of a node."""
    child = np.empty(len(order), np.uint8)
    for j in range(len(order)):
        child[j] = quadrant(lon[order[j]], lat[order[j]], x, y)
    return child


@kernel
def split_text(order: I32, rows: TermRows, asked: AskedKeywords, lists: Lists) -> U8:
    """Child of each object of a node, in their order; ``lists`` are four empty ones."""
    child = np.empty(len(order), np.uint8)
    for j in range(len(order)):
        start, end = rows.offsets[order[j]], rows.offsets[order[j] + 1]
        child[j] = assign(0, rows.terms, start, end, asked, lists)
    return child


@kernel
def words_of(order: I32, child: U8, rows: TermRows, terms: int) -> U8:
    """Keywords of the children: bit c of a term is set where an object of child c has it."""
    has = np.zeros(terms, np.uint8)
    for j in range(len(order)):
        for i in range(rows.offsets[order[j]], rows.offsets[order[j] + 1]):
            has[rows.terms[i]] |= np.uint8(1 << child[j])
    return has


@kernel
def mass_of(has: U8, child: int, met: I32, words: WeightedWords, past: Past, share: F64) -> tuple[float, float]:
    """H_srq and H_skq of a child with these keywords: how much of what is asked for in its region they are.

    ``met`` are the words of the known queries that reach the region, ``share`` how much of the SRQs and SKQs that were
    counted in the past do.
    """
    srq, skq = 0.0, 0.0
    all_srq, all_skq = share[0] * past.total[0], share[1] * past.total[1]
    for i in met:
        listed = words.term[i] >= 0 and has[words.term[i]] >> child & 1 == 1
        if words.type[i] == 0:
            all_srq += words.weight[i]
            srq += words.weight[i] if listed else 0.0
        else:
            all_skq += words.weight[i]
            skq += words.weight[i] if listed else 0.0
    if past.total[0] + past.total[1] > 0:
        for term in range(len(has)):
            if has[term] >> child & 1 == 1:
                srq += share[0] * past.weight[term, 0]
                skq += share[1] * past.weight[term, 1]
    return srq / all_srq if all_srq > 0 else 0.0, skq / all_skq if all_skq > 0 else 0.0


@kernel
def at_one_place(order: I32, lon: F64, lat: F64) -> bool:
    """Whether no cut can tell the objects apart."""
    for j in range(1, len(order)):
        if lon[order[j]] != lon[order[0]] or lat[order[j]] != lat[order[0]]:
            return False
    return True


@kernel
def descend(
    nodes: TreeNodes,
    lon: F64,
    lat: F64,
    offsets: I64,
    ids: I32,
    number: I32,
    asked: AskedKeywords,
    lists: Lists,
    leaf: I32,
) -> int:
    """The leaf of every object; the number of nodes visited. Lists learn as the objects pass."""
    longest = 0
    for i in range(len(lon)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    terms = np.empty(longest, np.int32)
    stamp = np.full(len(asked.mass), -1, np.int32)
    visited = 0
    for i in range(len(lon)):
        node, known = 0, -1
        while nodes.kind[node] != LEAF:
            visited += 1
            if nodes.kind[node] == SPATIAL:
                child = quadrant(lon[i], lat[i], nodes.cut[node, 0], nodes.cut[node, 1])
            else:
                if known < 0:
                    known = gather(ids, offsets[i], offsets[i + 1], number, stamp, i, terms, 0)
                child = assign(nodes.lists[node], terms, 0, known, asked, lists)
            node = nodes.first[node] + child
        visited += 1
        leaf[i] = nodes.leaf[node]
    return visited


@kernel
def doubled(values: I32) -> I32:
    """The values with as much room again."""
    out = np.empty(2 * len(values), np.int32)
    out[: len(values)] = values
    return out


@kernel
def visits(box: F64, piece: int, child: int, x: float, y: float) -> bool:
    """Whether a box goes on to a child of a spatial node."""
    along = box[piece, 2] >= x if child & 1 else box[piece, 0] < x
    across = box[piece, 3] >= y if child & 2 else box[piece, 1] < y
    return bool(along and across)


@kernel
def targets_of_boxes(
    nodes: TreeNodes, query: I32, box: F64, skip: Flag, target: I32, targets: int
) -> tuple[I32, I32, int]:
    """Pairs (query, target of a leaf it visits), each once, sorted; and the nodes visited. ``query`` ascends.

    ``target`` is per leaf: its worker, or the leaf itself. A query that has met all targets looks no further.
    """
    out_query, out_target = np.empty(64, np.int32), np.empty(64, np.int32)
    stack, seen = np.empty(len(nodes.kind), np.int32), np.full(targets, -1, np.int32)
    n, first, visited = 0, 0, 0
    for p in range(len(query)):
        q = query[p]
        if p > 0 and q != query[p - 1]:
            out_target[first:n].sort()
            first = n
        if skip[q]:
            continue
        stack[0] = 0
        top = 1
        while top > 0 and n - first < targets:
            top -= 1
            node = stack[top]
            visited += 1
            kind = nodes.kind[node]
            if kind == LEAF:
                t = target[nodes.leaf[node]]
                if seen[t] != q:
                    seen[t] = q
                    if n == len(out_query):
                        out_query, out_target = doubled(out_query), doubled(out_target)
                    out_query[n], out_target[n] = q, t
                    n += 1
                continue
            for c in range(FOUR):
                if kind == TEXTUAL or visits(box, p, c, nodes.cut[node, 0], nodes.cut[node, 1]):
                    stack[top] = nodes.first[node] + c
                    top += 1
    out_target[first:n].sort()
    return out_query[:n], out_target[:n], visited
