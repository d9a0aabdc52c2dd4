"""R-tree over the objects, packed: PS2Stream's space baseline (VI-B, "R-tree partitioning", after SpatialHadoop).

The paper names the tree and nothing else. Ours: the leaves are packed by sort-tile-recursive, as in SpatialHadoop.
The P leaves of c objects each come from ceil(sqrt(P)) vertical slices by longitude, each cut into runs by latitude.

Deviation: a leaf of an R-tree is the bounding box of its objects, and an object that comes later may be in none, or in
several. Leaves are extended until they meet: a slice begins at the longitude of its first object, a run at the latitude
of its first object, and the outermost reach the bounds. So they cover the space without gaps or overlap, and every
object has one owner that queries find. Objects that share the coordinate of a boundary stay together.

Complexity: O(n log n) for n objects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sightline.flat.arrays import F64
from sightline.partition.tiles.cuts import Box
from sightline.partition.tiles.sampled import SampledRouting

__all__ = ["RTreeRouting", "cuts_every"]


@dataclass(frozen=True)
class RTreeRouting(SampledRouting):
    """Leaves of the tree, extended to tile the space."""

    split: ClassVar[str] = "pack"

    @staticmethod
    def tiles_of(x: F64, y: F64, bounds: Box, leaves: int) -> list[Box]:
        """About ``leaves`` tiles with equally many objects; slices from the west, in each the runs from the south."""
        west, south, east, north = bounds
        capacity = -(-len(x) // leaves)
        slices = math.isqrt(-(-len(x) // capacity) - 1) + 1  # the root, rounded up
        x_cuts = cuts_every(np.sort(x), slices * capacity, west, east)
        slice_of = np.searchsorted(x_cuts, x, "right")
        upward = y[np.lexsort((y, slice_of))]
        ends = np.cumsum(np.bincount(slice_of, minlength=len(x_cuts) + 1))
        tiles = []
        for number, (left, right) in enumerate(pairwise([west, *x_cuts.tolist(), east])):
            run = upward[ends[number - 1] if number else 0 : ends[number]]
            y_cuts = cuts_every(run, capacity, south, north)
            tiles += [(left, low, right, high) for low, high in pairwise([south, *y_cuts.tolist(), north])]
        return tiles


def cuts_every(ascending: F64, step: int, low: float, high: float) -> F64:
    """The coordinate of every ``step``-th object, where it is inside and there are objects before it."""
    at = np.unique(ascending[step::step])
    return at[(at > max(low, ascending[0])) & (at < high)] if len(at) else at
