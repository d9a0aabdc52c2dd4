"""Lookups of the grid^t index: cell -> node -> part of the terms (PS2Stream section IV-C).

Terms are their 64-bit hashes. In a textual node a term is *open* if objects are sent for it: it is the key of a query
the tree was built for (H2), or no object of the node had it then. All other terms are *closed*: no query stands under
them, so no object is sent for them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U8, Flag
from sightline.jit import kernel
from sightline.partition.pairs_kernels import add_once, by_worker, with_room
from sightline.partition.terms._kernels import hashed_to
from sightline.partition.tiles._kernels import slot_of

_NO_TERM, _CLOSED, _OPEN = 0, 1, 2


class GridT(NamedTuple):
    """The dispatcher's index, flat.

    A coordinate's column (row) is the number of ``x_edges`` (``y_edges``) at or below it; cells are row-major from the
    south-west. Node n has the cells of ``node_box[n]`` (first column, first row, last column, last row), the leaves
    ``node_leaf[n]:node_leaf[n+1]`` (more than one: divided by text) and, if textual, the slots
    ``node_slot[n]:node_slot[n+1]`` of an open-addressing table (a power of two, at most half full).
    ``slot_part`` is H1 (term -> leaf of the node, -1 for a free slot), ``slot_keyed`` marks the terms of H2, and
    ``slot_count`` is the number of objects of the node that had the term.
    """

    x_edges: F64
    y_edges: F64
    cell_node: I32
    node_box: I32
    node_leaf: I32
    node_slot: I64
    slot_hash: I64
    slot_part: I32
    slot_keyed: U8
    slot_count: I32


class QueryTerms(NamedTuple):
    """Conjuncts of queries: query q has ``conj[q]:conj[q+1]``; a ``wild`` one stands in all parts of a node."""

    wild: Flag
    conj: I64
    pos_offsets: I64
    pos: I32
    hashes: I64


@kernel
def slots_for(terms: I64, size: int) -> I64:
    """A slot for each of some distinct terms in an empty table of a power of two slots, more than there are terms."""
    taken = np.zeros(size, np.bool_)
    out = np.empty(len(terms), np.int64)
    for i in range(len(terms)):
        at = (terms[i] ^ (terms[i] >> 32)) & (size - 1)
        while taken[at]:
            at = (at + 1) & (size - 1)
        taken[at] = True
        out[i] = at
    return out


@kernel
def find_term(grid: GridT, node: int, term: int) -> int:
    """The slot of a term in a textual node, -1 if the node does not know it."""
    first = grid.node_slot[node]
    mask = grid.node_slot[node + 1] - first - 1
    at = (term ^ (term >> 32)) & mask
    while grid.slot_part[first + at] >= 0:
        if grid.slot_hash[first + at] == term:
            return int(first + at)
        at = (at + 1) & mask
    return -1


@kernel
def send_objects(
    lon: F64, lat: F64, offsets: I64, ids: I32, hashes: I64, grid: GridT, leaf_worker: I32, workers: int
) -> tuple[I32, I32, I32]:
    """Owning leaf of every object, and pairs (row, worker) that match, each once, sorted by worker, then row.

    In a textual node an object goes to the parts of its open terms. The part of the open term with the smallest hash
    owns it; without one a part by place, shifted by that of the closed term with the smallest hash if it has terms.
    """
    n = len(lon)
    columns = len(grid.x_edges) + 1
    leaf = np.empty(n, np.int32)
    rows, to = np.empty(n + workers, np.int32), np.empty(n + workers, np.int32)
    seen = np.full(workers, -1, np.int64)
    pairs = 0
    for i in range(n):
        rows, to = with_room(rows, to, pairs, workers)
        cell = slot_of(lat[i], grid.y_edges) * columns + slot_of(lon[i], grid.x_edges)
        node = grid.cell_node[cell]
        first = grid.node_leaf[node]
        parts = grid.node_leaf[node + 1] - first
        own = cell % parts
        if parts > 1:
            rank, smallest = _NO_TERM, np.int64(0)
            for j in range(offsets[i], offsets[i + 1]):
                term = hashes[ids[j]]
                slot = find_term(grid, node, term)
                if slot < 0:
                    part = hashed_to(term, parts)
                else:
                    part = grid.slot_part[slot]
                kind = _CLOSED
                if slot < 0 or grid.slot_keyed[slot] != 0:
                    kind = _OPEN
                    pairs = add_once(i, leaf_worker[first + part], seen, rows, to, pairs)
                if kind > rank or (kind == rank and term < smallest):
                    rank, smallest, own = kind, term, part if kind == _OPEN else (part + cell) % parts
        leaf[i] = first + own
        pairs = add_once(i, leaf_worker[leaf[i]], seen, rows, to, pairs)
    out_row, out_worker = by_worker(rows, to, pairs, workers)
    return leaf, out_row, out_worker


@kernel
def key_part(terms: QueryTerms, conjunct: int, grid: GridT, node: int, parts: int) -> int:
    """The part of a conjunct's rarest open term in a textual node (ties: smallest hash); -1 if it has none."""
    part, fewest, smallest = np.int64(-1), np.int64(0), np.int64(0)
    for j in range(terms.pos_offsets[conjunct], terms.pos_offsets[conjunct + 1]):
        term = terms.hashes[terms.pos[j]]
        slot = find_term(grid, node, term)
        count = np.int64(0)
        if slot >= 0:
            if grid.slot_keyed[slot] == 0:
                continue
            count = np.int64(grid.slot_count[slot])
        if part < 0 or count < fewest or (count == fewest and term < smallest):
            fewest, smallest = count, term
            part = np.int64(grid.slot_part[slot]) if slot >= 0 else np.int64(hashed_to(term, parts))
    return int(part)


