"""Tilings by rectangles at arbitrary coordinates, over the grid of their sorted cuts."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, frozen
from sightline.partition.tiles._kernels import leaves_by_cuts, ranges_by_cuts
from sightline.partition.tiles.routing import TiledRouting, dealt, painted

__all__ = ["Box", "CutRouting", "cut_in_two", "halved", "inside"]

Box = tuple[
    float, float, float, float
]  # west, south, east, north; points on the east and north edge are the next one's


@dataclass(frozen=True)
class CutRouting(TiledRouting):
    """Columns and rows lie between cuts; a point on a cut is east or north of it."""

    x_cuts: F64  # ascending, inside the bounds
    y_cuts: F64

    @classmethod
    def of_tiles(cls, tiles: list[Box], bounds: Box, workers: int) -> Self:
        """Tiles that cover the bounds without overlap; dealt by their area until loads are known."""
        west, south, east, north = (np.array(side, np.float64) for side in zip(*tiles, strict=True))
        x_cuts, y_cuts = np.unique(west[west > bounds[0]]), np.unique(south[south > bounds[1]])
        first = np.searchsorted(x_cuts, west, "right"), np.searchsorted(y_cuts, south, "right")
        last = np.searchsorted(x_cuts, east, "left"), np.searchsorted(y_cuts, north, "left")
        spans = np.column_stack([*first, *last]).astype(np.int32)
        raster = painted(spans, len(y_cuts) + 1, len(x_cuts) + 1)
        area = (east - west) * (north - south)
        return cls(workers, np.array(bounds), raster, spans, dealt(area, workers), x_cuts, y_cuts)

    def leaves_at(self, lon: F64, lat: F64) -> I32:
        places = frozen(lon, np.float64), frozen(lat, np.float64)
        return leaves_by_cuts(*places, self.x_cuts, self.y_cuts, self.raster)

    def ranges_of(self, box: F64) -> I32:
        return ranges_by_cuts(frozen(box, np.float64), self.x_cuts, self.y_cuts)

    def edges(self) -> tuple[F64, F64]:
        west, south, east, north = self.bounds
        return np.concatenate(([west], self.x_cuts, [east])), np.concatenate(([south], self.y_cuts, [north]))


def inside(values: F64, low: float, high: float) -> F64:
    """Coordinates moved into the bounds: no cut is outside, and objects there belong to the outermost tiles."""
    clipped: npt.NDArray[np.float64] = np.clip(values, low, high)
    return clipped


def cut_in_two(tile: Box, axis: int, at: float) -> tuple[Box, Box]:
    """A tile cut at a longitude (axis 0) or latitude (axis 1) strictly inside it."""
    west, south, east, north = tile
    if axis == 0:
        return (west, south, at, north), (at, south, east, north)
    return (west, south, east, at), (west, at, east, north)


def halved(tiles: list[Box], wanted: int) -> list[Box]:
    """Cut the largest tile in the middle of its longer side until there are ``wanted``.

    Ties go to the lower number and to longitude. Fewer result only where coordinates have no number between them.
    """
    made = list(tiles)
    heap = [(-_area(tile), number) for number, tile in enumerate(made)]
    heapq.heapify(heap)
    while heap and len(made) < wanted:
        _, number = heapq.heappop(heap)
        west, south, east, north = made[number]
        sides = [(west - east, 0, west, east), (south - north, 1, south, north)]
        for _, axis, low, high in sorted(sides):
            middle = low + (high - low) / 2
            if low < middle < high:
                first, second = cut_in_two(made[number], axis, middle)
                made[number] = first
                made.append(second)
                heapq.heappush(heap, (-_area(first), number))
                heapq.heappush(heap, (-_area(second), len(made) - 1))
                break
    return made


def _area(tile: Box) -> float:
    return (tile[2] - tile[0]) * (tile[3] - tile[1])
