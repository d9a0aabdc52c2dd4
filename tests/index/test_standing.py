"""Every registered index of standing range queries finds exactly the pairs of a double loop."""

from __future__ import annotations

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
    boxes,
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
from sightline.index.standing.gi2 import _kernels
from sightline.index.standing.gi2 import index as gi2
from sightline.model.errors import UnknownPlugin
from sightline.model.expression import parse
from sightline.model.queries import RangeQuery, TopTermsQuery
from sightline.model.regions import Box
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.store.array_file import ArrayFile, write_array_file

every_index = pytest.mark.parametrize("name", sorted(STANDING_INDEXES))
queries = st.builds(RangeQuery, expressions, regions)


def found(pairs: MatchPairs) -> list[tuple[int, int]]:
    assert pairs.object.dtype == np.int32
    assert pairs.query.dtype == np.int32
    assert (np.diff(pairs.object) >= 0).all()
    return sorted(zip(pairs.object.tolist(), pairs.query.tolist(), strict=True))


def naive(world: list[Row], asked: list[RangeQuery], space: Space) -> list[tuple[int, int]]:
    return [
        (i, j) for i, row in enumerate(world) for j, query in enumerate(asked)
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


@given(world=st.lists(rows, min_size=1, max_size=8),
       asked=st.lists(st.builds(RangeQuery, expressions, boxes), max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_full_buffer_resumes(world: list[Row], asked: list[RangeQuery]) -> None:
    config = config_of()
    index = standing_index("gi2").build(block_of(asked, config), config.space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gi2, "FIRST_ROOM", 1)
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
    if name == "gi2":  # read-only and writable arrays are one type to the kernel: nothing compiled twice
        assert len(getattr(_kernels.gi2_match, "signatures", [0])) == 1


def random_load(n: int, m: int) -> tuple[pa.Table, list[Row]]:
    rng = np.random.default_rng(5)
    vocabulary = np.array([f"w{i}" for i in range(60)])
    west, south = rng.uniform(-180, 170, m), rng.uniform(-90, 80, m)
    table = pa.table({
        "keywords": [rng.choice(vocabulary, rng.integers(1, 4)).tolist() for _ in range(m)],
        "west": west, "south": south, "east": west + rng.uniform(0, 10, m), "north": south + rng.uniform(0, 10, m),
    })
    places = rng.uniform((-180, -90), (180, 90), (n, 2))
    return table, [Row(x, y, 0, " ".join(rng.choice(vocabulary, 8))) for x, y in places]


def test_gi2_looks_at_few_entries() -> None:
    table, world = random_load(300, 5000)
    config = config_of()
    block = QueryBlock.from_table(table, np.arange(5000), MIN_US, MAX_US, config)
    objects = columns_of(world, config)
    fast, slow = (standing_index(name).build(block, config.space).match(objects) for name in ("gi2", "scan"))
    assert found(fast) == found(slow)
    assert len(fast.object) > 20
    assert fast.candidates * 200 < slow.candidates
    assert fast.candidates >= len(fast.object)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownPlugin, match="gi2, scan"):
        standing_index("rtree")
