"""kd-tree over the objects: PS2Stream's space baseline (VI-B, "kd-tree partitioning"; also Tornado's and AQWA's tree).

The paper names the tree and nothing else. Ours: the leaf with most objects is cut at the median of the side on which
they spread widest, until there are enough leaves; leaves whose objects are all at one place are left alone. As in the
paper, the tree is turned into a grid for routing.

Complexity: O(n log leaves) for n objects.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sightline.flat.arrays import F64
from sightline.partition.tiles.cuts import Box, cut_in_two
from sightline.partition.tiles.sampled import SampledRouting

__all__ = ["KdTreeRouting", "median_cut"]


@dataclass(frozen=True)
class KdTreeRouting(SampledRouting):
    """Leaves of the tree."""

    split: ClassVar[str] = "median"

    @staticmethod
    def tiles_of(x: F64, y: F64, bounds: Box, leaves: int) -> list[Box]:
        """At most ``leaves`` tiles; the half below a cut keeps the number of the whole."""
        tiles: list[Box] = [bounds]
        heap = [(-len(x), 0, np.arange(len(x)))]  # numbers differ, so arrays are never compared
        while heap and len(tiles) < leaves:
            _, number, rows = heapq.heappop(heap)
            cut = median_cut(x[rows], y[rows], tiles[number])
            if cut is None:
                continue
            axis, at = cut
            tiles[number], above = cut_in_two(tiles[number], axis, at)
            tiles.append(above)
            low = (y if axis else x)[rows] < at
            for child, part in ((number, rows[low]), (len(tiles) - 1, rows[~low])):
                heapq.heappush(heap, (-len(part), child, part))
        return tiles


def median_cut(x: F64, y: F64, tile: Box) -> tuple[int, float] | None:
    """Axis and coordinate that leave objects on both sides, as evenly as the side of widest spread allows.

    Objects on the cut are above it. None if no coordinate strictly inside the tile parts the objects.
    """
    if len(x) < 2:
        return None
    by_spread = sorted((-float(np.ptp(values)), axis) for axis, values in enumerate((x, y)))
    for _, axis in by_spread:
        values, low, high = (y if axis else x), tile[axis], tile[axis + 2]
        middle = float(np.partition(values, len(values) // 2)[len(values) // 2])
        beyond = values[values > middle]
        candidates = [middle, *([float(beyond.min())] if len(beyond) else [])]
        found = []
        for at in candidates:
            below = int(np.count_nonzero(values < at))
            if low < at < high and 0 < below < len(values):
                found.append((abs(2 * below - len(values)), at))
        if found:
            return axis, min(found)[1]
    return None
