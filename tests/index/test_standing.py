"""Every registered index of standing range queries finds exactly the pairs of a double loop."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_worlds import (
    PLANE,
    Row,
    block_of,
    columns_of,
    config_of,
    expressions,
    naive_inside,
    naive_words,
    planar_regions,
    regions,
    rows,
)

from sightline.index.protocol import MatchPairs
from sightline.index.registry import STANDING_INDEXES, standing_index
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.gi2._kernels import gi2_match
from sightline.index.standing.levels import index as levels
from sightline.index.standing.levels._kernels import MAX_DEPTH, levels_match
from sightline.index.standing.levels.choice import Choice
from sightline.model.errors import UnknownPlugin
from sightline.model.expression import parse
from sightline.model.queries import RangeQuery, TopTermsQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.store.array_file import ArrayFile, write_array_file

every_index = pytest.mark.parametrize("name", sorted(STANDING_INDEXES))
resuming = pytest.mark.parametrize(
    "name", sorted(n for n, index in STANDING_INDEXES.items() if hasattr(sys.modules[index.__module__], "FIRST_ROOM"))
)
queries = st.builds(RangeQuery, expressions, regions)


def found(pairs: MatchPairs) -> list[tuple[int, int]]:
    assert pairs.object.dtype == np.int32
    assert pairs.query.dtype == np.int32
    assert (np.diff(pairs.object) >= 0).all()
    return sorted(zip(pairs.object.tolist(), pairs.query.tolist(), strict=True))


def naive(world: list[Row], asked: list[RangeQuery], space: Space) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, row in enumerate(world)
        for j, query in enumerate(asked)
        if naive_words(query.keywords, row) and naive_inside(query.region, row, space)
    ]


@every_index
@given(world=st.lists(rows, max_size=12), asked=st.lists(queries, max_size=8), bits=st.sampled_from([64, 8, 1]))
@settings(max_examples=80, deadline=None)
def test_pairs_equal_a_double_loop(name: str, world: list[Row], asked: list[RangeQuery], bits: int) -> None:
    config = config_of(bits)
    index = standing_index(name).build(block_of(asked, config), config.space)
    assert found(index.match(columns_of(world, config))) == naive(world, asked, config.space)


@every_index
@given(world=st.lists(rows, max_size=8), asked=st.lists(st.builds(RangeQuery, expressions, planar_regions), max_size=6))
@settings(max_examples=40, deadline=None)
def test_pairs_in_a_plane(name: str, world: list[Row], asked: list[RangeQuery]) -> None:
    config = config_of(space=PLANE)
    index = standing_index(name).build(block_of(asked, config), config.space)
    assert found(index.match(columns_of(world, config))) == naive(world, asked, PLANE)


@resuming
@given(world=st.lists(rows, min_size=1, max_size=8), asked=st.lists(queries, max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_full_buffer_resumes(name: str, world: list[Row], asked: list[RangeQuery]) -> None:
    config = config_of()
    index = standing_index(name).build(block_of(asked, config), config.space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[standing_index(name).__module__], "FIRST_ROOM", 1)
        assert found(index.match(columns_of(world, config))) == naive(world, asked, config.space)


def _near(values: list[float]) -> st.SearchStrategy[float]:
    """Values, their neighbours among the floats, and places less than a quantisation step (1.7e-7) away."""
    steps = [
        lambda v: v,
        lambda v: float(np.nextafter(v, -1000)),
        lambda v: float(np.nextafter(v, 1000)),
        lambda v: v + 1e-9,
        lambda v: v - 1e-9,
        lambda v: v + 2e-7,
    ]
    return st.builds(lambda v, step: step(v), st.sampled_from(values), st.sampled_from(steps))


edges = st.tuples(_near([0.0, 0.125, 11.25, 45.0]), _near([0.0, 0.1, 22.5]))


@every_index
@given(points=st.lists(edges, max_size=12), corners=st.lists(st.tuples(edges, edges), max_size=8), wide=st.booleans())
@settings(max_examples=100, deadline=None)
def test_edges_are_exact(
    name: str,
    points: list[tuple[float, float]],
    wide: bool,
    corners: list[tuple[tuple[float, float], tuple[float, float]]],
) -> None:
    """Points on, and a float beside, the edges of boxes that may be narrower than a quantisation step."""
    config = config_of()
    asked = [
        RangeQuery("", Box(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))) for a, b in corners
    ]
    if wide:  # else the block's own extent decides how places are quantised
        asked.append(RangeQuery("rain", Box(-180, -90, 180, 90)))
    world = [Row(x, y, 0, "rain") for x, y in points]
    index = standing_index(name).build(block_of(asked, config), config.space)
    assert found(index.match(columns_of(world, config))) == naive(world, asked, config.space)


@given(
    world=st.lists(rows, max_size=8),
    asked=st.lists(queries, min_size=1, max_size=6),
    depths=st.sets(st.integers(0, 6), min_size=1, max_size=4),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_any_levels_give_the_same_pairs(
    world: list[Row], asked: list[RangeQuery], depths: set[int], data: st.DataObject
) -> None:
    config = config_of()
    level_of = data.draw(st.lists(st.integers(0, len(depths) - 1), min_size=MAX_DEPTH + 1, max_size=MAX_DEPTH + 1))
    choice = Choice(np.array(sorted(depths), np.int32), np.array(level_of, np.int32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "choose_depths", lambda _: choice)
        index = standing_index("levels").build(block_of(asked, config), config.space)
    assert found(index.match(columns_of(world, config))) == naive(world, asked, config.space)


@every_index
def test_many_conjuncts_negatives_and_duplicates(name: str) -> None:
    config = config_of()
    wide = parse(" OR ".join(f"(w{i} v{i} NOT x{i})" for i in range(256)))
    box = Box(-10, -10, 10, 10)
    asked = [RangeQuery(wide, box), RangeQuery(wide, box), RangeQuery("a b c d e NOT z", box), RangeQuery("", box)]
    texts = ["w0 v0 w9 v9 w255 v255", "w3 v3 x3", "w3 v3 x4", "a b c d e", "a b c d e z", "a b c d", "", "w1 v2"]
    world = [Row(0, 0, 0, text) for text in texts]
    index = standing_index(name).build(block_of(asked, config), config.space)
    assert found(index.match(columns_of(world, config))) == naive(world, asked, config.space)


@every_index
def test_top_terms_match_by_region_alone(name: str) -> None:
    config = config_of()
    asked = [TopTermsQuery(Box(170, 0, -170, 10), 3, window="1h", every="10min")]
    world = [Row(175, 5, 0, ""), Row(-175, 5, 0, "rain"), Row(0, 5, 0, "rain")]
    index = standing_index(name).build(block_of(asked, config), config.space)
    assert found(index.match(columns_of(world, config))) == [(0, 0), (1, 0)]


@every_index
def test_a_mapped_index_answers_alike(name: str, tmp_path: Path) -> None:
    config = config_of(8)
    asked = [RangeQuery("flood OR rain", Box(-1, -1, 1, 1)), RangeQuery("boat", Box(179, -90, -179, 90))]
    world = [Row(0, 0, 0, "flood rain"), Row(180, 5, 0, "boat"), Row(-180, 5, 0, "boat"), Row(1, 1, 0, "rain")]
    index = standing_index(name).build(block_of(asked, config), config.space)
    write_array_file(tmp_path / "index.sl", index.to_arrays(), {}, durable=False)
    file = ArrayFile.open(tmp_path / "index.sl")
    mapped = standing_index(name).from_arrays({n: file.array(n) for n in file.names}, config.space)
    objects = columns_of(world, config)
    assert found(mapped.match(objects)) == found(index.match(objects)) == naive(world, asked, config.space)
    # Read-only and writable arrays are one type to a kernel: nothing is compiled twice.
    kernel = {"gi2": gi2_match, "levels": levels_match}.get(name)
    assert len(getattr(kernel, "signatures", [0])) == 1


def random_load(n: int, m: int, sides: list[float], words: int = 60) -> tuple[QueryBlock, list[Row]]:
    """m queries of 2 keywords and regions of the given sides (share of the world's), words drawn as 1 / rank."""
    rng = np.random.default_rng(5)
    vocabulary = np.array([f"w{i}" for i in range(words)])
    share = 1 / np.arange(1, words + 1)
    side, share = rng.choice(sides, m), share / share.sum()
    west, south = rng.uniform(-180, 180 - 360 * side), rng.uniform(-90, 90 - 180 * side)
    table = pa.table(
        {
            "keywords": rng.choice(vocabulary, (m, 2), p=share).tolist(),
            "west": west,
            "south": south,
            "east": west + 360 * side,
            "north": south + 180 * side,
        }
    )
    block = QueryBlock.from_table(table, np.arange(m), MIN_US, MAX_US, config_of())
    places, texts = rng.uniform((-180, -90), (180, 90), (n, 2)), rng.choice(vocabulary, (n, 8), p=share)
    return block, [Row(x, y, 0, " ".join(text)) for (x, y), text in zip(places, texts, strict=True)]


@resuming
def test_few_entries_are_looked_at(name: str) -> None:
    block, world = random_load(300, 5000, [0.01, 0.03])
    objects = columns_of(world, config_of())
    fast, slow = (standing_index(n).build(block, Space()).match(objects) for n in (name, "scan"))
    assert found(fast) == found(slow)
    assert len(fast.object) > 20
    assert fast.candidates * 100 < slow.candidates
    assert fast.candidates >= len(fast.object)


def test_levels_look_at_fewer_entries_where_sizes_differ() -> None:
    block, world = random_load(500, 20_000, [0.0005, 0.2])
    objects = columns_of(world, config_of())
    flat, several = (standing_index(n).build(block, Space()) for n in ("gi2", "levels"))
    assert several.to_arrays()["depths"].size > 1
    one, two = flat.match(objects), several.match(objects)
    assert found(one) == found(two)
    assert two.candidates * 2 < one.candidates


def test_regions_alike_need_one_level() -> None:
    block, _ = random_load(0, 2000, [0.01], 5000)
    assert standing_index("levels").build(block, Space()).to_arrays()["depths"].size == 1


@pytest.mark.parametrize("name", ["gi2", "levels"])
def test_a_subscription_takes_at_most_160_bytes(name: str) -> None:
    block, _ = random_load(0, 50_000, [0.01], 20_000)
    arrays = standing_index(name).build(block, Space()).to_arrays()
    assert sum(array.nbytes for array in arrays.values()) <= 160 * len(block)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownPlugin, match="delta, fast, gi2, levels, scan"):
        standing_index("rtree")
