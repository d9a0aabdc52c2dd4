"""Small worlds for conformance checks: objects and queries on a coarse lattice, and their dumb answers.

Points lie on edges, corners, poles and both sides of the antimeridian far more often than in life. What an answer must
be is asked of the oracle, which shares no code with the engine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hypothesis import strategies as st

from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.expression import Expression, all_of, any_of, parse
from sightline.model.queries import NearestQuery, RangeQuery, TopTermsQuery
from sightline.model.regions import Box, Circle, Polygon, Region
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.testing.oracle_geometry import distance_mm, inside
from sightline.testing.oracle_terms import matches, terms
from sightline.text.tokeniser import tokenise

WORDS = ["flood", "rescue", "boat", "rain", "#flood", "東", "drill", "a1"]
LONS = [-180.0, -179.5, -90.0, -0.5, 0.0, 0.25, 0.5, 89.0, 179.5, 180.0]
LATS = [-90.0, -89.9, -45.0, -0.5, 0.0, 0.25, 0.5, 44.0, 89.9, 90.0]
PLANE = Space.planar((-200.0, -100.0, 200.0, 100.0))
FAR = 2**63 - 1


class Row(NamedTuple):
    """An object; its id is its place in the list."""

    lon: float
    lat: float
    ts: int
    text: str


def _box(west: float, east: float, south: float, north: float, planar: bool = False) -> Box:
    if planar:
        west, east = min(west, east), max(west, east)
    return Box(west, min(south, north), east, max(south, north), planar=planar)


words = st.sampled_from(WORDS)
lons, lats = st.sampled_from(LONS), st.sampled_from(LATS)
points = st.tuples(lons, lats)
texts = st.lists(words, max_size=5).map(" ".join)
rows = st.builds(Row, lons, lats, st.integers(0, 20), texts)
expressions = st.one_of(
    st.just(parse("")),
    st.lists(words, min_size=1, max_size=5).map(all_of),
    st.lists(words, min_size=1, max_size=4).map(any_of),
    st.tuples(words, words).filter(lambda two: two[0] != two[1]).map(lambda two: parse(f"{two[0]} NOT {two[1]}")),
    st.tuples(words, words, words).map(lambda three: parse(f"({three[0]} OR {three[1]}) {three[2]}")),
    st.just(parse("flood rescue boat rain OR drill NOT (boat OR rain)")),
)
metres = st.sampled_from([0.0, 1000.0, 55_597.463, 60_000.0, 6e6, 1.2e7, 2.1e7])
polygons = st.sampled_from(
    [
        Polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5)]),
        Polygon([(-180, -90), (0, -90), (0, 90), (-180, 90)], [[(-100, -50), (-80, -50), (-80, 50), (-100, 50)]]),
    ]
)
boxes = st.builds(_box, lons, lons, lats, lats)
regions: st.SearchStrategy[Region] = st.one_of(boxes, st.builds(Circle, lons, lats, metres), polygons)
planar_regions: st.SearchStrategy[Region] = st.one_of(
    st.builds(_box, lons, lons, lats, lats, st.just(True)),
    st.builds(Circle, lons, lats, st.sampled_from([0.0, 0.25, 0.5, 90.0]), planar=st.just(True)),
)
ranges = st.builds(RangeQuery, expressions, regions)
planar_ranges = st.builds(RangeQuery, expressions, planar_regions)
nearests = st.builds(NearestQuery, expressions, points, st.sampled_from([1, 1, 2, 3, 20]))
top_terms = st.builds(TopTermsQuery, regions, st.sampled_from([1, 3]), window=st.just("10s"), every=st.just("5s"))


def config_of(hash_bits: int = 64, space: Space | None = None) -> StoreConfig:
    """A configuration; with few bits, terms collide."""
    return StoreConfig(seed=7, hash_bits=hash_bits, space=space or Space())


def columns_of(world: Sequence[Row], config: StoreConfig) -> ObjectColumns:
    """The objects as indexes and partitioners get them."""
    return ObjectColumns(
        np.array([row.lon for row in world], np.float64),
        np.array([row.lat for row in world], np.float64),
        np.array([row.ts for row in world], np.int64),
        tokenise(pa.array([row.text for row in world], pa.string()), config.text, config.seed, config.hash_bits),
    )


def block_of(queries: Sequence[RangeQuery | NearestQuery | TopTermsQuery], config: StoreConfig) -> QueryBlock:
    """Standing queries as indexes and partitioners get them."""
    ids = [f"q{i}" for i in range(len(queries))]
    return QueryBlock.from_queries(list(queries), ids, np.arange(len(queries)), MIN_US, MAX_US, config)


def mapped(arrays: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """The arrays as another process has them: written, and mapped read-only."""
    with tempfile.TemporaryDirectory(prefix="sightline-testing-") as folder:
        path = Path(folder) / "arrays.sl"
        write_array_file(path, dict(arrays), {}, durable=False)
        file = ArrayFile.open(path)
        return {name: file.array(name) for name in file.names}  # pages stay when the file has gone


def has_words(expression: Expression, row: Row) -> bool:
    """Whether a text matches, by the oracle."""
    return matches(expression.to_json(), terms(row.text))


def lies_in(region: Region, row: Row, space: Space) -> bool:
    """Whether a place is inside, by the oracle."""
    return inside(region.to_dict(), row.lon, row.lat, planar=not space.is_geographic)


def mm_between(at: tuple[float, float], row: Row, space: Space) -> int:
    """How far, in millimetres, by the oracle."""
    return distance_mm(*at, row.lon, row.lat, planar=not space.is_geographic)
