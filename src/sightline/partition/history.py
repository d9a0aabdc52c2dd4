"""What a partitioning is fitted to: objects that came, queries that stand, queries that were asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock

if TYPE_CHECKING:
    from sightline.partition.statistics.distribution import Statistics

__all__ = ["History"]


@dataclass(frozen=True, slots=True)
class History:
    """A sample of the past (SSTD 4.1.2: "historical queries and objects").

    ``standing`` are continuous queries (CRQ, CKQ, CTQ by ``kind``), ``asked`` snapshot ones (SRQ, SKQ, STQ).
    ``span_us`` is the time in which ``objects`` came, so that their number becomes a rate. ``statistics`` are decayed
    counts of all searches and all objects the store has seen, beside the queries and the sample given here; what
    stands is not in them.
    """

    objects: ObjectColumns
    standing: QueryBlock
    asked: QueryBlock
    span_us: int
    statistics: Statistics | None = None
