"""kd-tree over the objects: PS2Stream's space baseline (VI-B, "kd-tree partitioning"; also Tornado's and AQWA's tree).

The paper names the tree and nothing else. Ours: the leaf with most objects is cut at the median of the side on which
they spread widest, until there are enough leaves; leaves whose objects are all at one place are left alone. If leaves
are still wanting, the largest are halved. Leaves are dealt to the workers heaviest first, by objects x (1 + standing
queries). As in the paper, the tree is turned into a grid for routing.

Complexity: O(n log leaves) for n objects.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sightline.index.arrays import F64
from sightline.model.space import Space
from sightline.partition.history import History
from sightline.partition.tiles.cuts import Box, CutRouting, cut_in_two, halved, inside

__all__ = ["KdTreeParams", "KdTreeRouting", "median_cut", "median_tiles"]


@dataclass(frozen=True, slots=True)
class KdTreeParams:
    """How far the tree is cut."""

    leaves: int = 64  # at least, and never fewer than workers (ours; SSTD has as many by default)


DEFAULTS = KdTreeParams()


@dataclass(frozen=True)
class KdTreeRouting(CutRouting):
    """Leaves of the tree."""

    name: ClassVar[str] = "kd-tree"
    split: ClassVar[str] = "median"

    @classmethod
    def start(cls, space: Space, workers: int, params: KdTreeParams = DEFAULTS) -> Self:
        """The space halved again and again."""
        return cls.of_tiles(halved([space.bounds], max(params.leaves, workers)), space.bounds, workers)

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int, params: KdTreeParams = DEFAULTS) -> Self:
        wanted = max(params.leaves, workers)
        tiles = median_tiles(history.objects.lon, history.objects.lat, space.bounds, wanted)
        made = cls.of_tiles(halved(tiles, wanted), space.bounds, workers)
        return made.dealt_by(history) if len(history.objects) else made


def median_tiles(lon: F64, lat: F64, bounds: Box, wanted: int) -> list[Box]:
    """At most ``wanted`` tiles; the half below a cut keeps the number of the whole."""
    x, y = inside(lon, bounds[0], bounds[2]), inside(lat, bounds[1], bounds[3])
    tiles: list[Box] = [bounds]
    heap = [(-len(x), 0, np.arange(len(x)))]  # numbers differ, so arrays are never compared
    while heap and len(tiles) < wanted:
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
