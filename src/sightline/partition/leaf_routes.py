"""From leaves to workers: what partitioners whose leaves are places share.

An object has one leaf, and its leaf's worker both matches and owns it. A query with a region stands with every worker
that serves a leaf it visits; a nearest query stands everywhere, because any object may be among its k. No pair meets
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.records import Arrays
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.partition.protocol import Ints, ObjectRoutes, QueryLeaves, QueryRoutes

__all__ = ["Memoryless", "Unlearning", "at_leaves", "leaf_rows", "with_nearest_everywhere"]


def at_leaves(leaf: Ints, leaf_worker: Ints) -> ObjectRoutes:
    """Routes of objects that have one leaf each."""
    owner = leaf_worker[leaf]
    row = np.argsort(owner, kind="stable").astype(np.int32)
    return ObjectRoutes(leaf, owner, row, owner[row])


def with_nearest_everywhere(leaves: QueryLeaves, block: QueryBlock, leaf_worker: Ints, workers: int) -> QueryRoutes:
    """The workers of the leaves that queries visit; nearest queries stand on all workers."""
    stands = np.zeros((workers, len(block)), np.bool_)
    stands[leaf_worker[leaves.leaf], leaves.query] = True
    stands[:, block.kind == KIND_NEAREST] = True
    worker, query = np.nonzero(stands)
    return QueryRoutes(query.astype(np.int32), worker.astype(np.int32))


def leaf_rows(
    worker: npt.NDArray[np.integer[Any]], split: str, west: npt.ArrayLike, south: npt.ArrayLike, east: npt.ArrayLike,
    north: npt.ArrayLike,
) -> pa.Table:  # fmt: skip
    """The table of leaves that were all made in one way, by place; a side may be the same for all."""
    leaves = len(worker)
    sides = {"west": west, "south": south, "east": east, "north": north}
    return pa.table(
        {
            "leaf": np.arange(leaves),
            "worker": worker,
            "split": [split] * leaves,
            **{name: np.full(leaves, side, np.float64) for name, side in sides.items()},
            "keywords": np.zeros(leaves, np.int64),
        }
    )


class _RoutesObjects(Protocol):
    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes: ...


class Unlearning:
    """A routing that routes objects by itself and learns nothing."""

    learns: ClassVar[bool] = False
    fits: ClassVar[bool] = True
    spreads: ClassVar[bool] = False

    def router(self: _RoutesObjects, learnt: Sequence[Arrays] = ()) -> Memoryless:
        """The routing itself."""
        return Memoryless(self)

    def merged(self, learnt: Sequence[Arrays]) -> Arrays:
        """Nothing."""
        return {}


class Memoryless:
    """A router without memory."""

    def __init__(self, routing: _RoutesObjects) -> None:
        self._routing = routing

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes:
        return self._routing.route_objects(objects)

    def learnt(self) -> Arrays:
        return {}
