"""Objects down the tree (SSTD section 4.2): by place at spatial nodes, by least workload increment at textual ones.

A router has its own copy of the keyword lists, which grow as objects pass. Copies drift apart without harm, because
queries are routed by space alone: whichever child of a textual node an object goes to, every query of its region is
there too. What a router has learnt is handed to the routers of later batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.flat.arrays import I32, I64, frozen
from sightline.flat.records import Arrays
from sightline.index.protocol import ObjectColumns
from sightline.partition.leaf_routes import at_leaves
from sightline.partition.protocol import ObjectRoutes
from sightline.partition.qt_tree._kernels import Lists, add_terms, covers_of, descend, numbers_of
from sightline.partition.qt_tree.tree import Tree

__all__ = ["TreeRouter"]


class TreeRouter:
    """Routes objects and learns their keywords.

    ``learnt`` are arrays as :meth:`learnt` gives them. Several may be joined key by key (concatenated) into one: the
    order of batches is the order of the arrays.
    """

    def __init__(self, tree: Tree, leaf_worker: I32, learnt: Sequence[Arrays] = ()) -> None:
        self._tree, self._leaf_worker = tree, leaf_worker
        self._lists = Lists(
            tree.has.copy(), tree.h.copy(), np.zeros(len(tree.h)), tree.objects.copy(), frozen(tree.weight, np.float64)
        )
        for one in learnt:
            if one:
                self._take(one)
        self._lists.cover[:] = covers_of(self._lists.h, self._lists.weight, tree.asked)
        self._known, self._counted = self._lists.has.copy(), self._lists.objects.copy()
        self.visited = 0  # nodes, for tests of the work done

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        """The one leaf of each object, and its worker."""
        tree, terms = self._tree, objects.terms
        leaf = np.empty(len(objects), np.int32)
        number = self._numbers(terms.dictionary.hashes) if len(tree.h) else np.zeros(0, np.int32)
        self.visited += descend(
            tree.nodes,
            frozen(objects.lon, np.float64),
            frozen(objects.lat, np.float64),
            terms.offsets,
            terms.ids,
            frozen(number, np.int32),
            tree.asked,
            self._lists,
            leaf,
        )
        return at_leaves(leaf, self._leaf_worker)

    def learnt(self) -> Arrays:
        """Words that lists did not have (``list``, ``hash``), and objects that came (``counted``, ``objects``)."""
        came = self._lists.objects - self._counted
        counted = np.flatnonzero(came)
        if len(counted) == 0:
            return {}
        new = self._lists.has ^ self._known
        group, term = np.nonzero(new)
        entry, bit = np.nonzero((new[group, term][:, None] >> np.arange(4, dtype=np.uint8)) & 1)
        return {
            "list": (4 * group[entry] + bit).astype(np.int32),
            "hash": self._tree.hashes[term[entry]],
            "counted": counted.astype(np.int32),
            "objects": came[counted],
        }

    def _take(self, one: Arrays) -> None:
        number = self._numbers(np.asarray(one["hash"], np.int64))
        add_terms(frozen(one["list"], np.int32), frozen(number, np.int32), self._tree.asked, self._lists)
        np.add.at(self._lists.objects, np.asarray(one["counted"], np.int64), np.asarray(one["objects"], np.int64))

    def _numbers(self, hashes: I64) -> I32:
        return numbers_of(frozen(hashes, np.int64), self._tree.hashes, self._tree.slots)
