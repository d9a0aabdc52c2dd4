"""The workload of the index benchmarks: posts, and queries made from sampled posts.

Synthetic posts have about ten words each, Zipf-distributed (s = 1) over 800,000 words ``w1, w2, ...`` numbered by
rank, and lie around 500 cities of Gaussian spread whose weight falls as rank^-0.7, five in a hundred anywhere. Words
are independent of each other and of the place; real text is not, so every benchmark also takes a Parquet file of
posts. Queries have the words and the place of a sampled post (SSTD 7.1). Mix ``Z`` takes words as they come, and its
answers are huge, because the first word is in half of all posts; mix ``N`` drops queries with any of the 100 most
frequent words, as a list of stop words would.

The same seed gives the same rows. Posts to index, posts to match and posts that queries are made from should have
different seeds; cities and words are the same for all of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sightline.flat.arrays import F64, I32, I64, Flag
from sightline.geo.curve import curve_keys
from sightline.index.protocol import ObjectColumns
from sightline.model.errors import BadConfig, BadSource
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.text.dictionary import TermDictionary
from sightline.text.term_batch import TermBatch
from sightline.text.tokeniser import tokenise

__all__ = [
    "AREAS", "MIXES", "Area", "Bounds", "Mix", "along_curve", "bounds_of", "posts", "range_queries", "stored_posts",
    "subscriptions", "table_of",
]  # fmt: skip

Mix = Literal["Z", "N"]
Area = float | Literal["mixed"]
Bounds = tuple[float, float, float, float]

MIXES: tuple[Mix, ...] = ("Z", "N")
AREA = 0.0001  # of the space: 0.01 %
AREAS: tuple[Area, ...] = (AREA, "mixed")
MIXED = (1e-6, 1e-2)  # fractions of the space, drawn evenly on a log scale
DROP_TOP = 100

VOCABULARY = 800_000
MEAN_WORDS = 10
CITIES = 500
ANYWHERE = 0.05
HASH_SEED = 0  # of a store with the default configuration
FIRST_US = 1_704_067_200_000_000  # 2024-01-01
STEP_US = 20_000  # a post every 20 ms: five million span a bit more than a day
CHUNK_POSTS = 500_000
_WORLD_SEED = 500
_TS = pa.timestamp("us", tz="UTC")


def posts(n: int, seed: int = 7) -> ObjectColumns:
    """``n`` synthetic posts in order of arrival; the dictionary holds the words that occur, by rank."""
    rng = np.random.default_rng([seed, 1])
    lon, lat = _places(n, rng)
    parts, lengths = [], []
    share = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    share /= share[-1]
    for first in range(0, n, CHUNK_POSTS):
        rows = min(CHUNK_POSTS, n - first)
        drawn = rng.poisson(MEAN_WORDS, rows)
        words = np.searchsorted(share, rng.random(int(drawn.sum()))).astype(np.int64)
        # Distinct words of every row, ascending, in one sort.
        keys = np.sort(np.repeat(np.arange(rows, dtype=np.int64), drawn) * VOCABULARY + words)
        keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if keys.size else keys
        parts.append((keys % VOCABULARY).astype(np.int32))
        lengths.append(np.bincount(keys // VOCABULARY, minlength=rows))
    count = np.concatenate([np.zeros(1, np.int64), *lengths])
    ts = FIRST_US + np.arange(n, dtype=np.int64) * STEP_US
    ids = np.concatenate([np.empty(0, np.int32), *parts])
    return ObjectColumns(lon, lat, ts, _batch(np.cumsum(count), ids))


def stored_posts(path: Path | str, rows: int | None = None) -> ObjectColumns:
    """Posts of a Parquet file (lon, lat, ts, text), tokenised; an even sample of ``rows`` of them."""
    if not Path(path).is_file():
        raise BadSource("no such file", value=str(path), allowed="a Parquet file of posts")
    names = pq.read_schema(path).names
    if missing := [name for name in ("lon", "lat", "ts", "text") if name not in names]:
        raise BadSource("the file lacks columns", value=missing, allowed="lon, lat, ts and text")
    table = pq.read_table(path, columns=["lon", "lat", "ts", "text"]).drop_null()
    if rows is not None and rows < table.num_rows:
        table = table.take(pa.array(np.linspace(0, table.num_rows - 1, rows).astype(np.int64)))
    return ObjectColumns(
        table["lon"].to_numpy().astype(np.float64),
        table["lat"].to_numpy().astype(np.float64),
        table["ts"].cast(_TS).cast(pa.int64()).to_numpy(),
        tokenise(table["text"].combine_chunks(), seed=HASH_SEED),
    )


def along_curve(objects: ObjectColumns) -> ObjectColumns:
    """The same posts in the order in which the pipeline hands a batch to an index."""
    return taken(objects, np.argsort(curve_keys(objects.lon, objects.lat, GEOGRAPHIC_BOUNDS), kind="stable"))


def taken(objects: ObjectColumns, rows: npt.NDArray[np.integer]) -> ObjectColumns:
    """Some posts, in the given order."""
    return ObjectColumns(objects.lon[rows], objects.lat[rows], objects.ts[rows], objects.terms.take(rows))


def table_of(objects: ObjectColumns, text: bool = True) -> pa.Table:
    """Rows of posts (id, lon, lat, ts, text) as a segment stores them; ``text`` repeats the terms."""
    n = len(objects)
    columns = {
        "id": pc.binary_join_element_wise("p", pa.array(np.arange(n)).cast(pa.string()), ""),
        "lon": pa.array(objects.lon),
        "lat": pa.array(objects.lat),
        "ts": pa.array(objects.ts).cast(_TS),
    }
    if text:
        terms = objects.terms
        strings, parts = terms.dictionary.strings(), []
        for first in range(0, n, CHUNK_POSTS):
            offsets = terms.offsets[first : min(n, first + CHUNK_POSTS) + 1]
            flat = strings.take(pa.array(terms.ids[offsets[0] : offsets[-1]]))
            words = pa.ListArray.from_arrays(pa.array((offsets - offsets[0]).astype(np.int32)), flat)
            parts.append(pc.binary_join(words, " "))
        columns["text"] = pa.chunked_array(parts, pa.string())
    return pa.table(columns)


def bounds_of(objects: ObjectColumns) -> Bounds:
    """Box of the posts: what areas of a stored set are fractions of, since it may cover one city only."""
    west, east = float(objects.lon.min()), float(objects.lon.max())
    south, north = float(objects.lat.min()), float(objects.lat.max())
    return west, south, max(east, west + 1e-6), max(north, south + 1e-6)


def range_queries(
    source: ObjectColumns,
    n: int,
    mix: Mix = "Z",
    area: Area = 0.0001,
    seed: int = 7,
    bounds: Bounds = GEOGRAPHIC_BOUNDS,
    keywords: tuple[int, int] = (1, 3),
) -> pa.Table:
    """``n`` range queries in bulk form: keywords (AND), west, south, east, north.

    Parameters
    ----------
    source : ObjectColumns
        Posts to take words and places from.
    mix : str
        ``Z`` or ``N``.
    area : float or "mixed"
        Fraction of ``bounds``; mixed draws 0.0001 % to 1 % evenly on a log scale. Regions have the proportions of the
        bounds and are shifted inside them.
    keywords : (int, int)
        Least and most keywords, each number as likely. A post with fewer words gives fewer.
    """
    if mix not in MIXES:
        raise BadConfig("unknown mix", value=mix, allowed=", ".join(MIXES))
    low, high = MIXED if area == "mixed" else (area, area)
    if not 0 < low <= high <= 1:
        raise BadConfig("not a fraction of the space", value=area, allowed="above 0 and up to 1, or mixed")
    rng = np.random.default_rng([seed, 2])
    rows, ends, words = _draw(source.terms, n, keywords, DROP_TOP if mix == "N" else 0, rng)
    west, south, east, north = bounds
    side = np.sqrt(np.exp(rng.uniform(np.log(low), np.log(high), n)))
    width, height = (east - west) * side, (north - south) * side
    left = np.clip(source.lon[rows] - width / 2, west, east - width)
    bottom = np.clip(source.lat[rows] - height / 2, south, north - height)
    edges = {"west": left, "south": bottom}
    edges |= {"east": np.minimum(left + width, east), "north": np.minimum(bottom + height, north)}
    lists = pa.ListArray.from_arrays(pa.array(ends), source.terms.dictionary.strings().take(pa.array(words)))
    return pa.table({"keywords": lists, **{name: pa.array(edge) for name, edge in edges.items()}})


def subscriptions(
    n: int, seed: int = 7, source: ObjectColumns | None = None, mix: Mix = "Z", any_of: bool = True
) -> pa.Table:
    """``n`` nearest queries in bulk form: keywords (one to five, any of them by default), lon, lat, k (1 to 10)."""
    posted = posts(min(n, 1_000_000), seed + 1) if source is None else source
    rng = np.random.default_rng([seed, 3])
    rows, ends, words = _draw(posted.terms, n, (1, 5), DROP_TOP if mix == "N" else 0, rng)
    lists = pa.ListArray.from_arrays(pa.array(ends), posted.terms.dictionary.strings().take(pa.array(words)))
    place = {"lon": pa.array(posted.lon[rows]), "lat": pa.array(posted.lat[rows])}
    k = pa.array(rng.integers(1, 11, n).astype(np.int32))
    return pa.table({"keywords": pc.binary_join(lists, " OR ") if any_of else lists, **place, "k": k})


@cache
def _vocabulary() -> TermDictionary:
    ranks = pa.array(np.arange(1, VOCABULARY + 1)).cast(pa.string())
    return TermDictionary.from_strings(pc.binary_join_element_wise("w", ranks, ""), HASH_SEED)


def _batch(offsets: I64, ids: I32) -> TermBatch:
    """Terms over the words that occur: a batch of a stream has its own, small dictionary."""
    used = np.zeros(VOCABULARY, np.bool_)
    used[ids] = True
    number = (np.cumsum(used) - 1).astype(np.int32)  # keeps the order, so rows stay ascending
    words = np.diff(offsets).astype(np.int32)
    kept = _vocabulary().take(np.flatnonzero(used))
    return TermBatch(offsets, number[ids], np.ones(ids.size, np.uint16), words, kept)


def _places(n: int, rng: np.random.Generator) -> tuple[F64, F64]:
    world = np.random.default_rng(_WORLD_SEED)
    centre_lon, centre_lat = world.uniform(-170, 170, CITIES), world.uniform(-55, 65, CITIES)
    spread = 0.25 * world.lognormal(0.0, 0.5, CITIES)
    weight = np.cumsum(np.arange(1, CITIES + 1) ** -0.7)
    city = np.searchsorted(weight / weight[-1], rng.random(n))
    lon = centre_lon[city] + rng.standard_normal(n) * spread[city]
    lat = centre_lat[city] + rng.standard_normal(n) * spread[city]
    anywhere = rng.random(n) < ANYWHERE
    lon[anywhere] = rng.uniform(-180, 180, int(anywhere.sum()))
    lat[anywhere] = rng.uniform(-90, 90, int(anywhere.sum()))
    return np.clip(lon, -180, 180), np.clip(lat, -90, 90)


def _draw(
    terms: TermBatch, n: int, count: tuple[int, int], drop_top: int, rng: np.random.Generator
) -> tuple[I64, I32, I32]:
    """``n`` posts with words; and as offsets and values some distinct words of each, none of the dropped ones."""
    lengths = np.diff(terms.offsets)
    frequency = np.bincount(terms.ids, minlength=len(terms.dictionary))
    dropped: Flag = np.zeros(frequency.size, np.bool_)
    dropped[np.argsort(-frequency, kind="stable")[:drop_top]] = True
    wordy = np.flatnonzero(lengths > 0)
    if wordy.size == 0 or dropped[np.flatnonzero(frequency)].all():
        raise BadSource("posts have no words to ask for", value=f"{wordy.size} posts with words, {drop_top} dropped",
                        allowed="posts that have words besides the dropped ones")  # fmt: skip
    least, most = count
    got: list[tuple[I64, I64, I64]] = []
    have = 0
    while have < n:
        rows = wordy[rng.integers(0, wordy.size, max(1024, n - have))]
        size = np.minimum(rng.integers(least, most + 1, rows.size), lengths[rows])
        # Floyd's sampling, one column after the other: distinct places below the length of each row.
        chosen = np.full((rows.size, most), -1, np.int64)
        for column in range(most):
            last = lengths[rows] - size + column
            place = (rng.random(rows.size) * (last + 1)).astype(np.int64)
            place = np.where((chosen == place[:, None]).any(axis=1), last, place)
            chosen[:, column] = np.where(column < size, place, -1)
        asked = terms.ids[np.where(chosen >= 0, terms.offsets[rows][:, None] + chosen, 0)].astype(np.int64)
        good = ~(dropped[asked] & (chosen >= 0)).any(axis=1)
        got.append((rows[good], size[good], asked[good]))
        have += int(good.sum())
    rows, size, asked = (np.concatenate(part)[:n] for part in zip(*got, strict=True))
    flat = asked[np.arange(most)[None, :] < size[:, None]].astype(np.int32)
    return rows, np.concatenate(([0], np.cumsum(size))).astype(np.int32), flat
