"""Every registered object index answers like a loop over the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_worlds import (
    LATS,
    LONS,
    PLANE,
    Row,
    columns_of,
    config_of,
    expressions,
    naive_distance,
    naive_inside,
    naive_words,
    planar_regions,
    regions,
    rows,
    table_of,
)

from sightline.geo.bounds import pieces
from sightline.index.objects.postings import _kernels
from sightline.index.objects.segment import Segment, build_segment
from sightline.index.protocol import Conjunct
from sightline.index.registry import OBJECT_INDEXES
from sightline.model.config import StoreConfig
from sightline.model.expression import Expression, all_of, parse
from sightline.model.regions import Box, Region
from sightline.model.space import Space
from sightline.model.terms import terms_of

every_index = pytest.mark.parametrize("name", sorted(OBJECT_INDEXES))
worlds = st.lists(rows, min_size=1, max_size=30)
times = st.tuples(st.integers(-1, 21), st.integers(-1, 21))
WORLD = np.array([[-180.0, -90.0, 180.0, 90.0]])


def segment_of(world: list[Row], config: StoreConfig, name: str) -> Segment:
    data = build_segment(columns_of(world, config), table_of(world), name, config.space.bounds)
    return Segment.from_data(data)


def conjuncts_of(expression: Expression, segment: Segment, config: StoreConfig) -> list[Conjunct]:
    """What search does: local ids; conjuncts with an absent positive are dropped, absent negatives are no hindrance."""
    out: list[Conjunct] = []
    for c in expression.dnf().conjuncts:
        pos = segment.dictionary.lookup_strings(c.positive, config.seed, config.hash_bits).tolist()
        neg = segment.dictionary.lookup_strings(c.negative, config.seed, config.hash_bits).tolist()
        if -1 not in pos:
            out.append((pos, [t for t in neg if t >= 0]))
    return out


def ids_of(segment: Segment, found: np.ndarray) -> list[int]:
    assert found.dtype == np.int64
    return sorted(int(name[1:]) for name in segment.rows(found)["id"].to_pylist())


@every_index
@given(world=worlds, expression=expressions, region=st.one_of(regions), span=times, bits=st.sampled_from([64, 8]))
@settings(max_examples=80, deadline=None)
def test_range(
    name: str, world: list[Row], expression: Expression, region: Region, span: tuple[int, int], bits: int
) -> None:
    config = config_of(bits)
    segment = segment_of(world, config, name)
    boxes = pieces(region, config.space)
    found = segment.index.range(conjuncts_of(expression, segment, config), boxes, *span)
    assert (np.diff(found) > 0).all()
    inside = [any(w <= r.lon <= e and s <= r.lat <= n for w, s, e, n in boxes.tolist()) for r in world]
    assert ids_of(segment, found) == [
        i for i, row in enumerate(world) if inside[i] and span[0] <= row.ts <= span[1] and naive_words(expression, row)
    ]


@every_index
@given(
    world=worlds,
    expression=expressions,
    at=st.tuples(st.sampled_from(LONS), st.sampled_from(LATS)),
    k=st.integers(1, 6),
    span=times,
    planar=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_nearest(
    name: str,
    world: list[Row],
    expression: Expression,
    at: tuple[float, float],
    k: int,
    span: tuple[int, int],
    planar: bool,
) -> None:
    config = config_of(space=PLANE if planar else None)
    segment = segment_of(world, config, name)
    found, mm = segment.index.nearest(conjuncts_of(expression, segment, config), at, k, *span, config.space)
    expected = naive_nearest(world, expression, at, k, span, config.space)
    names = [int(name[1:]) for name in segment.rows(found)["id"].to_pylist()]
    assert sorted(zip(mm.tolist(), names, strict=True)) == expected
    assert (np.diff(mm) >= 0).all()


def naive_nearest(
    world: list[Row], expression: Expression, at: tuple[float, float], k: int, span: tuple[int, int], space: Space
) -> list[tuple[int, int]]:
    """(distance, row) of the k nearest and all ties at the k-th."""
    near = sorted(
        (naive_distance(space, at, (row.lon, row.lat)), i)
        for i, row in enumerate(world)
        if span[0] <= row.ts <= span[1] and naive_words(expression, row)
    )
    return [pair for pair in near if len(near) <= k or pair[0] <= near[k - 1][0]]


@every_index
@given(world=worlds, region=regions, span=times)
@settings(max_examples=60, deadline=None)
def test_term_counts(name: str, world: list[Row], region: Region, span: tuple[int, int]) -> None:
    check_counts(name, world, region, span, Space())


@every_index
@given(world=worlds, region=planar_regions, span=times)
@settings(max_examples=30, deadline=None)
def test_term_counts_in_a_plane(name: str, world: list[Row], region: Region, span: tuple[int, int]) -> None:
    check_counts(name, world, region, span, PLANE)


def check_counts(name: str, world: list[Row], region: Region, span: tuple[int, int], space: Space) -> None:
    config = config_of(space=space)
    segment = segment_of(world, config, name)
    counts = segment.index.term_counts(pieces(region, space), *span, region, space)
    got = dict(zip(segment.dictionary.strings().to_pylist(), counts.tolist(), strict=True))
    assert {term: count for term, count in got.items() if count} == naive_counts(world, region, span, space)


def naive_counts(world: list[Row], region: Region, span: tuple[int, int], space: Space) -> dict[str, int]:
    expected: dict[str, int] = {}
    for row in world:
        if span[0] <= row.ts <= span[1] and naive_inside(region, row, space):
            for term in terms_of(row.text):
                expected[term] = expected.get(term, 0) + 1
    return expected


@every_index
@given(
    world=worlds,
    region=st.one_of(regions, planar_regions),
    span=times,
    k=st.integers(1, 9),
    bits=st.sampled_from([64, 8]),
)
@settings(max_examples=60, deadline=None)
def test_top_terms(name: str, world: list[Row], region: Region, span: tuple[int, int], k: int, bits: int) -> None:
    check_top(name, world, region, span, k, bits)


def check_top(name: str, world: list[Row], region: Region, span: tuple[int, int], k: int, bits: int) -> None:
    space = PLANE if region.planar else Space()
    config = config_of(bits, space)
    segment = segment_of(world, config, name)
    expected = naive_counts(world, region, span, space)
    strings = segment.dictionary.strings().to_pylist()
    place = (pieces(region, space), *span, region, space)
    top = segment.index.top_terms(*place, k)
    named = {strings[t]: c for t, c in zip(top.terms.tolist(), top.counts.tolist(), strict=True)}
    assert len(named) == len(top.terms)
    assert {term: count for term, count in named.items() if count} == {t: expected[t] for t in named if t in expected}
    others = [count for term, count in expected.items() if term not in named]
    assert max(others, default=0) <= top.bound
    best = sorted(named.values(), reverse=True)[:k]
    assert best[: len(expected)] == sorted(expected.values(), reverse=True)[:k]
    counts = segment.index.counts_of(np.arange(len(strings)), *place)
    assert counts.dtype == np.int64
    assert {strings[t]: c for t, c in enumerate(counts.tolist()) if c} == expected


def city(n: int) -> list[Row]:
    rng = np.random.default_rng(11)
    centres = rng.uniform((-170, -80), (170, 80), (6, 2))[rng.integers(0, 6, n)]
    places = centres + rng.normal(0, 0.3, (n, 2))
    vocabulary = np.array([f"w{i}" for i in range(40)])
    weights = 1 / np.arange(1, 41)
    texts = [" ".join(rng.choice(vocabulary, 6, p=weights / weights.sum())) for _ in range(n)]
    return [Row(x, y, int(t), text) for (x, y), t, text in zip(places, rng.integers(0, 20, n), texts, strict=True)]


def test_postings_read_little_and_skewed_data_is_answered_exactly() -> None:
    config, world = config_of(), city(6000)
    fast, slow = segment_of(world, config, "postings"), segment_of(world, config, "scan")
    rng = np.random.default_rng(2)
    for i in range(60):
        row = world[int(rng.integers(0, len(world)))]
        size = float(rng.choice([0.01, 0.2, 3.0]))
        box = np.array([[row.lon - size, row.lat - size, row.lon + size, row.lat + size]])
        words = all_of(row.text.split()[: i % 3]) if i % 3 else parse("")
        answers = []
        for segment in (fast, slow):
            conjuncts = conjuncts_of(words, segment, config)
            found = segment.index.range(conjuncts, box, 2, 18)
            near = segment.index.nearest(conjuncts, (row.lon + size, row.lat), 1 + i % 7, 2, 18, config.space)
            answers.append((ids_of(segment, found), near[1].tolist(), ids_of(segment, near[0])))
        assert answers[0] == answers[1]
    assert fast.index.work.calls > 0
    assert fast.index.work.candidates * 5 < slow.index.work.candidates
    assert len(getattr(_kernels.range_rows, "signatures", [0])) == 1


@every_index
def test_no_conjunct_left_and_empty_times_find_nothing(name: str) -> None:
    config = config_of()
    segment = segment_of([Row(0, 0, 5, "rain"), Row(1, 1, 6, "")], config, name)
    assert segment.index.range([], WORLD, 0, 10).tolist() == []
    assert segment.index.nearest([], (0.0, 0.0), 2, 0, 10, config.space)[0].tolist() == []
    assert segment.index.range([((), ())], WORLD, 9, 3).tolist() == []
    assert len(segment.index.range([((), ())], WORLD, -(2**63), 2**63 - 1)) == 2
    everything = segment.index.term_counts(WORLD, 0, 10, Box(-180, -90, 180, 90), config.space)
    assert everything.tolist() == [1]
