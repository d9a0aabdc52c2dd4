"""The partitioner ``qt-tree`` of SSTD, and its baselines ``quadtree`` and ``text`` (section 7.1).

Objects go to one leaf (:mod:`~sightline.partition.qt_tree.router`). Queries with a region stand with the workers of
all leaves they overlap, whatever their keywords (section 4.2), and nearest queries everywhere. So no pair meets twice,
and match-all subscriptions and objects without terms need no way of their own.

Keyword lists only grow, and H with them; they begin anew with every fit (errata: the paper never resets them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import I32, I64, Flag, frozen
from sightline.flat.records import Arrays, FlatRecord
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.space import Space
from sightline.partition.allocate import karmarkar_karp as allocate
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning, with_nearest_everywhere
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes
from sightline.partition.qt_tree._kernels import LEAF, SPATIAL, targets_of_boxes
from sightline.partition.qt_tree.build import grow
from sightline.partition.qt_tree.router import TreeRouter
from sightline.partition.qt_tree.tree import Tree
from sightline.partition.qt_tree.workload import TreeWorkload
from sightline.text.term_batch import TermBatch

__all__ = ["QtTreeParams", "QtTreeRouting", "QuadtreeRouting", "TextRouting"]


@dataclass(frozen=True, slots=True)
class QtTreeParams:
    """Parameters of the QT-tree."""

    theta: int = 64  # least number of leaves, SSTD Alg. 1 and section 7.7 (swept 32-256)


DEFAULTS = QtTreeParams()


@dataclass(frozen=True, eq=False)
class TreeRouting(FlatRecord):
    """A tree and the workers of its leaves."""

    duplicates: ClassVar[bool] = False
    spatial: ClassVar[bool] = True  # which kinds of split are allowed
    textual: ClassVar[bool] = True

    workers: int
    tree: Tree
    leaf_worker: I32

    @classmethod
    def start(cls, space: Space, workers: int, params: QtTreeParams = DEFAULTS) -> Self:
        """An even tree; its leaves are dealt in turn."""
        nothing = ObjectColumns(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), TermBatch.empty())
        tree = cls._grown(nothing, TreeWorkload.unknown(space), workers, params)
        return cls(workers, tree, np.arange(len(tree.load), dtype=np.int32) % np.int32(workers))

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int, params: QtTreeParams = DEFAULTS) -> Self:
        """Algorithm 1 on a history; leaves are dealt by their workload. Without objects there is nothing to fit."""
        if len(history.objects) == 0:
            return cls.start(space, workers, params)
        tree = cls._grown(history.objects, TreeWorkload.of(history, space), workers, params)
        return cls(workers, tree, allocate(tree.load, workers))

    @classmethod
    def _grown(cls, objects: ObjectColumns, workload: TreeWorkload, workers: int, params: QtTreeParams) -> Tree:
        return grow(objects, workload, max(params.theta, workers), spatial=cls.spatial, textual=cls.textual)

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return replace(self, leaf_worker=allocate(loads, self.workers))

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        """Routes by a router that has learnt nothing yet."""
        return TreeRouter(self.tree, self.leaf_worker).route_objects(objects)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        query, worker, _ = self._targets(block, self.leaf_worker, self.workers, block.kind == KIND_NEAREST)
        each = np.arange(self.workers, dtype=np.int32)  # the kernel has gone from leaves to workers already
        return with_nearest_everywhere(QueryLeaves(query, worker), block, each, self.workers)

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        leaves = len(self.tree.load)
        query, leaf, _ = self._targets(block, np.arange(leaves, dtype=np.int32), leaves, np.zeros(len(block), np.bool_))
        return QueryLeaves(query, leaf)

    def _targets(self, block: QueryBlock, target: I32, targets: int, skip: Flag) -> tuple[I32, I32, int]:
        query, box = block.piece_query, block.piece_box
        nodes, skipped, of_leaf = self.tree.nodes, frozen(skip, np.bool_), frozen(target, np.int32)
        return targets_of_boxes(nodes, query, box, skipped, of_leaf, targets)

    def leaf_table(self) -> pa.Table:
        tree = self.tree
        leaves = np.flatnonzero(tree.kind == LEAF)
        parent = tree.parent[leaves]
        split = np.where(tree.kind[parent] == SPATIAL, "spatial", "textual")
        west, south, east, north = tree.box[leaves].T
        return pa.table(
            {
                "leaf": np.arange(len(leaves)),
                "worker": self.leaf_worker,
                "split": np.where(parent < 0, "root", split).tolist(),
                "west": west,
                "south": south,
                "east": east,
                "north": north,
                "keywords": self._keywords(),
            }
        )

    def _keywords(self) -> I64:
        """Length of each leaf's keyword list, 0 where its parent is not textual."""
        lengths = self.tree.list_lengths()
        number = self.tree.leaf_lists()
        out = np.zeros(len(number), np.int64)
        out[number >= 0] = lengths[number[number >= 0]]
        return out


class LearningTree(TreeRouting):
    """A tree that may have textual nodes, whose lists learn."""

    learns: ClassVar[bool] = True
    fits: ClassVar[bool] = True
    spreads: ClassVar[bool] = False

    def router(self, learnt: Sequence[Arrays] = ()) -> TreeRouter:
        """A router with the lists of this epoch's fit and all that was learnt since."""
        return TreeRouter(self.tree, self.leaf_worker, learnt)

    def merged(self, learnt: Sequence[Arrays]) -> Arrays:
        """Words and objects of several routers: each word of a list once, objects added up."""
        lists, hashes, counted, objects = (
            np.concatenate([np.asarray(one[key]) for one in learnt]) for key in ("list", "hash", "counted", "objects")
        )
        order = np.lexsort((hashes, lists))
        lists, hashes = lists[order], hashes[order]
        first = np.ones(len(lists), np.bool_)
        first[1:] = (lists[1:] != lists[:-1]) | (hashes[1:] != hashes[:-1])
        children, place = np.unique(counted, return_inverse=True)
        came = np.zeros(len(children), np.int64)
        np.add.at(came, place, objects)
        return {"list": lists[first], "hash": hashes[first], "counted": children.astype(np.int32), "objects": came}


class QtTreeRouting(LearningTree):
    """Both kinds of split."""


class TextRouting(LearningTree):
    """Textual splits only: every query with a region stands everywhere."""

    spatial: ClassVar[bool] = False


class QuadtreeRouting(Unlearning, TreeRouting):
    """Spatial splits only."""

    textual: ClassVar[bool] = False
