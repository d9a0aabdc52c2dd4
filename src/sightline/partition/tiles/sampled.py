"""Tilings made from the places of a history's objects: what ``kd-tree`` and ``r-tree`` share.

A subclass says how the objects are parted (:meth:`SampledRouting.tiles_of`). Ours, for both: a store begins with the
space halved again and again; where the objects give fewer leaves than wanted, the largest are halved; leaves are dealt
to the workers heaviest first, by objects x (1 + standing queries).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

from sightline.flat.arrays import F64
from sightline.model.space import Space
from sightline.partition.history import History
from sightline.partition.tiles.cuts import Box, CutRouting, halved, inside

__all__ = ["SampledRouting", "TileParams"]


@dataclass(frozen=True, slots=True)
class TileParams:
    """How far the space is cut."""

    leaves: int = 64  # at least, and never fewer than workers (ours; SSTD has as many by default)


DEFAULTS = TileParams()


@dataclass(frozen=True)
class SampledRouting(CutRouting):
    """Leaves around the objects of a history."""

    @staticmethod
    @abstractmethod
    def tiles_of(x: F64, y: F64, bounds: Box, leaves: int) -> list[Box]:
        """Tiles for at least one object, all within the bounds; about ``leaves`` of them where places differ."""

    @classmethod
    def start(cls, space: Space, workers: int, params: TileParams = DEFAULTS) -> Self:
        """The space halved again and again."""
        return cls._of([space.bounds], space, workers, params)

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int, params: TileParams = DEFAULTS) -> Self:
        if not len(history.objects):
            return cls.start(space, workers, params)
        west, south, east, north = space.bounds
        x, y = inside(history.objects.lon, west, east), inside(history.objects.lat, south, north)
        tiles = cls.tiles_of(x, y, space.bounds, max(params.leaves, workers))
        return cls._of(tiles, space, workers, params).dealt_by(history)

    @classmethod
    def _of(cls, tiles: list[Box], space: Space, workers: int, params: TileParams) -> Self:
        return cls.of_tiles(halved(tiles, max(params.leaves, workers)), space.bounds, workers)
