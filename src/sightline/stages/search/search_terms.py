"""Top terms over several segments, exactly, without counting every term of each.

A threshold algorithm (Fagin's, with random access): every segment names its most frequent terms with exact counts and
bounds the others; what one segment names and another does not is asked for there. The answer is final when the k-th
total is above the sum of the bounds, strictly, because ties are decided by the terms themselves. Terms meet as strings:
two that share a hash stay two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sightline.flat.arrays import F64
from sightline.flat.columns import column_of
from sightline.index.objects.segment import Segment
from sightline.index.protocol import ObjectReader
from sightline.model.config import StoreConfig
from sightline.model.regions import Region
from sightline.model.space import Space

__all__ = ["NamedTerms", "SegmentTerms", "TermsPart", "top_terms"]

T = TypeVar("T")
COUNT_SCHEMA = pa.schema([("term", pa.string()), ("count", pa.int64())])
DEEPER = 4  # a second attempt names so many times as many terms


class NamedTerms(NamedTuple):
    """Exact counts of the most frequent terms; any other occurs at most ``bound`` times."""

    counts: dict[str, int]
    bound: int


class TermsPart(Protocol):
    """What one segment can tell about the terms of a region and time."""

    def top(self, k: int) -> NamedTerms:
        """At least the k most frequent terms (fewer where fewer occur)."""
        ...

    def counts_of(self, terms: Sequence[str]) -> Sequence[int]:
        """Exact counts of the given terms."""
        ...

    def every(self) -> pa.Table:
        """All terms that occur, with their counts (columns ``term``, ``count``)."""
        ...


class LendingSegment(Protocol):
    """A segment that lends its readers (:class:`~sightline.stages.search.search_view.OpenSegment`)."""

    segment: Segment

    def ask(self, question: Callable[[ObjectReader], T]) -> tuple[T, int]:
        """The reader's answer, and how many candidates it looked at."""
        ...


def top_terms(parts: Sequence[TermsPart], named: Sequence[NamedTerms], k: int) -> list[tuple[str, int]]:
    """The k terms with the highest totals over all parts, by count descending, then term.

    ``named`` has what each part said to ``top(k)``; asking that first, by whatever threads there are, is the caller's.
    """
    for _ in range(2):
        settled = _settled(parts, named, k)
        if settled is not None:
            return settled
        named = [part.top(DEEPER * k) for part in parts]
    table = pa.concat_tables([COUNT_SCHEMA.empty_table(), *(part.every() for part in parts)])
    total = table.group_by("term").aggregate([("count", "sum")]).rename_columns(["term", "count"])
    best = total.take(pc.sort_indices(total, sort_keys=[("count", "descending"), ("term", "ascending")])[:k])
    return list(zip(best["term"].to_pylist(), best["count"].to_pylist(), strict=True))


def _settled(parts: Sequence[TermsPart], named: Sequence[NamedTerms], k: int) -> list[tuple[str, int]] | None:
    """The answer if what the parts have named proves it."""
    unnamed = sum(one.bound for one in named)  # most that a term nobody named can have
    least = dict(named[0].counts) if named else {}
    for one in named[1:]:
        for term, count in one.counts.items():
            least[term] = least.get(term, 0) + count
    if len(parts) == 1 or unnamed == 0:
        totals = least
    else:
        floor = sorted(least.values(), reverse=True)[k - 1] if len(least) >= k else 0
        # A term that cannot reach the k-th total even if it has the bound wherever it is not named needs no count.
        open_terms = [
            term for term, count in least.items()
            if count + sum(one.bound for one in named if term not in one.counts) >= floor
        ]  # fmt: skip
        totals = {term: least[term] for term in open_terms}
        for part, one in zip(parts, named, strict=True):
            asked = [term for term in open_terms if term not in one.counts] if one.bound else []
            if asked:
                for term, count in zip(asked, part.counts_of(asked), strict=True):
                    totals[term] += int(count)
    best = sorted(((term, count) for term, count in totals.items() if count), key=lambda pair: (-pair[1], pair[0]))[:k]
    proved = unnamed == 0 or (len(best) == k and best[-1][1] > unnamed)
    return best if proved else None


@dataclass(slots=True)
class SegmentTerms:
    """A segment as a :class:`TermsPart` for one region and time.

    ``boxes`` are the region's pieces, ``span`` the first and last microsecond; ``alone``
    says that no other segment is asked; ``looked`` counts candidates.
    """

    opened: LendingSegment
    boxes: F64
    span: tuple[int, int]
    region: Region
    config: StoreConfig
    alone: bool = False
    looked: int = 0

    def top(self, k: int) -> NamedTerms:
        """The segment's most frequent terms."""
        terms, counts, bound = self._ask(lambda reader: reader.top_terms(*self._where(), k))
        if self.alone and len(counts) > k:  # an index may name more, of which other segments would need fewer counts
            kept = counts >= np.sort(counts)[-k]
            if not kept.all():
                bound = max(bound, int(counts[~kept].max()))
                terms, counts = terms[kept], counts[kept]
        return NamedTerms(dict(zip(self.opened.segment.words.strings(terms), counts.tolist(), strict=True)), bound)

    def counts_of(self, terms: Sequence[str]) -> list[int]:
        """Counts of terms by name; 0 for one the segment lacks."""
        words = self.opened.segment.dictionary
        ids = words.lookup_strings(terms, self.config.seed, self.config.hash_bits).astype(np.int64)
        out = np.zeros(ids.size, np.int64)
        known = np.flatnonzero(ids >= 0)
        if known.size:
            out[known] = self._ask(lambda reader: reader.counts_of(ids[known], *self._where()))
        counts: list[int] = out.tolist()
        return counts

    def every(self) -> pa.Table:
        """All terms that occur."""
        counts = self._ask(lambda reader: reader.term_counts(*self._where()))
        ids = np.flatnonzero(counts)
        terms = self.opened.segment.dictionary.strings().take(column_of(ids)).cast(pa.string())
        return pa.table([terms, column_of(counts[ids])], schema=COUNT_SCHEMA)

    def _where(self) -> tuple[F64, int, int, Region, Space]:
        return self.boxes, *self.span, self.region, self.config.space

    def _ask(self, question: Callable[[ObjectReader], T]) -> T:
        answer, looked = self.opened.ask(question)
        self.looked += looked
        return answer
