"""Names of the indexes; a conformance suite runs over every entry."""

from __future__ import annotations

from typing import TypeVar

from sightline.index.objects.grid import GridIndex
from sightline.index.objects.postings import PostingsIndex
from sightline.index.objects.rtree import RTreeIndex
from sightline.index.objects.scan import ScanObjects
from sightline.index.protocol import NearestIndex, ObjectIndex, StandingIndex
from sightline.index.standing.balls import BallsIndex
from sightline.index.standing.delta import DeltaIndex
from sightline.index.standing.fast import FastIndex
from sightline.index.standing.gi2 import Gi2Index
from sightline.index.standing.inverted import InvertedIndex
from sightline.index.standing.levels import LevelsIndex
from sightline.index.standing.scan import ScanNearest, ScanStanding
from sightline.model.errors import UnknownPlugin

__all__ = [
    "DEFAULT_NEAREST", "DEFAULT_OBJECTS", "DEFAULT_STANDING", "NEAREST_INDEXES", "OBJECT_INDEXES",
    "STANDING_INDEXES", "nearest_index", "object_index", "standing_index",
]

STANDING_INDEXES: dict[str, type[StandingIndex]] = {
    "delta": DeltaIndex, "fast": FastIndex, "gi2": Gi2Index, "levels": LevelsIndex, "scan": ScanStanding,
}
NEAREST_INDEXES: dict[str, type[NearestIndex]] = {
    "balls": BallsIndex, "inverted": InvertedIndex, "scan": ScanNearest,
}
OBJECT_INDEXES: dict[str, type[ObjectIndex]] = {
    "grid": GridIndex, "postings": PostingsIndex, "rtree": RTreeIndex, "scan": ScanObjects,
}

DEFAULT_STANDING, DEFAULT_NEAREST, DEFAULT_OBJECTS = "levels", "balls", "postings"

T = TypeVar("T")


def standing_index(name: str = DEFAULT_STANDING) -> type[StandingIndex]:
    """Index of range and top-terms queries registered under a name."""
    return _named(STANDING_INDEXES, name, "index of standing range queries")


def nearest_index(name: str = DEFAULT_NEAREST) -> type[NearestIndex]:
    """Index of nearest queries registered under a name."""
    return _named(NEAREST_INDEXES, name, "index of standing nearest queries")


def object_index(name: str = DEFAULT_OBJECTS) -> type[ObjectIndex]:
    """Index of objects registered under a name."""
    return _named(OBJECT_INDEXES, name, "index of objects")


def _named(known: dict[str, T], name: str, what: str) -> T:
    try:
        return known[name]
    except KeyError:
        raise UnknownPlugin(f"unknown {what}", value=name, allowed=", ".join(sorted(known))) from None
