"""Names of the indexes, each imported when it is first used; a conformance suite runs over every entry."""

from __future__ import annotations

from sightline.index.protocol import NearestIndex, ObjectIndex, StandingIndex
from sightline.model.config import Indexes
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
_GROUP = "sightline.indexes"

STANDING_INDEXES = Plugins[StandingIndex](
    "index of standing range queries",
    _GROUP,
    StandingIndex,
    {
        "delta": f"{_STANDING}.delta:DeltaIndex",
        "fast": f"{_STANDING}.fast:FastIndex",
        "gi2": f"{_STANDING}.gi2:Gi2Index",
        "levels": f"{_STANDING}.levels:LevelsIndex",
        "scan": f"{_STANDING}.scan:ScanStanding",
    },
)
NEAREST_INDEXES = Plugins[NearestIndex](
    "index of standing nearest queries",
    _GROUP,
    NearestIndex,
    {
        "balls": f"{_STANDING}.balls:BallsIndex",
        "inverted": f"{_STANDING}.inverted:InvertedIndex",
        "scan": f"{_STANDING}.scan:ScanNearest",
    },
)
OBJECT_INDEXES = Plugins[ObjectIndex](
    "index of objects",
    _GROUP,
    ObjectIndex,
    {
        "grid": f"{_OBJECTS}.grid:GridIndex",
        "postings": f"{_OBJECTS}.postings:PostingsIndex",
        "rtree": f"{_OBJECTS}.rtree:RTreeIndex",
        "scan": f"{_OBJECTS}.scan:ScanObjects",
    },
)

DEFAULT_STANDING, DEFAULT_NEAREST, DEFAULT_OBJECTS = Indexes().range, Indexes().nearest, Indexes().objects


def standing_index(name: str = DEFAULT_STANDING) -> type[StandingIndex]:
    """The index of range and top-terms queries of a name."""
    return STANDING_INDEXES.named(name)


def nearest_index(name: str = DEFAULT_NEAREST) -> type[NearestIndex]:
    """The index of nearest queries of a name."""
    return NEAREST_INDEXES.named(name)


def object_index(name: str = DEFAULT_OBJECTS) -> type[ObjectIndex]:
    """The index of objects of a name."""
    return OBJECT_INDEXES.named(name)
