"""The dispatcher of PS2Stream: objects and queries by the grid^t index of a kd^t-tree (section IV-C).

Deviations (ours):

* A worker *owns* an object even where no query of the object's terms stands, so nothing is discarded here; an object
  is sent to its owner and to the workers of its open terms (:mod:`~sightline.partition.kdt_tree._kernels`).
* "Least frequent" is by the objects of the node the tree was built from, so dispatchers agree without talking.
* Match-all conjuncts and top-term queries stand in all parts of a textual node; nearest queries on all workers.
* A query that stands in several parts may find an object in more than one: the merger removes duplicates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, Flag, frozen, offsets_of
from sightline.flat.records import FlatRecord, frozen_fields
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_RANGE, QueryBlock
from sightline.model.space import Space
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.kdt_tree._kernels import (
    GridT,
    QueryTerms,
    send_objects,
    visited_leaves,
)
from sightline.partition.kdt_tree.grid_t import CellNode, NodeVocabulary, grid_of, plain_nodes
from sightline.partition.kdt_tree.hybrid.algorithm import HybridParams, partition_workload
from sightline.partition.kdt_tree.hybrid.sample import WorkloadSample
from sightline.partition.leaf_routes import Unlearning, with_nearest_everywhere
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes

__all__ = ["KdtTreeRouting"]

_DEFAULTS = HybridParams()


@dataclass(frozen=True)
class KdtTreeRouting(FlatRecord, Unlearning):
    """A grid^t index and the worker of each leaf of its tree."""

    duplicates: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

    workers: int
    bounds: F64  # west, south, east, north
    grid: GridT
    leaf_worker: I32

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        """Equal blocks of equal cells, at least four per worker; neighbours go to different workers."""
        west, south, east, north = space.bounds
        side = _DEFAULTS.side
        inner = np.arange(1, side) / side
        nodes = plain_nodes(side, max(_DEFAULTS.theta, 4 * workers))
        grid = grid_of(west + inner * (east - west), south + inner * (north - south), nodes)
        # An odd multiplier near the golden section of a power of two visits every number once.
        dealt = (np.arange(len(nodes)) * (int(0.618 * len(nodes)) | 1)) % len(nodes) % workers
        return cls(workers, np.array(space.bounds), grid, dealt.astype(np.int32))

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int, params: HybridParams = _DEFAULTS) -> Self:
        """The kd^t-tree of Algorithm 1 for a history; snapshot queries do not count (the paper has none)."""
        if len(history.objects) == 0:
            return cls.start(space, workers)
        sample = WorkloadSample.of(history, params.side)
        tree = partition_workload(sample, workers, params)
        nodes = [CellNode(node.box) for node in tree.nodes]
        for i, node in enumerate(tree.nodes):
            if node.parts is not None:
                known = node.parts
                words = NodeVocabulary(sample.terms[known.terms], known.part, known.keyed, known.counts)
                nodes[i] = CellNode(node.box, len(known.loads), words)
        grid = grid_of(sample.x_edges, sample.y_edges, nodes)
        return cls(workers, np.array(space.bounds), grid, tree.leaf_worker)

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return replace(self, leaf_worker=longest_first(loads, self.workers))

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        words = objects.terms
        leaf, row, worker = send_objects(
            frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), words.offsets,
            words.ids, words.dictionary.hashes, self.grid, self.leaf_worker,
            self.workers,
        )  # fmt: skip
        return ObjectRoutes(leaf, self.leaf_worker[leaf], row, worker)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        return with_nearest_everywhere(self.leaves_of(block), block, self.leaf_worker, self.workers)

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        return self._visited(block, block.kind != KIND_RANGE)

    def owners_of(self, block: QueryBlock) -> QueryLeaves:
        """All parts of the nodes that a query meets: any word of an object, not only one that is asked for, may have
        given it its owner."""
        return self._visited(block, np.ones(len(block), np.bool_))

    def _visited(self, block: QueryBlock, wild: Flag) -> QueryLeaves:
        lists = (
            wild, offsets_of(block.conj_query, len(block)), block.pos_offsets, block.pos, block.dictionary.hashes
        )  # fmt: skip
        terms = frozen_fields(QueryTerms, lists)
        pieces = block.piece_query, block.piece_box
        return QueryLeaves(*visited_leaves(*pieces, terms, self.grid))

    def leaf_table(self) -> pa.Table:
        grid = self.grid
        parts = np.diff(grid.node_leaf)
        node = np.repeat(np.arange(len(parts)), parts)
        west, south, east, north = self.bounds
        x = np.concatenate([[west], grid.x_edges, [east]])
        y = np.concatenate([[south], grid.y_edges, [north]])
        box = grid.node_box[node]
        known = np.flatnonzero(grid.slot_part >= 0)
        owner = np.searchsorted(grid.node_slot, known, side="right") - 1
        leaf_of_term = grid.node_leaf[owner] + grid.slot_part[known]
        columns = {
            "leaf": np.arange(len(node)), "worker": self.leaf_worker,
            "split": ["textual" if n > 1 else "spatial" for n in parts[node]],
            "west": x[box[:, 0]], "south": y[box[:, 1]], "east": x[box[:, 2] + 1], "north": y[box[:, 3] + 1],
            "keywords": np.bincount(leaf_of_term, minlength=len(node)).astype(np.int64),
        }  # fmt: skip
        return pa.table(columns)
