"""Uniform grid over the space: the plain partitioner a store begins with (PS2Stream's space baseline, 2^6 x 2^6).

A leaf is a cell. An object has one leaf; a range or top-terms query stands with every worker that serves a cell its
region touches; a nearest query stands everywhere, because any object may be among its k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, frozen
from sightline.flat.records import FlatRecord
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.space import Space
from sightline.partition._kernels import cells_of, cells_of_boxes, workers_of_boxes
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning, at_leaves, leaf_rows
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes

SIDE = 64  # cells per side, PS2Stream section VI


@dataclass(frozen=True)
class GridRouting(FlatRecord, Unlearning):
    """Cell (row-major from the south-west) -> worker."""

    duplicates: ClassVar[bool] = False

    workers: int
    bounds: F64  # west, south, east, north
    leaf_worker: I32  # [SIDE * SIDE]

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        # Neighbouring cells go to different workers: before any data is seen, this spreads a city and the continents
        # alike. The multiplier is odd and near 0.618 * 2^12, and a worker has a run of products: their high bits depend
        # on row and column, the low ones on the column alone.
        leaves = np.arange(SIDE * SIDE)
        dealt = (leaves * 2531 % (SIDE * SIDE)) * workers // (SIDE * SIDE)
        return cls(workers, np.array(space.bounds), dealt.astype(np.int32))

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        """The cells dealt by the objects they had (PS2Stream section VI: LPT greedy over cells)."""
        plain = cls.start(space, workers)
        leaf = plain.leaves_at(history.objects)
        return plain.reassigned(np.bincount(leaf, minlength=SIDE * SIDE).astype(np.float64)) if len(leaf) else plain

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return type(self)(self.workers, self.bounds, longest_first(loads, self.workers))

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        return at_leaves(self.leaves_at(objects), self.leaf_worker)

    def leaves_at(self, objects: ObjectColumns) -> I32:
        """The cell of every object."""
        return cells_of(frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), self.bounds, SIDE)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        pieces = block.piece_query, block.piece_box
        stands = workers_of_boxes(*pieces, self.bounds, SIDE, self.leaf_worker, len(block), self.workers)
        stands[block.kind == KIND_NEAREST] = True
        worker, query = np.nonzero(stands.T)
        return QueryRoutes(query.astype(np.int32), worker.astype(np.int32))

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        query, leaf = cells_of_boxes(block.piece_query, block.piece_box, self.bounds, SIDE)
        return QueryLeaves(query, leaf)

    def leaf_table(self) -> pa.Table:
        west, south, east, north = self.bounds
        leaf = np.arange(SIDE * SIDE)
        dx, dy = (east - west) / SIDE, (north - south) / SIDE
        x, y = west + (leaf % SIDE) * dx, south + (leaf // SIDE) * dy
        return leaf_rows(self.leaf_worker, "cell", x, y, x + dx, y + dy)
