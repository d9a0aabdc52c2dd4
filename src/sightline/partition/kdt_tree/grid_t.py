"""From the nodes of a kd^t-tree to the flat grid^t index (PS2Stream section IV-C, Figure 4).

Deviations (ours): the paper keeps two hash maps per cell; here all cells of a textual node share one table with a
mark for the terms of H2. H2 is frozen with the tree instead of growing with every new query: a conjunct that comes
later stands under its rarest term that objects are sent for, or in all parts of the node if it has none, until the
next tree is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, Flag, frozen
from sightline.flat.records import frozen_fields
from sightline.partition.kdt_tree._kernels import GridT, slots_for
from sightline.text.dictionary import table_size

__all__ = ["CellNode", "NodeVocabulary", "grid_of", "plain_nodes"]

Box = tuple[int, int, int, int]


class NodeVocabulary(NamedTuple):
    """The terms a textual node knows: distinct hashes, the part of each, whether it is in H2, objects that had it."""

    terms: I64
    part: I32
    keyed: Flag
    counts: I32


class CellNode(NamedTuple):
    """A rectangle of cells (first column, first row, last column, last row), whole or in parts of its terms."""

    box: Box
    parts: int = 1
    vocabulary: NodeVocabulary | None = None


def grid_of(x_edges: F64, y_edges: F64, nodes: Sequence[CellNode]) -> GridT:
    """The index of nodes that tile the cells between the edges; leaves are numbered node by node, part by part."""
    cell_node = np.full((len(y_edges) + 1, len(x_edges) + 1), -1, np.int32)
    sizes = np.zeros(len(nodes), np.int64)
    for number, node in enumerate(nodes):
        x0, y0, x1, y1 = node.box
        cell_node[y0 : y1 + 1, x0 : x1 + 1] = number
        if node.vocabulary is not None:
            sizes[number] = table_size(len(node.vocabulary.terms))
    node_slot = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    node_leaf = np.concatenate([np.zeros(1, np.int64), np.cumsum([node.parts for node in nodes])])
    slots = int(node_slot[-1])
    hashes, keyed, counts = np.zeros(slots, np.int64), np.zeros(slots, np.uint8), np.zeros(slots, np.int32)
    part = np.full(slots, -1, np.int32)
    for number, node in enumerate(nodes):
        if node.vocabulary is not None:
            known = node.vocabulary
            at = node_slot[number] + slots_for(frozen(known.terms, np.int64), int(sizes[number]))
            hashes[at], part[at], keyed[at], counts[at] = known.terms, known.part, known.keyed, known.counts
    boxes = np.array([node.box for node in nodes], np.int32).reshape(-1, 4)
    arrays = x_edges, y_edges, cell_node.ravel(), boxes, node_leaf, node_slot, hashes, part, keyed, counts
    return frozen_fields(GridT, arrays)


def plain_nodes(side: int, leaves: int) -> list[CellNode]:
    """Equal blocks of a grid of side x side cells (a power of two), ``leaves`` of them or more where it can."""
    across = up = 1
    while across * up < leaves and up < side:
        if across == up:
            across *= 2
        else:
            up *= 2
    width, height = side // across, side // up
    return [
        CellNode((x * width, y * height, (x + 1) * width - 1, (y + 1) * height - 1))
        for y in range(up)
        for x in range(across)
    ]
