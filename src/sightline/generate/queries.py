"""Queries made from sampled posts, as in SSTD 7.1: keywords and centre come from one object each.

The tables have the bulk form of ``subscribe_many`` and ``search_many``: an ``id``, ``keywords`` as a list (AND),
a box or a point, and the parameters of the kind.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.model.durations import duration_us, format_duration
from sightline.model.errors import BadConfig, BadSource
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.text.tokeniser import tokenise
from sightline.text.utf8 import valid_utf8

Bounds = tuple[float, float, float, float]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def range_queries(
    posts: pa.Table,
    n: int,
    *,
    keywords: tuple[int, int] = (1, 3),
    area: float | tuple[float, float] = 0.0001,
    seed: int = 0,
    drop_top: int = 0,
    bounds: Bounds = GEOGRAPHIC_BOUNDS,
) -> pa.Table:
    """``n`` range queries: id, keywords, west, south, east, north.

    Parameters
    ----------
    posts : pa.Table
        Objects to sample from, with replacement; rows that an engine would reject are left out.
    keywords : (int, int)
        Least and most keywords; each number is as likely. An object with fewer words gives fewer.
    area : float or (float, float)
        Area of the region as a fraction of the space, or a range to draw from evenly on a log scale. Boxes have
        the proportions of the space and are shifted inside it.
    drop_top : int
        Leave out queries with any of so many most frequent words (100 is the mix N, 0 the mix Z).
    """
    source = _Source(posts, drop_top, seed)
    rows, words = source.keywords(n, keywords)
    return pa.table({"id": _ids("range", n), "keywords": words, **source.boxes(rows, area, bounds)})


def nearest_queries(
    posts: pa.Table,
    n: int,
    *,
    keywords: tuple[int, int] = (1, 3),
    k: int | tuple[int, int] = 10,
    seed: int = 0,
    drop_top: int = 0,
) -> pa.Table:
    """``n`` nearest queries: id, keywords, lon, lat, k."""
    source = _Source(posts, drop_top, seed)
    rows, words = source.keywords(n, keywords)
    place = {"lon": pa.array(source.lon[rows]), "lat": pa.array(source.lat[rows])}
    return pa.table({"id": _ids("nearest", n), "keywords": words, **place, "k": source.whole(n, k, "k")})


def top_terms_queries(
    posts: pa.Table,
    n: int,
    *,
    k: int | tuple[int, int] = 10,
    area: float | tuple[float, float] = 0.0001,
    window: str | timedelta = "72h",
    every: str | timedelta = "1h",
    seed: int = 0,
    bounds: Bounds = GEOGRAPHIC_BOUNDS,
) -> pa.Table:
    """``n`` top-terms queries: id, west, south, east, north, k, window, every."""
    source = _Source(posts, 0, seed)
    rows = source.rng.integers(0, len(source.lon), n)
    return pa.table(
        {
            "id": _ids("top-terms", n),
            **source.boxes(rows, area, bounds),
            "k": source.whole(n, k, "k"),
            "window": pa.array([format_duration(duration_us(window, "window"))] * n, pa.string()),
            "every": pa.array([format_duration(duration_us(every, "every"))] * n, pa.string()),
        }
    )


class _Source:
    """The usable posts, their words (no tags), and the chance."""

    def __init__(self, posts: pa.Table, drop_top: int, seed: int) -> None:
        posts = _usable(posts)
        if posts.num_rows == 0:
            raise BadSource("no usable post to make queries from", value=0, allowed="one row or more")
        self.rng = np.random.default_rng([seed, 7])
        self.lon: Floats = posts["lon"].to_numpy()
        self.lat: Floats = posts["lat"].to_numpy()
        self.posts = posts
        self.drop_top = drop_top

    def keywords(self, n: int, count: tuple[int, int]) -> tuple[Ints, pa.Array]:
        """``n`` rows and a list of distinct words of each."""
        least, most = _range(count, "keywords", 1)
        if n == 0:
            return np.empty(0, dtype=np.int64), pa.array([], pa.list_(pa.string()))
        batch = tokenise(self.posts["text"].combine_chunks())
        strings = batch.dictionary.strings()
        is_word = ~pc.match_substring_regex(strings, "^[#@]").to_numpy(zero_copy_only=False)
        frequency = np.bincount(batch.ids, minlength=len(strings)) * is_word
        # Most frequent first, equal ones by their number, so that the cut does not depend on chance.
        dropped = np.zeros(len(strings), dtype=np.bool_)
        dropped[np.argsort(-frequency, kind="stable")[: self.drop_top]] = True
        keep = is_word[batch.ids]
        ids = batch.ids[keep]
        offsets = np.concatenate([[0], np.cumsum(keep)])[batch.offsets]
        lengths = np.diff(offsets)
        rows, chosen, have = self._draw_queries(n, least, most, ids, offsets, lengths, dropped)
        ends = np.concatenate([[0], np.cumsum(have)]).astype(np.int32)
        flat = chosen[np.arange(most)[None, :] < have[:, None]]
        return rows, pa.ListArray.from_arrays(pa.array(ends), strings.take(pa.array(flat)))

    def _draw_queries(
        self, n: int, least: int, most: int, ids: Ints, offsets: Ints, lengths: Ints, dropped: npt.NDArray[np.bool_]
    ) -> tuple[Ints, Ints, Ints]:
        """Draw until ``n`` queries have none of the dropped words; each round is one vectorised draw."""
        with_words = np.nonzero(lengths > 0)[0]
        taken_rows, taken_words, taken_counts, have_rows, fruitless = [], [], [], 0, 0
        while have_rows < n:
            if fruitless == 20 or len(with_words) == 0:
                raise BadSource(
                    "posts have no words to ask for",
                    value=f"{len(with_words)} posts with words, drop_top={self.drop_top}",
                    allowed="posts that have words besides the dropped ones",
                    hint="use more posts or a smaller drop_top",
                )
            rows = with_words[self.rng.integers(0, len(with_words), max(1024, n - have_rows))]
            count = np.minimum(self.rng.integers(least, most + 1, len(rows)), lengths[rows])
            place = self._distinct(lengths[rows], count, most)
            words = ids[np.where(place >= 0, offsets[rows][:, None] + place, 0)].astype(np.int64)
            good = ~(dropped[words] & (place >= 0)).any(axis=1)
            taken_rows.append(rows[good])
            taken_words.append(words[good])
            taken_counts.append(count[good])
            have_rows += int(good.sum())
            fruitless = 0 if good.any() else fruitless + 1
        rows, words, count = (np.concatenate(parts)[:n] for parts in (taken_rows, taken_words, taken_counts))
        return rows, words, count

    def _distinct(self, lengths: Ints, count: Ints, most: int) -> Ints:
        """``count`` distinct places below each length, -1 after them (Floyd's sampling, column by column)."""
        chosen = np.full((len(lengths), most), -1, dtype=np.int64)
        for column in range(most):
            last = lengths - count + column
            place = (self.rng.random(len(lengths)) * (last + 1)).astype(np.int64)
            place = np.where((chosen == place[:, None]).any(axis=1), last, place)
            chosen[:, column] = np.where(column < count, place, -1)
        return chosen

    def boxes(self, rows: Ints, area: float | tuple[float, float], bounds: Bounds) -> dict[str, pa.Array]:
        """Regions of the area around the posts in some rows."""
        smallest, largest = area if isinstance(area, tuple) else (area, area)
        if not 0 < smallest <= largest <= 1:
            raise BadConfig("not a fraction of the space", value=area, allowed="above 0 and up to 1")
        west, south, east, north = bounds
        drawn = np.exp(np.log(smallest) + self.rng.random(len(rows)) * (np.log(largest) - np.log(smallest)))
        width, height = (east - west) * np.sqrt(drawn), (north - south) * np.sqrt(drawn)
        left = np.clip(self.lon[rows] - width / 2, west, east - width)
        bottom = np.clip(self.lat[rows] - height / 2, south, north - height)
        edges = {"west": left, "south": bottom}
        edges |= {"east": np.minimum(left + width, east), "north": np.minimum(bottom + height, north)}
        return {name: pa.array(values) for name, values in edges.items()}

    def whole(self, n: int, value: int | tuple[int, int], name: str) -> pa.Array:
        """``n`` whole numbers: one value, or drawn evenly from a range."""
        least, most = _range(value if isinstance(value, tuple) else (value, value), name, 1)
        return pa.array(self.rng.integers(least, most + 1, n).astype(np.int32))


def _range(value: tuple[int, int], name: str, minimum: int) -> tuple[int, int]:
    least, most = value
    if not minimum <= least <= most:
        raise BadConfig(f"{name} is not a range", value=value, allowed=f"two numbers, {minimum} <= least <= most")
    return least, most


def _ids(kind: str, n: int) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(kind), pc.cast(pa.array(np.arange(n)), pa.string()), "-")


def _usable(posts: pa.Table) -> pa.Table:
    """Rows with coordinates in the world and a text."""
    missing = [name for name in ("lon", "lat", "text") if name not in posts.column_names]
    if missing:
        raise BadSource("posts lack columns", value=missing, allowed="lon, lat and text")
    posts = posts.select(["lon", "lat", "text"]).drop_null()
    inside = pc.and_(pc.less_equal(pc.abs(posts["lon"]), 180), pc.less_equal(pc.abs(posts["lat"]), 90))
    posts = posts.filter(inside)
    return posts.filter(pa.array(valid_utf8(posts["text"])))
