"""Kernels over blocks of objects: runs of rows, each with inverted lists of its own, under a tree of boxes.

A block is a leaf of the R-tree or a cell of the grid. Nodes are numbered from the blocks upwards, level by level:
``levels[l]`` is the first node of level l, and node j of a level has the nodes ``fanout * j`` and following of the
level below as its children. So neither children nor rows of a node are stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, U16
from sightline.index._kernels import Conjuncts
from sightline.jit import kernel

EVERY_CHILD = -1  # mask with all bits set


class BlockArrays(NamedTuple):
    """Rows in the order of their blocks, the lists of the blocks, and the boxes of blocks and nodes."""

    lon: F64
    lat: F64
    ts: I64
    offsets: I64  # [rows + 1] forward lists
    ids: I32
    firsts: I64  # [blocks + 1] first row of each block
    levels: I64  # [height + 1] first node of each level, and the number of nodes
    boxes: F64  # [nodes, 4] west, south, east, north of the rows; of no rows: inf, inf, -inf, -inf
    spans: I64  # [nodes, 2] first and last ts
    lists: I64  # [blocks + 1] entries of each block
    list_terms: I32  # ascending inside a block
    list_ends: I32  # end of the list, counted from the block's first posting; it begins where the one before ends
    postings: npt.NDArray[Any]  # rows, counted from the block's first; as many as ``ids``, uint8 or int32


class FrequencyTables(NamedTuple):
    """Term-frequency tables of the inner nodes, numbered from 0; without any, ``starts`` is [0]."""

    starts: I64  # [inner nodes + 1]
    table_terms: I32  # ascending inside a node
    table_counts: I32  # objects below the node that have the term
    table_masks: U16  # bit i: child i has the term


@kernel
def invert_blocks(
    starts: I64, rows: I32, offsets: I64, firsts: I64, postings: npt.NDArray[Any]
) -> tuple[I64, I32, I32]:
    """Lists of every block from the lists of the whole (``starts``, ``rows``): (lists, terms, ends).

    Terms are dealt out in their order, so every block gets its entries sorted.
    """
    blocks = firsts.shape[0] - 1
    block_of = np.empty(offsets.shape[0] - 1, np.int32)
    for b in range(blocks):
        block_of[firsts[b] : firsts[b + 1]] = b
    lists = np.zeros(blocks + 1, np.int64)
    last = np.full(blocks, -1, np.int64)
    for t in range(starts.shape[0] - 1):
        for p in range(starts[t], starts[t + 1]):
            b = block_of[rows[p]]
            if last[b] != t:
                last[b] = t
                lists[b + 1] += 1
    for b in range(blocks):
        lists[b + 1] += lists[b]
    list_terms = np.empty(lists[blocks], np.int32)
    list_ends = np.empty(lists[blocks], np.int32)
    entry = lists[:-1] - 1
    filled = np.zeros(blocks, np.int64)
    last[:] = -1
    for t in range(starts.shape[0] - 1):
        for p in range(starts[t], starts[t + 1]):
            b = block_of[rows[p]]
            if last[b] != t:
                last[b] = t
                entry[b] += 1
                list_terms[entry[b]] = t
            postings[offsets[firsts[b]] + filled[b]] = rows[p] - firsts[b]
            filled[b] += 1
            list_ends[entry[b]] = filled[b]
    return lists, list_terms, list_ends


@kernel
def bound_nodes(lon: F64, lat: F64, ts: I64, firsts: I64, levels: I64, fanout: int, boxes: F64, spans: I64) -> None:
    """Write the boxes and time spans of all nodes; those of empty ones stay as they are."""
    for b in range(firsts.shape[0] - 1):
        for row in range(firsts[b], firsts[b + 1]):
            boxes[b, 0], boxes[b, 2] = min(boxes[b, 0], lon[row]), max(boxes[b, 2], lon[row])
            boxes[b, 1], boxes[b, 3] = min(boxes[b, 1], lat[row]), max(boxes[b, 3], lat[row])
            spans[b, 0], spans[b, 1] = min(spans[b, 0], ts[row]), max(spans[b, 1], ts[row])
    for level in range(1, levels.shape[0] - 1):
        for child in range(levels[level - 1], levels[level]):
            node = levels[level] + (child - levels[level - 1]) // fanout
            for j in range(2):
                boxes[node, j] = min(boxes[node, j], boxes[child, j])
                boxes[node, j + 2] = max(boxes[node, j + 2], boxes[child, j + 2])
            spans[node, 0], spans[node, 1] = min(spans[node, 0], spans[child, 0]), max(spans[node, 1], spans[child, 1])


@kernel
def find_term(terms: I32, lo: int, hi: int, term: int) -> int:
    """Position of ``term`` in the ascending ``terms[lo:hi]``, or -1."""
    end = hi
    while lo < hi:
        mid = (lo + hi) >> 1
        if terms[mid] < term:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < end and terms[lo] == term else -1


@kernel
def children_to_open(tables: FrequencyTables, inner: int, asked: Conjuncts) -> np.int64:
    """Mask of the children that have, for some conjunct, all of its positive terms."""
    if tables.starts.shape[0] == 1:
        return np.int64(EVERY_CHILD)
    lo, hi = tables.starts[inner], tables.starts[inner + 1]
    found = np.int64(0)
    for c in range(asked.pos_offsets.shape[0] - 1):
        mask = np.int64(EVERY_CHILD)
        for j in range(asked.pos_offsets[c], asked.pos_offsets[c + 1]):
            e = find_term(tables.table_terms, lo, hi, asked.pos[j])
            mask &= np.int64(tables.table_masks[e]) if e >= 0 else np.int64(0)
        found |= mask
    return found


@kernel
def holds(index: BlockArrays, row: int, asked: Conjuncts, c: int) -> bool:
    """Whether a row satisfies conjunct c; its list is short, so it is read, not searched."""
    lo, hi = index.offsets[row], index.offsets[row + 1]
    for p in range(asked.pos_offsets[c], asked.pos_offsets[c + 1]):
        found = False
        for j in range(lo, hi):
            if index.ids[j] == asked.pos[p]:
                found = True
                break
        if not found:
            return False
    for p in range(asked.neg_offsets[c], asked.neg_offsets[c + 1]):
        for j in range(lo, hi):
            if index.ids[j] == asked.neg[p]:
                return False
    return True


@kernel
def shortest_list(index: BlockArrays, block: int, asked: Conjuncts, c: int) -> tuple[int, int, bool]:
    """Candidates of conjunct c in a block: (begin, end, whether these are postings; if not, they are rows)."""
    if asked.pos_offsets[c] == asked.pos_offsets[c + 1]:
        return int(index.firsts[block]), int(index.firsts[block + 1]), False
    base = index.offsets[index.firsts[block]]
    begin, end = np.int64(0), np.int64(-1)
    for j in range(asked.pos_offsets[c], asked.pos_offsets[c + 1]):
        e = find_term(index.list_terms, index.lists[block], index.lists[block + 1], asked.pos[j])
        if e < 0:
            return 0, 0, True
        first = np.int64(index.list_ends[e - 1]) if e > index.lists[block] else np.int64(0)
        last = np.int64(index.list_ends[e])
        if end < 0 or last - first < end - begin:
            begin, end = first, last
    return int(base + begin), int(base + end), True


@kernel
def block_rows(
    index: BlockArrays, block: int, asked: Conjuncts, pieces: F64, lo: int, hi: int, out: I64, n: int
) -> tuple[I64, int, int]:
    """Append the block's matching rows, each once, to ``out[:n]``: (out, or a larger copy; rows; looked at).

    A row that satisfies several conjuncts is taken by the first. Rows of one conjunct come ascending.
    """
    looked = 0
    for c in range(asked.pos_offsets.shape[0] - 1):
        begin, end, posted = shortest_list(index, block, asked, c)
        looked += end - begin
        if n + end - begin > out.shape[0]:
            grown = np.empty(max(2 * out.shape[0], n + end - begin), np.int64)
            grown[:n] = out[:n]
            out = grown
        for p in range(begin, end):
            row = index.firsts[block] + np.int64(index.postings[p]) if posted else p
            if index.ts[row] < lo or index.ts[row] > hi:
                continue
            if not in_pieces(index.lon[row], index.lat[row], pieces) or not holds(index, row, asked, c):
                continue
            known = False
            for earlier in range(c):
                if holds(index, row, asked, earlier):
                    known = True
                    break
            if not known:
                out[n] = row
                n += 1
    return out, n, looked


@kernel
def may_hold(index: BlockArrays, node: int, lo: int, hi: int) -> bool:
    """Whether a node has rows at all and meets the time."""
    some = index.boxes[node, 0] <= index.boxes[node, 2]
    return bool(some and index.spans[node, 0] <= hi and index.spans[node, 1] >= lo)


@kernel
def meets(box: F64, pieces: F64) -> bool:
    """Whether a box has a point in common with any of the closed boxes."""
    for i in range(pieces.shape[0]):
        if box[0] <= pieces[i, 2] and box[2] >= pieces[i, 0] and box[1] <= pieces[i, 3] and box[3] >= pieces[i, 1]:
            return True
    return False


@kernel
def level_of(levels: I64, node: int) -> int:
    """Level of a node; blocks are at 0."""
    level = 0
    while node >= levels[level + 1]:
        level += 1
    return level


@kernel
def in_pieces(x: float, y: float, pieces: F64) -> bool:
    """Whether a point is in any of the closed boxes."""
    for i in range(pieces.shape[0]):
        if pieces[i, 0] <= x <= pieces[i, 2] and pieces[i, 1] <= y <= pieces[i, 3]:
            return True
    return False
