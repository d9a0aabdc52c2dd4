"""Routing by rectangles, whatever made them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, frozen
from sightline.flat.records import FlatRecord
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning, at_leaves, leaf_rows, with_nearest_everywhere
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes
from sightline.partition.tiles._kernels import visited_leaves

__all__ = ["TiledRouting", "dealt", "painted"]


def painted(spans: I32, rows: int, columns: int) -> I32:
    """The raster of leaves that tile rows x columns cells."""
    raster = np.full((rows, columns), -1, np.int32)
    for leaf, (left, bottom, right, top) in enumerate(spans.tolist()):
        raster[bottom : top + 1, left : right + 1] = leaf
    return raster


def dealt(loads: F64, workers: int) -> I32:
    """Leaves to workers by load, heaviest first; one each, in order, if there are no more leaves than workers."""
    if len(loads) <= workers:
        return np.arange(len(loads), dtype=np.int32)
    return longest_first(loads, workers)


@dataclass(frozen=True)
class TiledRouting(FlatRecord, Unlearning, ABC):
    """A raster of cells, the leaf of each, and the leaves' workers.

    A subclass says how coordinates become cells (:meth:`leaves_at`, :meth:`ranges_of`, :meth:`edges`).
    """

    duplicates: ClassVar[bool] = False
    split: ClassVar[str]  # how a leaf was made, for tables

    workers: int
    bounds: F64  # west, south, east, north
    raster: I32  # [rows, columns]: the leaf of a cell, rows from the south
    spans: I32  # [leaves, 4]: left column, bottom row, right column, top row, ends included
    leaf_worker: I32  # [leaves]

    @abstractmethod
    def leaves_at(self, lon: F64, lat: F64) -> I32:
        """The leaf of every point."""

    @abstractmethod
    def ranges_of(self, box: F64) -> I32:
        """The cells that closed boxes meet: left, bottom, right, top."""

    @abstractmethod
    def edges(self) -> tuple[F64, F64]:
        """Where columns and rows begin, and where the last ones end."""

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return replace(self, leaf_worker=dealt(np.asarray(loads, np.float64), self.workers))

    def dealt_by(self, history: History) -> Self:
        """The leaves dealt by objects x (1 + standing queries) of each.

        The product is PS2Stream's load (Def. 1: every object is held against the queries of its worker); the 1 is
        ours, so that objects count where no query stands.
        """
        leaves = len(self.leaf_worker)
        objects = np.bincount(self.leaves_at(history.objects.lon, history.objects.lat), minlength=leaves)
        queries = np.bincount(self.leaves_of(history.standing).leaf, minlength=leaves)
        return self.reassigned(objects * (1.0 + queries))

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        return at_leaves(self.leaves_at(objects.lon, objects.lat), self.leaf_worker)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        return with_nearest_everywhere(self.leaves_of(block), block, self.leaf_worker, self.workers)

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        return self.searched(block)[0]

    def searched(self, block: QueryBlock) -> tuple[QueryLeaves, int]:
        """The leaves that queries visit, and how many cells were popped to find them."""
        cells = frozen(self.ranges_of(block.piece_box), np.int32)
        query, leaf, pops = visited_leaves(block.piece_query, cells, self.raster, self.spans)
        return QueryLeaves(query, leaf), int(pops)

    def leaf_table(self) -> pa.Table:
        x, y = self.edges()
        left, bottom, right, top = self.spans.T
        return leaf_rows(self.leaf_worker, self.split, x[left], y[bottom], x[right + 1], y[top + 1])
