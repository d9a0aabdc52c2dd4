"""Top terms over parts equal the sum over everything, and ask no more than they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.geo.bounds import pieces
from sightline.index.objects.segment import Segment, build_segment
from sightline.index.protocol import ObjectColumns, ObjectReader
from sightline.index.registry import OBJECT_INDEXES
from sightline.model.config import StoreConfig
from sightline.model.regions import Box, Circle
from sightline.stages.search.search_terms import COUNT_SCHEMA, NamedTerms, SegmentTerms, TermsPart, top_terms
from sightline.text.tokeniser import tokenise

LETTERS = ["a", "b", "c", "d", "é", "東", "z"]


@dataclass
class Told:
    """A part that names as many terms as a test says, and notes what it was asked."""

    counts: dict[str, int]
    extra: int = 0
    slack: int = 0
    asked: list[Sequence[str]] = field(default_factory=list)
    emptied: int = 0

    def top(self, k: int) -> NamedTerms:
        order = sorted(self.counts, key=lambda term: -self.counts[term])
        named, others = order[: k + self.extra], order[k + self.extra :]
        most = max((self.counts[term] for term in others), default=0)
        return NamedTerms({term: self.counts[term] for term in named}, most + (self.slack if others else 0))

    def counts_of(self, terms: Sequence[str]) -> list[int]:
        self.asked.append(terms)
        return [self.counts.get(term, 0) for term in terms]

    def every(self) -> pa.Table:
        self.emptied += 1
        return pa.table([pa.array(list(self.counts), pa.string()), pa.array(list(self.counts.values()), pa.int64())],
                        schema=COUNT_SCHEMA)  # fmt: skip


class Alone:
    """A segment with one reader."""

    def __init__(self, segment: Segment) -> None:
        self.segment, self._reader = segment, segment.reader()

    def ask(self, question: Callable[[ObjectReader], Any]) -> tuple[Any, int]:
        before = self._reader.work.candidates
        return question(self._reader), self._reader.work.candidates - before


def asked(parts: Sequence[TermsPart], k: int) -> list[tuple[str, int]]:
    return top_terms(parts, [part.top(k) for part in parts], k)


def summed(counts: Sequence[dict[str, int]], k: int) -> list[tuple[str, int]]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return sorted(total.items(), key=lambda pair: (-pair[1], pair[0].encode()))[:k]


tables = st.dictionaries(st.sampled_from(LETTERS), st.integers(1, 9), max_size=7)


@given(st.lists(st.tuples(tables, st.integers(0, 3), st.integers(0, 4)), max_size=5), st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_equal_to_the_sum(told: list[tuple[dict[str, int], int, int]], k: int) -> None:
    parts = [Told(*one) for one in told]
    assert asked(parts, k) == summed([part.counts for part in parts], k)


def test_only_open_terms_are_asked_for() -> None:
    heavy = {"a": 1000, "b": 900, "c": 2, "d": 1}
    parts = [Told(heavy, extra=1), Told({"a": 800, "c": 700, "z": 3, "d": 2}, extra=1)]
    assert asked(parts, 2) == [("a", 1800), ("b", 900)]
    assert parts[0].asked == []
    assert parts[1].asked == [["b"]]
    assert parts[0].emptied == parts[1].emptied == 0


def test_a_tie_with_what_is_not_named_is_settled_by_counting() -> None:
    parts = [Told({"z": 5, "y": 5, "a": 5})]
    assert asked(parts, 1) == [("a", 5)]
    wide = {f"w{i:03}": 5 for i in range(300)}
    part = Told(wide)
    assert asked([part], 2) == [("w000", 5), ("w001", 5)]
    assert part.emptied == 1


posts = st.lists(
    st.tuples(st.sampled_from([-180.0, 0.0, 1.0, 180.0]), st.sampled_from([-1.0, 0.0, 2.0]), st.integers(0, 9),
              st.lists(st.sampled_from(LETTERS), max_size=4)),
    min_size=1, max_size=12,
)  # fmt: skip


@given(st.lists(posts, min_size=1, max_size=4), st.integers(1, 4), st.sampled_from([1, 8, 64]),
       st.sampled_from(sorted(OBJECT_INDEXES)),
       st.sampled_from([Box(-180, -90, 180, 90), Box(0.5, -1, 180, 0), Circle(0.0, 0.0, 150_000.0)]))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_segments(
    batches: list[list[tuple[float, float, int, list[str]]]], k: int, bits: int, name: str, region: Box | Circle
) -> None:
    config, span = StoreConfig(seed=5, hash_bits=bits), (2, 8)
    parts = []
    for batch in batches:
        lon, lat, ts = (np.array([post[i] for post in batch]) for i in range(3))
        texts = pa.array([" ".join(post[3]) for post in batch], pa.string())
        objects = ObjectColumns(lon, lat, ts, tokenise(texts, config.text, config.seed, bits))
        table = pa.table({"id": texts, "lon": lon, "lat": lat, "ts": ts, "text": texts})
        segment = Segment.from_data(build_segment(objects, table, name))
        parts.append(SegmentTerms(Alone(segment), pieces(region, config.space), span, region, config))
    counts: list[dict[str, int]] = []
    for batch in batches:
        one: Counter[str] = Counter()
        for x, y, t, words in batch:
            near = x * x + y * y <= 1.5 if isinstance(region, Circle) else (
                region.west <= x <= region.east and region.south <= y <= region.north)  # fmt: skip
            if near and span[0] <= t <= span[1]:
                one.update(set(words))
        counts.append(one)
    assert asked(parts, k) == summed(counts, k)
