"""A past to fit a partitioning to and what comes afterwards, with the six query types of SSTD in equal shares.

Queries are made as in SSTD 7.1, each from one post of the past: a keyword of it (one, the paper's default), a region
of 0.01 % of the space around it, k = 10. Standing queries (CRQ, CKQ, CTQ) are known when the partitioning is fitted
and go on standing; posts and searches (SRQ, SKQ, STQ) of the time after it are others than those of the past.

Three streams are made up, after SSTD 7.2: ``cities`` are posts of :mod:`sightline.generate`, whose words depend on
their place; ``uniform`` and ``gaussian`` have the texts of the benchmark workload at places drawn evenly (Uni) or
around the middle of the space (Gau). The paper gives sigma as 1 without a unit; ours is a twentieth of the space,
since with one degree half of all regions of this size meet every post and no partitioning differs from another.

All posts come at an even rate, those of files too: real ones span years, in which windows would close a million times.
Standing queries live as long as the posts after the fit come, so that in Eq. 2 the rate of arrival times the lifetime
of a standing query and the number of posts a search finds stored are one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sightline.bench.loads import two_sets
from sightline.bench.workload import (
    AREA,
    FIRST_US,
    HASH_SEED,
    STEP_US,
    Area,
    Bounds,
    Mix,
    posts,
    range_queries,
    taken,
)
from sightline.flat.arrays import F64, I64
from sightline.generate.posts import PostGenerator
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.errors import BadConfig
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.partition.history import History
from sightline.partition.statistics.distribution import TYPES
from sightline.text.tokeniser import tokenise

__all__ = [
    "STREAMS", "SixTypes", "Stream", "block_of_tables", "evenly", "nearest_form", "six_types",
    "stream_of", "top_terms_form",
]  # fmt: skip

STREAMS = ("cities", "uniform", "gaussian")
ONE_KEYWORD = (1, 1)
K = 10
WINDOW, EVERY = "72h", "1h"
SIGMA = 0.05  # of the space, in either direction


class Stream(NamedTuple):
    """Posts before and after a fit, and the box that areas are fractions of."""

    name: str
    past: ObjectColumns
    objects: ObjectColumns
    bounds: Bounds


class SixTypes(NamedTuple):
    """A history, and what comes after it.

    ``tables`` are the standing queries of the history in bulk form, in the order of their numbers.
    """

    name: str
    history: History
    tables: Sequence[pa.Table]
    objects: ObjectColumns
    asked: QueryBlock


def stream_of(source: str | Path, objects: int, seed: int) -> Stream:
    """``objects`` posts before and as many after a fit: a made-up stream by name, or a Parquet file of posts.

    Of a file every second row is past; a short one gives fewer.
    """
    if isinstance(source, Path):
        stored = two_sets(objects, objects, seed, source)
        past = taken(stored.source, evenly(len(stored.source), objects))
        return _timed(source.stem, past, stored.objects, stored.bounds)
    if source == "cities":
        made = _generated(2 * objects, seed)
        before, after = (taken(made, rows) for rows in np.array_split(np.arange(len(made)), 2))
    elif source in STREAMS:
        before, after = (_moved(posts(objects, seed + part), source, seed + part) for part in (1, 2))
    else:
        raise BadConfig("unknown stream", value=source, allowed=", ".join(STREAMS))
    return _timed(source, before, after, GEOGRAPHIC_BOUNDS)


def six_types(stream: Stream, queries: int, mix: Mix = "Z", area: Area = AREA, seed: int = 7) -> SixTypes:
    """``queries`` queries around a stream, the same number of each type (at least one); as many searches again were
    asked in the past."""
    each = max(1, queries // len(TYPES))
    drawn = [
        range_queries(stream.past, each, mix, area, 16 * seed + part, stream.bounds, ONE_KEYWORD) for part in range(9)
    ]
    standing, before, after = (_three_kinds(drawn[first : first + 3]) for first in (0, 3, 6))
    start = int(stream.objects.ts[0])
    end = int(stream.objects.ts[-1]) + STEP_US
    span = max(1, len(stream.past) * STEP_US)
    history = History(stream.past, block_of_tables(standing, start, end), block_of_tables(before, 0, 1), span)
    return SixTypes(stream.name, history, standing, stream.objects, block_of_tables(after, 0, 1))


def evenly(rows: int, most: int) -> I64:
    """Up to ``most`` of so many rows, spread evenly over all of them, ascending."""
    return np.unique(np.linspace(0, max(rows - 1, 0), min(rows, most)).astype(np.int64))


def nearest_form(table: pa.Table, k: int = K) -> pa.Table:
    """Nearest queries with the keywords of range queries, from the middle of their regions."""
    west, south, east, north = (table[edge].to_numpy() for edge in ("west", "south", "east", "north"))
    at = {"lon": pa.array((west + east) / 2), "lat": pa.array((south + north) / 2)}
    return pa.table({"keywords": table["keywords"], **at, "k": pa.array(np.full(table.num_rows, k, np.int32))})


def top_terms_form(table: pa.Table, k: int = K, window: str = WINDOW, every: str = EVERY) -> pa.Table:
    """Top-terms queries with the regions of range queries."""
    n = table.num_rows
    edges = {edge: table[edge] for edge in ("west", "south", "east", "north")}
    times = {"window": pa.array([window] * n, pa.string()), "every": pa.array([every] * n, pa.string())}
    return pa.table({**edges, "k": pa.array(np.full(n, k, np.int32)), **times})


def _three_kinds(drawn: Sequence[pa.Table]) -> list[pa.Table]:
    return [drawn[0], nearest_form(drawn[1]), top_terms_form(drawn[2])]


def block_of_tables(tables: Sequence[pa.Table], start: int, end: int) -> QueryBlock:
    """The queries of some tables, numbered one after the other."""
    first = np.cumsum([0] + [table.num_rows for table in tables]).tolist()
    return QueryBlock.concat(
        [
            QueryBlock.from_table(table, np.arange(low, high), start, end, StoreConfig(seed=HASH_SEED))
            for table, low, high in zip(tables, first[:-1], first[1:], strict=True)
        ]
    )


def _generated(rows: int, seed: int) -> ObjectColumns:
    table = PostGenerator(seed).table(rows)
    terms = tokenise(table["text"].combine_chunks(), seed=HASH_SEED)
    return ObjectColumns(table["lon"].to_numpy(), table["lat"].to_numpy(), np.zeros(rows, np.int64), terms)


def _moved(objects: ObjectColumns, where: str, seed: int) -> ObjectColumns:
    rng = np.random.default_rng([seed, 5])
    west, south, east, north = GEOGRAPHIC_BOUNDS
    lon: F64
    lat: F64
    if where == "uniform":
        lon, lat = rng.uniform(west, east, len(objects)), rng.uniform(south, north, len(objects))
    else:
        lon = np.clip((west + east) / 2 + rng.standard_normal(len(objects)) * SIGMA * (east - west), west, east)
        lat = np.clip((south + north) / 2 + rng.standard_normal(len(objects)) * SIGMA * (north - south), south, north)
    return ObjectColumns(lon, lat, objects.ts, objects.terms)


def _timed(name: str, past: ObjectColumns, objects: ObjectColumns, bounds: Bounds) -> Stream:
    def at(some: ObjectColumns, first: int) -> ObjectColumns:
        ts: I64 = FIRST_US + (first + np.arange(len(some), dtype=np.int64)) * STEP_US
        return ObjectColumns(some.lon, some.lat, ts, some.terms)

    return Stream(name, at(past, 0), at(objects, len(past)), bounds)
