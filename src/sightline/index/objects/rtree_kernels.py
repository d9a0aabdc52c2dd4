"""Kernels of the R-tree: tables of the inner nodes, and the range search."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U16
from sightline.index._kernels import Conjuncts
from sightline.index.objects.blocks._kernels import (
    BlockArrays,
    FrequencyTables,
    block_rows,
    children_to_open,
    level_of,
    may_hold,
    meets,
)
from sightline.jit import kernel

FIRST_ROOM = 64  # rows of the first output buffer; it at least doubles when full


@kernel
def merge_tables(
    starts: I64, table_terms: I32, table_counts: I32, fanout: int, terms: int
) -> tuple[I64, I32, I32, U16]:
    """Tables of one level from those of the level below: (starts, terms, counts, masks of children)."""
    children = starts.shape[0] - 1
    nodes = (children + fanout - 1) // fanout
    up_starts = np.zeros(nodes + 1, np.int64)
    up_terms, up_counts = np.empty(table_terms.shape[0], np.int32), np.empty(table_terms.shape[0], np.int32)
    up_masks = np.empty(table_terms.shape[0], np.uint16)
    count, mask = np.zeros(terms, np.int32), np.zeros(terms, np.int64)
    n = 0
    for node in range(nodes):
        begin = n
        for i in range(min(fanout, children - node * fanout)):
            child = node * fanout + i
            for e in range(starts[child], starts[child + 1]):
                t = table_terms[e]
                if mask[t] == 0:
                    up_terms[n] = t
                    n += 1
                mask[t] |= np.int64(1) << i
                count[t] += table_counts[e]
        up_terms[begin:n] = np.sort(up_terms[begin:n])
        for e in range(begin, n):
            t = up_terms[e]
            up_counts[e], up_masks[e] = count[t], mask[t]
            count[t] = mask[t] = 0
        up_starts[node + 1] = n
    return up_starts, up_terms[:n].copy(), up_counts[:n].copy(), up_masks[:n].copy()


@kernel
def range_rows(
    index: BlockArrays, tables: FrequencyTables, fanout: int, asked: Conjuncts, pieces: F64, lo: int, hi: int
) -> tuple[I64, int, int]:
    """Matching rows, those of one conjunct ascending: (rows, nodes opened, postings or rows looked at).

    Depth first in the order of the rows. A node is opened if its box meets a piece, its rows the time, and its
    parent's table says that it has the terms.
    """
    levels, top_level = index.levels, index.levels.shape[0] - 2
    stack = np.empty(fanout * top_level + 1, np.int64)
    stack[0] = levels[top_level]
    size = 1
    out = np.empty(FIRST_ROOM, np.int64)
    n, opened, looked = 0, 0, 0
    while size > 0:
        size -= 1
        node = stack[size]
        if not may_hold(index, node, lo, hi) or not meets(index.boxes[node], pieces):
            continue
        opened += 1
        level = level_of(levels, node)
        if level == 0:
            out, n, read = block_rows(index, node, asked, pieces, lo, hi, out, n)
            looked += read
            continue
        mask = children_to_open(tables, node - levels[1], asked)
        first = levels[level - 1] + (node - levels[level]) * fanout
        for i in range(min(fanout, levels[level] - first) - 1, -1, -1):
            if (mask >> i) & 1:
                stack[size] = first + i
                size += 1
    return out[:n].copy(), opened, looked
