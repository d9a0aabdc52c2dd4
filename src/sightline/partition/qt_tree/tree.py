"""The QT-tree as flat arrays: nodes, keyword lists, and the table of words that weigh something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.flat.arrays import F64, I32, I64, U8
from sightline.flat.records import FlatRecord
from sightline.partition.qt_tree._kernels import LEAF, TEXTUAL, AskedKeywords, TreeNodes

__all__ = ["Tree"]


@dataclass(frozen=True, eq=False)
class Tree(FlatRecord):
    """n nodes, of which some are leaves; m keyword lists, four for each textual node; v words with mass.

    A word that no snapshot query of the history asks for changes no H; lists leave it out (ours), which keeps them
    as small as the paper says they are.
    """

    kind: U8  # [n] leaf, spatial, textual
    first: I32  # [n] first of four children, -1
    box: F64  # [n, 4] west, south, east, north
    cut: F64  # [n, 2] x and y of a spatial node's cuts
    leaf: I32  # [n] number of a leaf, -1
    lists: I32  # [n] first of the four lists of a textual node's children, -1
    load: F64  # [leaves] W(P), Eq. 2, when the tree was built
    has: U8  # [m / 4, v] bit c: list c of the four has the word
    h: F64  # [m, 2] H_srq, H_skq
    objects: I64  # [m] how many came
    weight: F64  # [m, 2] how likely a random query is an SRQ (SKQ) that reaches the node
    hashes: I64  # [v] ascending
    slots: I32  # [2^b] hash table of them
    mass: F64  # [v, 2] M_srq, M_skq
    lengths_srq: F64
    lengths_skq: F64

    @property
    def nodes(self) -> TreeNodes:
        """What kernels descend."""
        return TreeNodes(self.kind, self.first, self.cut, self.leaf, self.lists)

    @property
    def asked(self) -> AskedKeywords:
        """What kernels weigh keywords by."""
        return AskedKeywords(self.mass, self.lengths_srq, self.lengths_skq)

    @property
    def parent(self) -> I32:
        """The parent of every node, -1 for the root."""
        out = np.full(len(self.kind), -1, np.int32)
        inner = np.flatnonzero(self.kind != LEAF)
        for child in range(4):
            out[self.first[inner] + child] = inner
        return out

    @property
    def depth(self) -> int:
        """Nodes on the longest way from the root to a leaf."""
        level = np.ones(len(self.kind), np.int64)
        for node, parent in enumerate(self.parent.tolist()):  # parents come before their children
            if parent >= 0:
                level[node] = level[parent] + 1
        return int(level.max())

    def leaf_lists(self) -> I32:
        """The keyword list of each leaf whose parent is textual, -1 of the others."""
        leaves = np.flatnonzero(self.kind == LEAF)
        parent = self.parent[leaves]
        textual = (parent >= 0) & (self.kind[parent] == TEXTUAL)
        return np.where(textual, self.lists[parent] + leaves - self.first[parent], -1).astype(np.int32)

    def list_lengths(self) -> I64:
        """Words of each keyword list."""
        bits = (self.has[:, None, :] >> np.arange(4, dtype=np.uint8)[:, None]) & 1
        lengths: I64 = bits.sum(axis=2, dtype=np.int64).ravel()
        return lengths

    def keywords(self, number: int) -> I64:
        """Hashes of a keyword list, ascending."""
        group, bit = divmod(number, 4)
        listed: I64 = self.hashes[(self.has[group] >> bit) & 1 == 1]
        return listed
