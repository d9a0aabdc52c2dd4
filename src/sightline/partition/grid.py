"""Uniform grid over the space: the plain partitioner a store begins with (PS2Stream's space baseline, 2^6 x 2^6).

A leaf is a cell. An object has one leaf; a range or top-terms query stands with every worker that serves a cell its
region touches; a nearest query stands everywhere, because any object may be among its k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.space import Space
from sightline.partition._kernels import cells_of, cells_of_boxes, workers_of_boxes
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning, at_leaves
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes

SIDE = 64  # cells per side, PS2Stream section VI


@dataclass(frozen=True)
class GridRouting(Unlearning):
    """Cell (row-major from the south-west) -> worker."""

    name: ClassVar[str] = "grid"
    duplicates: ClassVar[bool] = False

    workers: int
    bounds: npt.NDArray[np.float64]  # west, south, east, north
    leaf_worker: npt.NDArray[np.int32]  # [SIDE * SIDE]

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        # Neighbouring cells go to different workers: before any data is seen, this spreads a city and the continents
        # alike. The multiplier is odd and near 0.618 * 2^12, so that rows do not repeat the same pattern.
        leaves = np.arange(SIDE * SIDE, dtype=np.int64)
        dealt = ((leaves * 2531) & (SIDE * SIDE - 1)) % workers
        return cls(workers, np.asarray(space.bounds, np.float64), dealt.astype(np.int32))

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        """The cells dealt by the objects they had (PS2Stream section VI: LPT greedy over cells)."""
        plain = cls.start(space, workers)
        leaf = cells_of(history.objects.lon, history.objects.lat, plain.bounds, SIDE)
        return plain.reassigned(np.bincount(leaf, minlength=SIDE * SIDE).astype(np.float64)) if len(leaf) else plain

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        return type(self)(self.workers, self.bounds, longest_first(loads, self.workers))

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        return at_leaves(cells_of(objects.lon, objects.lat, self.bounds, SIDE), self.leaf_worker)

    def route_queries(self, block: QueryBlock) -> QueryRoutes:
        n = len(block.num)
        stands = workers_of_boxes(
            block.piece_query, block.piece_box, self.bounds, SIDE, self.leaf_worker, n, self.workers
        )
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
        return pa.table(
            {
                "leaf": leaf,
                "worker": self.leaf_worker,
                "split": ["cell"] * len(leaf),
                "west": x,
                "south": y,
                "east": x + dx,
                "north": y + dy,
                "keywords": np.zeros(len(leaf), np.int64),
            }
        )

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        return {"workers": np.array([self.workers]), "bounds": self.bounds, "leaf_worker": self.leaf_worker}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Self:
        return cls(
            int(arrays["workers"][0]),
            np.asarray(arrays["bounds"], np.float64),
            np.asarray(arrays["leaf_worker"], np.int32),
        )
