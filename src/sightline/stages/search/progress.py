"""A search on its way: what is left out, read and counted while segments are visited, by whatever threads."""

from __future__ import annotations

from dataclasses import dataclass, field

from sightline.flat.arrays import U8
from sightline.stages.search.search_view import SegmentsView


@dataclass(slots=True)
class SegmentRead:
    """What reading one segment cost and gave."""

    candidates: int = 0
    found: int = 0
    us: float = 0.0


@dataclass(slots=True)
class Progress:
    """How far a search has got."""

    view: SegmentsView
    span: tuple[int, int]
    fate: U8  # per segment, see search_view
    read: dict[int, SegmentRead] = field(default_factory=dict)
    absent: dict[int, list[str]] = field(default_factory=dict)  # words for the want of which a segment was left out
