"""Kernels of FAST; conventions are those of :mod:`sightline.index.standing._kernels`.

A *posting* is a conjunct, one of its pieces and a cell. The keyword index is a forest of *nodes* over sorted postings:
a parentless node per (cell, rarest term), and below a frequent one a node per next term.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U8
from sightline.index._kernels import Conjuncts
from sightline.index.standing._kernels import ObjectBatch, holds
from sightline.index.standing.pyramid_kernels import (
    DEEPEST,
    STEP,
    TERM_BITS,
    box_cells,
    cell_code,
    fine_cell,
    level_of,
    own_level,
    pair_slot,
)
from sightline.jit import kernel

MOST_CELLS = 4  # copies of a piece at its own level; coarser levels have fewer
DEPTH = 3  # terms on a path, as many as a conjunct's key columns
SCAN_CHILDREN = 32  # the children of a node that has more are entered into the table
INNER = 128  # bit of FastArrays.levels, above those of the pyramid
CHILDREN = 1 << 28  # pseudo cell of node 0's children; cells are below


class FastArrays(NamedTuple):
    """Frozen FAST."""

    grid: F64  # x0, y0, finest cells per unit in x, in y
    levels: U8  # per term: bit l is set where it has a parentless node at pyramid level l, INNER where it has others
    rank: I32  # per term: its place in the order in which terms follow each other on a path
    slots: I64  # [m, 2] key of (cell, term), node without parent; or of (CHILDREN + parent, term), node; -1 is empty
    nodes: I32  # [n, 4] first entry, entries, first child, children
    node_term: I32  # [n] last term on the path; ascends among the children of a node
    boxes: F64  # [e, 4] west, south, east, north
    entries: I32  # [e, 4] second term, third term, conjunct, query


class FastQueries(NamedTuple):
    """What the kernels read of a block."""

    conj_query: I32
    piece_offsets: I64
    piece_box: F64
    terms: I32  # of key_terms
    shared: U8  # per query: it has several pieces or conjuncts


class Forest(NamedTuple):
    """Under construction: postings in the order of (cell, terms), and the nodes over them."""

    cell: I64  # per posting; ascending
    source: I32  # [p, 2] conjunct, piece
    nodes: I32
    node_term: I32
    span: I32  # [n, 3] first posting, one after the last, terms on the path
    kept: I32  # postings in the order of the entries
    pushed: I32  # postings that go down


@kernel
def fast_spread(source: I32, grid: F64, queries: FastQueries, out_cell: I64, out_source: I32) -> int:
    """Postings in the cells of their own level that replace postings of the root; returns how many.

    With empty outputs they are only counted.
    """
    room, n = out_cell.shape[0], 0
    for i in range(source.shape[0]):
        x1, x2, y1, y2 = box_cells(queries.piece_box[source[i, 1]], grid)
        level = own_level(x1, x2, y1, y2, MOST_CELLS)
        shift = STEP * (DEEPEST - level)
        for y in range(y1 >> shift, (y2 >> shift) + 1):
            for x in range(x1 >> shift, (x2 >> shift) + 1):
                if n < room:
                    out_cell[n] = cell_code(level, x << shift, y << shift)
                    out_source[n, 0], out_source[n, 1] = source[i, 0], source[i, 1]
                n += 1
    return n


@kernel
def fast_forest(at: Forest, grid: F64, queries: FastQueries, theta: int, wildcard: int) -> tuple[int, int, int]:
    """Divide the postings of some cells among nodes; (nodes, postings kept, postings pushed down).

    Nodes are made in the order in which they are looked at, so that children stand side by side.
    """
    terms = queries.terms
    nodes, kept, pushed = 0, 0, 0
    total = at.cell.shape[0]
    start = 0
    for i in range(1, total + 1):
        if i < total and at.cell[i] == at.cell[start] and terms[at.source[i, 0], 0] == terms[at.source[start, 0], 0]:
            continue
        at.span[nodes, 0], at.span[nodes, 1], at.span[nodes, 2] = start, i, 1
        at.node_term[nodes] = terms[at.source[start, 0], 0]
        nodes += 1
        start = i
    v = 0
    while v < nodes:
        low, high, depth = at.span[v, 0], at.span[v, 1], at.span[v, 2]
        at.nodes[v, 0], at.nodes[v, 2], at.nodes[v, 3] = kept, nodes, 0
        crowded = high - low > theta
        if crowded and depth < DEPTH:
            # Frequent: whoever has a further term hangs below it. The wildcard is the last term of all, so the
            # postings that have no further term are the tail.
            while low < high and terms[at.source[low, 0], depth] != wildcard:
                term = terms[at.source[low, 0], depth]
                end = low
                while end < high and terms[at.source[end, 0], depth] == term:
                    end += 1
                at.span[nodes, 0], at.span[nodes, 1], at.span[nodes, 2] = low, end, depth + 1
                at.node_term[nodes] = term
                at.nodes[v, 3] += 1
                nodes += 1
                low = end
            crowded = high - low > theta
        for i in range(low, high):
            down = False
            if crowded:
                x1, x2, y1, y2 = box_cells(queries.piece_box[at.source[i, 1]], grid)
                down = own_level(x1, x2, y1, y2, MOST_CELLS) > level_of(at.cell[i])
            if down:
                at.pushed[pushed] = i
                pushed += 1
            else:
                at.kept[kept] = i
                kept += 1
        at.nodes[v, 1] = kept - at.nodes[v, 0]
        v += 1
    return nodes, kept, pushed


@kernel
def fast_fill(queries: FastQueries, source: I32, boxes: F64, entries: I32) -> None:
    """Write the entries of postings."""
    for e in range(source.shape[0]):
        c, p = source[e, 0], source[e, 1]
        q = queries.conj_query[c]
        for j in range(4):
            boxes[e, j] = queries.piece_box[p, j]
        entries[e, 0], entries[e, 1] = queries.terms[c, 1], queries.terms[c, 2]
        # A negative conjunct asks for verification, a negative query for the duplicate check.
        entries[e, 2] = -c - 1 if queries.terms[c, 3] else c
        entries[e, 3] = -q - 1 if queries.shared[q] else q


@kernel
def fast_enter(slots: I64, levels: U8, keys: I64, numbers: I64) -> None:
    """Enter nodes into the table: key of (cell, term) and number of each."""
    for i in range(keys.shape[0]):
        cell, term = keys[i] >> TERM_BITS, keys[i] & ((1 << TERM_BITS) - 1)
        slot = pair_slot(slots, cell, term)
        slots[slot, 0] = keys[i]
        slots[slot, 1] = numbers[i]
        if cell < CHILDREN:
            levels[term] |= np.uint8(1 << level_of(cell))


@kernel
def _gather(batch: ObjectBatch, i: int, rank: I32, present: U8, own: I32) -> int:
    """The terms of object ``i`` that some query has, in the order of paths; marks them present."""
    held = 0
    for j in range(batch.offsets[i], batch.offsets[i + 1]):
        t = batch.remap[batch.ids[j]]
        if t < 0:
            continue
        present[t] = 1
        k = held
        while k > 0 and rank[own[k - 1]] > rank[t]:
            own[k] = own[k - 1]
            k -= 1
        own[k] = t
        held += 1
    return held


@kernel
def _descend(
    v: int,
    after: int,
    nodes: I32,
    node_term: I32,
    slots: I64,
    levels: U8,
    own: I32,
    held: int,
    present: U8,
    stack: I32,
    top: int,
) -> int:
    """Push the children of a node whose term the object has; returns the new height of the stack.

    The term of the node is ``own[after - 1]`` or one before it: those of its children come later.
    """
    child, count = nodes[v, 2], nodes[v, 3]
    if count <= SCAN_CHILDREN:
        for w in range(child, child + count):
            if present[node_term[w]]:
                stack[top, 0], stack[top, 1] = w, after
                top += 1
        return top
    for j in range(after, held):
        if levels[own[j]] & INNER:
            slot = pair_slot(slots, CHILDREN + v, own[j])
            if slots[slot, 0] >= 0:
                stack[top, 0], stack[top, 1] = slots[slot, 1], j + 1
                top += 1
    return top


@kernel
def fast_match(
    index: FastArrays,
    lists: Conjuncts,
    batch: ObjectBatch,
    present: U8,
    stamp: I32,
    own: I32,
    stack: I32,
    first: int,
    n: int,
    out_object: I32,
    out_query: I32,
) -> tuple[int, int, int]:
    """Match objects ``first``.. against all queries: (row to resume at, pairs so far, entries looked at).

    ``own`` has room for the terms of an object and the wildcard, ``stack`` for twice as many.
    """
    rows, room = batch.lon.shape[0], out_query.shape[0]
    wildcard = index.levels.shape[0] - 1
    levels, slots, nodes, boxes, entries = index.levels, index.slots, index.nodes, index.boxes, index.entries
    node_term = index.node_term
    looked = 0
    for i in range(first, rows):
        before = n
        lon, lat = batch.lon[i], batch.lat[i]
        held = _gather(batch, i, index.rank, present, own)
        own[held] = wildcard
        x, y = fine_cell(lon, index.grid[0], index.grid[2]), fine_cell(lat, index.grid[1], index.grid[3])
        full = False
        for j in range(held + 1):
            t = own[j]
            mask = np.int64(levels[t]) & ~INNER
            level = -1
            while mask != 0 and not full:
                level += 1
                here = mask & 1
                mask >>= 1
                if here == 0:
                    continue
                slot = pair_slot(slots, cell_code(level, x, y), t)
                if slots[slot, 0] < 0:
                    continue
                stack[0, 0], stack[0, 1] = slots[slot, 1], j + 1
                top = 1
                while top > 0 and not full:
                    top -= 1
                    v = stack[top, 0]
                    if nodes[v, 3] > 0:
                        top = _descend(
                            v, stack[top, 1], nodes, node_term, slots, levels, own, held, present, stack, top
                        )
                    looked += nodes[v, 1]
                    for e in range(nodes[v, 0], nodes[v, 0] + nodes[v, 1]):
                        if present[entries[e, 0]] & present[entries[e, 1]] == 0:
                            continue
                        if lon < boxes[e, 0] or lon > boxes[e, 2] or lat < boxes[e, 1] or lat > boxes[e, 3]:
                            continue
                        c, q = entries[e, 2], entries[e, 3]
                        if c < 0 and not holds(-c - 1, lists, present):
                            continue
                        if q < 0:
                            q = -q - 1
                            if stamp[q] == i:
                                continue
                            stamp[q] = i
                        if n == room:
                            full = True
                            break
                        out_object[n] = i
                        out_query[n] = q
                        n += 1
            if full:
                break
        for j in range(held):
            present[own[j]] = 0
        if full:
            # The pair that found no room may have stamped its query already; so may the ones taken back.
            stamp[:] = -1
            return i, before, looked
    return rows, n, looked
