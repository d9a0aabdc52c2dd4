"""What an index of objects must do: answer like a loop over the rows.

Every check takes the class; ``OBJECT_CHECKS`` has all of them (see :mod:`sightline.testing.standing_indexes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.flat.arrays import I64, frozen
from sightline.geo.bounds import pieces
from sightline.index.protocol import Conjunct, ObjectIndex, ObjectReader
from sightline.model.config import StoreConfig
from sightline.model.expression import Expression
from sightline.model.regions import Box, Region
from sightline.model.space import Space
from sightline.testing import small_worlds as worlds
from sightline.testing.oracle_terms import terms
from sightline.testing.small_worlds import PLANE, Row, columns_of, config_of, has_words, lies_in, mm_between

__all__ = ["OBJECT_CHECKS", "IndexedRows", "indexed", "nearest_by_a_loop", "term_counts_by_a_loop"]

Span = tuple[int, int]
WORLD = np.array([[-180.0, -90.0, 180.0, 90.0]])

_rows = st.lists(worlds.rows, min_size=1, max_size=30)
_spans = st.tuples(st.integers(-1, 21), st.integers(-1, 21))
_any_region: st.SearchStrategy[Region] = st.one_of(worlds.regions, worlds.planar_regions)


class IndexedRows(NamedTuple):
    """A world in an index, with what is needed to ask it."""

    reader: ObjectReader
    order: I64  # row of the index -> place in the world
    words: list[str]
    config: StoreConfig

    def conjuncts(self, expression: Expression) -> list[Conjunct]:
        """What search asks, in numbers of terms: no conjunct with a positive that is absent, no absent negative."""
        number = {word: i for i, word in enumerate(self.words)}
        return [
            ([number[word] for word in c.positive], [number[word] for word in c.negative if word in number])
            for c in expression.dnf().conjuncts
            if all(word in number for word in c.positive)
        ]

    def places(self, rows: I64) -> list[int]:
        """Which objects of the world rows are."""
        assert rows.dtype == np.int64
        return [int(place) for place in self.order[rows]]


def indexed(kind: type[ObjectIndex], world: Sequence[Row], config: StoreConfig, *, mapped: bool = False) -> IndexedRows:
    """Build and open."""
    objects = columns_of(world, config)
    order, built = kind.build(objects, config.space.bounds)
    assert sorted(order.tolist()) == list(range(len(world))), "every row once"
    assert {"lon", "lat", "ts", "offsets", "ids"} <= set(built), "arrays of these names are read by merges"
    assert built["ts"].tolist() == objects.ts[order].tolist()
    arrays = worlds.mapped(built) if mapped else {name: frozen(array) for name, array in built.items()}
    words = objects.terms.dictionary.strings().to_pylist()
    return IndexedRows(kind.open(arrays.__getitem__, len(world)), order, words, config)


def nearest_by_a_loop(
    world: Sequence[Row], expression: Expression, at: tuple[float, float], k: int, span: Span, space: Space
) -> list[tuple[int, int]]:
    """(distance, place) of the k nearest and all ties at the k-th, by the oracle."""
    near = sorted(
        (mm_between(at, row, space), i)
        for i, row in enumerate(world)
        if span[0] <= row.ts <= span[1] and has_words(expression, row)
    )
    return [pair for pair in near if len(near) <= k or pair[0] <= near[k - 1][0]]


def term_counts_by_a_loop(world: Sequence[Row], region: Region, span: Span, space: Space) -> dict[str, int]:
    """Objects of the region and time per term, by the oracle."""
    counts: Counter[str] = Counter()
    for row in world:
        if span[0] <= row.ts <= span[1] and lies_in(region, row, space):
            counts.update(terms(row.text))
    return dict(counts)


@given(world=_rows, expression=worlds.expressions, region=worlds.regions, span=_spans, bits=st.sampled_from([64, 8]))
@settings(max_examples=80, deadline=None)
def ranges_are_exact(
    kind: type[ObjectIndex], world: list[Row], expression: Expression, region: Region, span: Span, bits: int
) -> None:
    """Rows in any of several closed boxes, ascending and each once."""
    at = indexed(kind, world, config_of(bits), mapped=True)
    boxes = pieces(region, at.config.space)
    found = at.reader.range(at.conjuncts(expression), boxes, *span)
    assert (np.diff(found) > 0).all()
    assert sorted(at.places(found)) == [
        i
        for i, row in enumerate(world)
        if any(w <= row.lon <= e and s <= row.lat <= n for w, s, e, n in boxes.tolist())
        and span[0] <= row.ts <= span[1]
        and has_words(expression, row)
    ]


@given(
    world=_rows,
    expression=worlds.expressions,
    at=worlds.points,
    k=st.integers(1, 6),
    span=_spans,
    planar=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def the_nearest_are_exact(
    kind: type[ObjectIndex],
    world: list[Row],
    expression: Expression,
    at: tuple[float, float],
    k: int,
    span: Span,
    planar: bool,
) -> None:
    """The k nearest with all ties at the k-th distance, nearest first."""
    held = indexed(kind, world, config_of(space=PLANE if planar else None))
    space = held.config.space
    found, mm = held.reader.nearest(held.conjuncts(expression), at, k, *span, space)
    assert (np.diff(mm) >= 0).all()
    got = sorted(zip(mm.tolist(), held.places(found), strict=True))
    assert got == nearest_by_a_loop(world, expression, at, k, span, space)


@given(world=_rows, region=_any_region, span=_spans, k=st.integers(1, 9), bits=st.sampled_from([64, 8]))
@settings(max_examples=80, deadline=None)
def terms_are_counted_exactly(
    kind: type[ObjectIndex], world: list[Row], region: Region, span: Span, k: int, bits: int
) -> None:
    """All counts; the best k with a bound on the others; the counts of given terms."""
    space = PLANE if region.planar else Space()
    held = indexed(kind, world, config_of(bits, space))
    expected = term_counts_by_a_loop(world, region, span, space)
    place = (pieces(region, space), *span, region, space)
    everything = held.reader.term_counts(*place)
    given_terms = held.reader.counts_of(np.arange(len(held.words)), *place)
    assert given_terms.dtype == np.int64
    for counts in (everything, given_terms):
        assert {held.words[t]: c for t, c in enumerate(counts.tolist()) if c} == expected
    top = held.reader.top_terms(*place, k)
    named = {held.words[t]: c for t, c in zip(top.terms.tolist(), top.counts.tolist(), strict=True)}
    assert len(named) == len(top.terms), "no term twice"
    assert {term: count for term, count in named.items() if count} == {t: expected[t] for t in named if t in expected}
    assert max((count for term, count in expected.items() if term not in named), default=0) <= top.bound
    best = sorted(named.values(), reverse=True)[:k]
    assert best[: len(expected)] == sorted(expected.values(), reverse=True)[:k]


def nothing_asked_is_nothing_found(kind: type[ObjectIndex]) -> None:
    """No conjunct left, a time that ends before it begins; and all of time."""
    held = indexed(kind, [Row(0, 0, 5, "rain"), Row(1, 1, 6, "")], config_of())
    reader, space = held.reader, held.config.space
    assert reader.range([], WORLD, 0, 10).tolist() == []
    assert reader.nearest([], (0.0, 0.0), 2, 0, 10, space)[0].tolist() == []
    assert reader.range([((), ())], WORLD, 9, 3).tolist() == []
    assert len(reader.range([((), ())], WORLD, -(2**63), 2**63 - 1)) == 2
    assert reader.term_counts(WORLD, 0, 10, Box(-180, -90, 180, 90), space).tolist() == [1]
    assert reader.work.calls > 0, "explain says what it cost"


OBJECT_CHECKS: tuple[Callable[[type[ObjectIndex]], None], ...] = (
    ranges_are_exact,
    the_nearest_are_exact,
    terms_are_counted_exactly,
    nothing_asked_is_nothing_found,
)
