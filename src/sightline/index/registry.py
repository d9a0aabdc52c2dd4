"""Names of the indexes, each imported when it is first used; a conformance suite runs over every entry."""

from __future__ import annotations

from typing import TypeVar

from sightline.index.protocol import NearestIndex, ObjectIndex, StandingIndex
from sightline.model.errors import UnknownPlugin
from sightline.model.plugins import Plugins

__all__ = [
    "DEFAULT_NEAREST",
    "DEFAULT_OBJECTS",
    "DEFAULT_STANDING",
    "NEAREST_INDEXES",
    "OBJECT_INDEXES",
    "STANDING_INDEXES",
    "nearest_index",
    "object_index",
    "standing_index",
]

_STANDING, _OBJECTS = "sightline.index.standing", "sightline.index.objects"

STANDING_INDEXES = Plugins[type[StandingIndex]](
    {
        "delta": f"{_STANDING}.delta:DeltaIndex",
        "fast": f"{_STANDING}.fast:FastIndex",
        "gi2": f"{_STANDING}.gi2:Gi2Index",
        "levels": f"{_STANDING}.levels:LevelsIndex",
        "scan": f"{_STANDING}.scan:ScanStanding",
    }
)
NEAREST_INDEXES = Plugins[type[NearestIndex]](
    {
        "balls": f"{_STANDING}.balls:BallsIndex",
        "inverted": f"{_STANDING}.inverted:InvertedIndex",
        "scan": f"{_STANDING}.scan:ScanNearest",
    }
)
OBJECT_INDEXES = Plugins[type[ObjectIndex]](
    {
        "grid": f"{_OBJECTS}.grid:GridIndex",
        "postings": f"{_OBJECTS}.postings:PostingsIndex",
        "rtree": f"{_OBJECTS}.rtree:RTreeIndex",
        "scan": f"{_OBJECTS}.scan:ScanObjects",
    }
)

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


def _named(known: Plugins[T], name: str, what: str) -> T:
    try:
        return known[name]
    except KeyError:
        raise UnknownPlugin(f"unknown {what}", value=name, allowed=", ".join(sorted(known))) from None
