"""Every registered index of standing nearest queries finds exactly the pairs of a double loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_worlds import (
    FAR,
    LATS,
    LONS,
    PLANE,
    Row,
    block_of,
    columns_of,
    config_of,
    expressions,
    naive_distance,
    naive_words,
    rows,
)

from sightline.index.protocol import NearestPairs
from sightline.index.registry import NEAREST_INDEXES, nearest_index
from sightline.index.standing.inverted import _kernels
from sightline.index.standing.inverted import index as inverted
from sightline.model.queries import NearestQuery
from sightline.model.space import Space
from sightline.store.array_file import ArrayFile, write_array_file

every_index = pytest.mark.parametrize("name", sorted(NEAREST_INDEXES))
points = st.tuples(st.sampled_from(LONS), st.sampled_from(LATS))
queries = st.builds(lambda e, p: NearestQuery(e, p, 3), expressions, points)
radii = st.sampled_from([-1, 0, 27_798_731, 55_597_463, 10**10, 2 * 10**10, FAR])


def found(pairs: NearestPairs) -> list[tuple[int, int, int]]:
    assert (np.diff(pairs.object) >= 0).all()
    return sorted(zip(pairs.object.tolist(), pairs.query.tolist(), pairs.distance_mm.tolist(), strict=True))


def naive(world: list[Row], asked: list[NearestQuery], radius: list[int], space: Space) -> list[tuple[int, int, int]]:
    out = []
    for i, row in enumerate(world):
        for j, query in enumerate(asked):
            mm = naive_distance(space, query.at, (row.lon, row.lat))
            if mm <= radius[j] and naive_words(query.keywords, row):
                out.append((i, j, mm))
    return out


@every_index
@given(world=st.lists(rows, max_size=10), asked=st.lists(st.tuples(queries, radii), max_size=8),
       planar=st.booleans(), bits=st.sampled_from([64, 8]))
@settings(max_examples=100, deadline=None)
def test_pairs_equal_a_double_loop(name: str, world: list[Row], asked: list[tuple[NearestQuery, int]], planar: bool,
                                   bits: int) -> None:
    config = config_of(bits, PLANE if planar else None)
    nearest, radius = [q for q, _ in asked], [r for _, r in asked]
    index = nearest_index(name).build(block_of(nearest, config), config.space)
    pairs = index.candidates(columns_of(world, config), np.array(radius, np.int64))
    assert found(pairs) == naive(world, nearest, radius, config.space)


def crowd(n: int, m: int) -> tuple[list[Row], list[NearestQuery]]:
    rng = np.random.default_rng(3)
    world = [Row(x, y, 0, "flood" if i % 2 else "flood rain")
             for i, (x, y) in enumerate(rng.uniform((-180, -90), (180, 90), (n, 2)).tolist())]
    asked = [NearestQuery("flood OR rain" if i % 3 else "rain", (x, y), 1)
             for i, (x, y) in enumerate(rng.uniform((-180, -90), (180, 90), (m, 2)).tolist())]
    return world, asked


def test_long_lists_buffers_and_work(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of()
    world, asked = crowd(60, 900)
    radius = np.random.default_rng(4).choice([0, 10**8, 10**9, 3 * 10**9], 900)
    objects, block = columns_of(world, config), block_of(asked, config)
    index = nearest_index("inverted").build(block, config.space)
    expected = naive(world, asked, radius.tolist(), config.space)
    assert found(index.candidates(objects, radius)) == expected
    monkeypatch.setattr(inverted, "FIRST_ROOM", 1)
    assert found(index.candidates(objects, radius)) == expected
    # Small balls: blocks far away are not read.
    near = index.candidates(objects, np.full(900, 10**8, np.int64))
    slow = nearest_index("scan").build(block, config.space).candidates(objects, np.full(900, 10**8, np.int64))
    assert found(near) == found(slow)
    assert near.checked * 3 < slow.checked


@every_index
def test_a_mapped_index_answers_alike(name: str, tmp_path: Path) -> None:
    config = config_of()
    world, asked = crowd(10, 40)
    index = nearest_index(name).build(block_of(asked, config), config.space)
    write_array_file(tmp_path / "index.sl", index.to_arrays(), {}, durable=False)
    file = ArrayFile.open(tmp_path / "index.sl")
    mapped = nearest_index(name).from_arrays({n: file.array(n) for n in file.names}, config.space)
    radius, objects = np.full(40, FAR, np.int64), columns_of(world, config)
    assert found(mapped.candidates(objects, radius)) == found(index.candidates(objects, radius))
    if name == "inverted":
        assert len(getattr(_kernels.inverted_match, "signatures", [0])) == 1


def test_radii_must_fit_the_queries() -> None:
    config = config_of()
    world, asked = crowd(2, 3)
    index = nearest_index("inverted").build(block_of(asked, config), config.space)
    with pytest.raises(ValueError, match="3 queries"):
        index.candidates(columns_of(world, config), np.zeros(2, np.int64))
