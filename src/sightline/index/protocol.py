"""What an index inside one worker promises; everything else is the implementation's own business.

*Standing* indexes hold queries and are shown objects; *object* indexes hold objects and are shown queries. Every
implementation is exact: the reference ``scan`` and the clever ones return the same pairs and rows. Frozen indexes
are dictionaries of flat arrays, so that any process maps them from a file without parsing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from sightline.flat.arrays import F64, I32, I64

if TYPE_CHECKING:
    from sightline.index.standing.block import QueryBlock
    from sightline.model.regions import Region
    from sightline.model.space import Space
    from sightline.text.term_batch import TermBatch

__all__ = [
    "NO_BOUND",
    "Conjunct",
    "MatchPairs",
    "NearestBounds",
    "NearestIndex",
    "NearestPairs",
    "ObjectColumns",
    "ObjectIndex",
    "ObjectReader",
    "StandingIndex",
    "TopTerms",
    "Work",
]

#: A radius without bound.
NO_BOUND = 2**63 - 1

#: Positive and negative term ids of one conjunct.
Conjunct = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class ObjectColumns:
    """What matching and indexing need of a batch of objects: float64 places, int64 microseconds, terms."""

    lon: F64
    lat: F64
    ts: I64
    terms: TermBatch

    def __len__(self) -> int:
        return int(self.lon.shape[0])


class MatchPairs(NamedTuple):
    """Pairs (object row, query row of the block), each once, ascending by object; and the entries looked at."""

    object: I32
    query: I32
    candidates: int


class NearestBounds(NamedTuple):
    """Per query of a block: which objects can be of interest in one call.

    An object must have ``start <= ts < end`` and lie within ``radius_mm`` (:data:`NO_BOUND`; below 0 for none). Only
    the ``k`` nearest such objects of the call matter, all of those at the k-th distance included; k = 0: all matter.
    """

    radius_mm: I64
    k: I32
    start: I64
    end: I64


class NearestPairs(NamedTuple):
    """Pairs (object row, query row of the block), each once, in any order; and the entries looked at."""

    object: I32
    query: I32
    distance_mm: I64
    checked: int


class StandingIndex(Protocol):
    """Range (and top-terms) queries of a block, waiting for objects."""

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """Index the block; the index keeps no reference to the caller's arrays it could change."""
        ...

    def match(self, objects: ObjectColumns) -> MatchPairs:
        """All pairs whose keywords and region match; lifetimes are the caller's business."""
        ...

    def to_arrays(self) -> dict[str, Any]:
        """Flat arrays from which :meth:`from_arrays` restores the index."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], space: Space) -> Self:
        """Index over (mapped) arrays; nothing is parsed or copied."""
        ...


class NearestIndex(Protocol):
    """Nearest queries of a block, waiting for objects."""

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """Index the block."""
        ...

    def candidates(self, objects: ObjectColumns, bounds: NearestBounds) -> NearestPairs:
        """All pairs whose keywords match within the bounds of the query; those that do not matter may be left out."""
        ...

    def to_arrays(self) -> dict[str, Any]:
        """Flat arrays from which :meth:`from_arrays` restores the index."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], space: Space) -> Self:
        """Index over (mapped) arrays."""
        ...


@dataclass(slots=True)
class Work:
    """Rows and postings a reader has looked at since it was opened; tests and ``explain`` read it."""

    candidates: int = 0
    calls: int = field(default=0)


class TopTerms(NamedTuple):
    """Exact counts of at least the most frequent terms; every term not named occurs in at most ``bound`` objects."""

    terms: I64
    counts: I64
    bound: int


class ObjectReader(Protocol):
    """The objects of one sealed segment; rows are positions in its order."""

    @property
    def work(self) -> Work:
        """What the calls so far have cost."""
        ...

    def range(self, conjuncts: Sequence[Conjunct], pieces: F64, lo_us: int, hi_us: int) -> I64:
        """Rows, ascending and distinct, inside any of ``pieces`` (closed boxes) and ``[lo_us, hi_us]`` that satisfy
        any conjunct. A conjunct with a positive term that the segment lacks has been dropped by the caller."""
        ...

    def nearest(
        self, conjuncts: Sequence[Conjunct], at: tuple[float, float], k: int, lo_us: int, hi_us: int, space: Space
    ) -> tuple[I64, I64]:
        """Rows and distances (mm) of the k nearest and of every tie at the k-th distance, nearest first."""
        ...

    def term_counts(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time per term id of the segment."""
        ...

    def top_terms(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space, k: int) -> TopTerms:
        """Exact counts of at least the k terms with most objects of the region and time (fewer where fewer occur), in
        no particular order. A bound below the k-th count settles the question; one equal to it leaves a tie open."""
        ...

    def counts_of(self, terms: I64, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time that have each of the given terms."""
        ...


class ObjectIndex(Protocol):
    """Builds and opens the index of one segment.

    ``build`` names the arrays ``lon``, ``lat``, ``ts``, ``offsets``, ``ids`` (places, times and term lists in the
    order it chose) and adds what it wants.
    """

    @classmethod
    def build(cls, objects: ObjectColumns, bounds: tuple[float, float, float, float]) -> tuple[I64, dict[str, Any]]:
        """Order of the rows, and the arrays."""
        ...

    @classmethod
    def open(cls, arrays: Callable[[str], Any], rows: int) -> ObjectReader:
        """Reader over (mapped) arrays, fetched by name when needed."""
        ...
