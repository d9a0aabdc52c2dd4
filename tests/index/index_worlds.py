"""Small worlds for the index tests, and the dumb answers for them.

Coordinates come from a coarse lattice, so that points lie on edges, corners and both sides of the antimeridian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import shapely
from hypothesis import strategies as st

from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.expression import all_of, any_of, parse
from sightline.model.queries import NearestQuery, RangeQuery, TopTermsQuery
from sightline.model.regions import Box, Circle, Polygon
from sightline.model.space import Space
from sightline.model.terms import terms_of
from sightline.model.time import MAX_US, MIN_US
from sightline.text.tokeniser import tokenise

WORDS = ["flood", "rescue", "boat", "rain", "#flood", "東", "drill", "a1"]
LONS = [-180.0, -179.5, -90.0, -0.5, 0.0, 0.25, 0.5, 89.0, 179.5, 180.0]
LATS = [-90.0, -89.9, -45.0, -0.5, 0.0, 0.25, 0.5, 44.0, 89.9, 90.0]
PLANE = Space.planar((-200.0, -100.0, 200.0, 100.0))
FAR = 2**63 - 1


@dataclass(frozen=True)
class Row:
    lon: float
    lat: float
    ts: int
    text: str


words = st.sampled_from(WORDS)
rows = st.builds(
    Row, st.sampled_from(LONS), st.sampled_from(LATS), st.integers(0, 20), st.lists(words, max_size=5).map(" ".join)
)
expressions = st.one_of(
    st.just(parse("")),
    st.lists(words, min_size=1, max_size=5).map(all_of),
    st.lists(words, min_size=1, max_size=4).map(any_of),
    st.tuples(words, words).filter(lambda p: p[0] != p[1]).map(lambda p: parse(f"{p[0]} NOT {p[1]}")),
    st.tuples(words, words, words).map(lambda p: parse(f"({p[0]} OR {p[1]}) {p[2]}")),
    st.just(parse("flood rescue boat rain OR drill NOT (boat OR rain)")),
)


def _box(w: float, e: float, s: float, n: float) -> Box:
    return Box(w, min(s, n), e, max(s, n))


_lon, _lat = st.sampled_from(LONS), st.sampled_from(LATS)
boxes = st.builds(_box, _lon, _lon, _lat, _lat)
circles = st.builds(Circle, _lon, _lat, st.sampled_from([0.0, 1000.0, 55597.463, 60_000.0, 6e6, 1.2e7, 2.1e7]))
triangles = st.sampled_from(
    [
        Polygon([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5)]),
        Polygon([(-180, -90), (0, -90), (0, 90), (-180, 90)], [[(-100, -50), (-80, -50), (-80, 50), (-100, 50)]]),
    ]
)
regions = st.one_of(boxes, circles, triangles)
planar_boxes = boxes.map(lambda b: Box(min(b.west, b.east), b.south, max(b.west, b.east), b.north, planar=True))
planar_circles = st.builds(Circle, _lon, _lat, st.sampled_from([0.0, 0.25, 0.5, 90.0]), planar=st.just(True))
planar_regions = st.one_of(planar_boxes, planar_circles)


def config_of(hash_bits: int = 64, space: Space | None = None) -> StoreConfig:
    return StoreConfig(seed=7, hash_bits=hash_bits, space=space or Space())


def columns_of(world: list[Row], config: StoreConfig) -> ObjectColumns:
    texts = pa.array([r.text for r in world], pa.string())
    return ObjectColumns(
        np.array([r.lon for r in world], np.float64),
        np.array([r.lat for r in world], np.float64),
        np.array([r.ts for r in world], np.int64),
        tokenise(texts, config.text, config.seed, config.hash_bits),
    )


def table_of(world: list[Row]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([f"o{i}" for i in range(len(world))], pa.string()),
            "lon": pa.array([r.lon for r in world], pa.float64()),
            "lat": pa.array([r.lat for r in world], pa.float64()),
            "ts": pa.array([r.ts for r in world], pa.timestamp("us", "UTC")),
            "text": pa.array([r.text for r in world], pa.string()),
        }
    )


def block_of(queries: list[RangeQuery | NearestQuery | TopTermsQuery], config: StoreConfig) -> QueryBlock:
    ids = [f"q{i}" for i in range(len(queries))]
    return QueryBlock.from_queries(queries, ids, np.arange(len(queries)), MIN_US, MAX_US, config)


def naive_distance(space: Space, a: tuple[float, float], b: tuple[float, float]) -> int:
    if not space.is_geographic:
        dx, dy = b[0] - a[0], b[1] - a[1]
        return round(1000.0 * math.sqrt(dx * dx + dy * dy))
    p1, p2 = math.radians(a[1]), math.radians(b[1])
    h = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin(math.radians(b[0] - a[0]) / 2) ** 2
    return round(2000.0 * 6371008.8 * math.asin(min(1.0, math.sqrt(h))))


def naive_inside(region: Box | Circle | Polygon, row: Row, space: Space) -> bool:
    if isinstance(region, Box):
        tall = region.south <= row.lat <= region.north
        if region.west <= region.east:
            return tall and region.west <= row.lon <= region.east
        return tall and (row.lon >= region.west or row.lon <= region.east)
    if isinstance(region, Circle):
        return naive_distance(space, (region.lon, region.lat), (row.lon, row.lat)) <= region.radius_mm
    shape = shapely.Polygon(region.ring, region.holes)
    return bool(shapely.intersects_xy(shape, row.lon, row.lat))


def naive_words(expression: object, row: Row) -> bool:
    terms = set(terms_of(row.text))
    return any(
        terms.issuperset(c.positive) and terms.isdisjoint(c.negative)
        for c in expression.dnf().conjuncts  # type: ignore[attr-defined]
    )