@kernel
def visited_leaves(query: I32, box: F64, terms: QueryTerms, grid: GridT) -> tuple[I32, I32]:
    """Pairs (query, leaf) where queries stand, each once, sorted; ``query`` ascends.

    A node of one leaf is visited by every query whose box meets it. In a textual node each conjunct stands in the part
    of its key; wild queries, and conjuncts without an open term, in all parts.
    """
    nodes = len(grid.node_leaf) - 1
    leaves = grid.node_leaf[nodes]
    out_query, out_leaf = np.empty(64 + leaves, np.int32), np.empty(64 + leaves, np.int32)
    met, taken = np.full(nodes, -1, np.int32), np.full(leaves, -1, np.int64)
    n, first = 0, 0
    for p in range(len(query)):
        q = query[p]
        if p > 0 and q != query[p - 1]:
            out_leaf[first:n].sort()
            first = n
        out_query, out_leaf = with_room(out_query, out_leaf, n, leaves)
        x0, x1 = slot_of(box[p, 0], grid.x_edges), slot_of(box[p, 2], grid.x_edges)
        y0, y1 = slot_of(box[p, 1], grid.y_edges), slot_of(box[p, 3], grid.y_edges)
        for node in range(nodes):
            if grid.node_box[node, 0] > x1 or grid.node_box[node, 2] < x0:
                continue
            if grid.node_box[node, 1] > y1 or grid.node_box[node, 3] < y0 or met[node] == q:
                continue
            met[node] = q
            base = grid.node_leaf[node]
            parts = grid.node_leaf[node + 1] - base
            everywhere = parts == 1 or terms.wild[q]
            if not everywhere:
                for c in range(terms.conj[q], terms.conj[q + 1]):
                    part = key_part(terms, c, grid, node, parts)
                    if part < 0:
                        everywhere = True
                        break
                    n = add_once(q, base + part, taken, out_query, out_leaf, n)
            if everywhere:
                for leaf in range(base, base + parts):
                    n = add_once(q, leaf, taken, out_query, out_leaf, n)
    out_leaf[first:n].sort()
    return out_query[:n], out_leaf[:n]
