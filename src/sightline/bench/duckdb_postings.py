"""What a user would write in SQL for searches: posting tables in DuckDB.

``postings`` has one row per post and word, sorted by word and then along the curve, so that DuckDB's zone maps skip
what another word or, for long lists, another place has. ``exploded`` has the same rows along the curve only, for
counting the words of a region; ``posts`` has one row per post with its words as a list. One thread, prepared
statements, rows fetched as NumPy arrays. Words and rows are numbers of the segment, so no string is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.bench.extras import extra
from sightline.bench.flat_queries import MAX_WORDS
from sightline.bench.timing import seconds
from sightline.flat.arrays import F64, I64
from sightline.geo.bounds import pieces
from sightline.geo.distance import distance_mm
from sightline.index.protocol import ObjectColumns
from sightline.model.regions import Circle
from sightline.model.space import Space

__all__ = ["DuckdbPostings", "DuckdbWords"]

SHORT_LIST = 20_000  # postings that are fetched whole: a window would cost another statement
FIRST_RADIUS_M, GROWTH, LAST_RADIUS_M = 20_000.0, 8.0, 5_000_000.0


class DuckdbPostings:
    """Range and nearest queries over the rows of a segment."""

    def __init__(self, objects: ObjectColumns) -> None:
        terms = objects.terms
        row = np.repeat(np.arange(len(objects), dtype=np.int32), np.diff(terms.offsets))
        by_word = np.argsort(terms.ids, kind="stable")
        row = row[by_word]
        self._lengths = np.bincount(terms.ids, minlength=len(terms.dictionary))
        self._db = _database()
        columns = {"word": terms.ids[by_word], "o": row, "lon": objects.lon[row], "lat": objects.lat[row]}
        _load(self._db, "postings", pa.table(columns))
        for count in range(1, MAX_WORDS + 1):
            self._db.execute(f"PREPARE rows{count} AS {_inside(count, ('o',))}")
            self._db.execute(f"PREPARE inside{count} AS {_inside(count, ('o', 'lon', 'lat'))}")
            self._db.execute(f"PREPARE anywhere{count} AS {_anywhere(count)}")

    def range(self, words: Sequence[int], box: Sequence[float] | F64) -> npt.NDArray[np.int32]:
        """Rows in a box that have all words, in no order.

        A table with the ids themselves, fetched as Arrow, is not faster than rows and a look-up of their ids.
        """
        found: npt.NDArray[np.int32] = self._fetch("rows", [*map(float, box), *self._rarest_first(words)])["o"]
        return found

    def nearest(self, words: Sequence[int], at: tuple[float, float], k: int, space: Space) -> tuple[I64, I64]:
        """The k nearest rows with all words, and ties, by a window that grows until it holds them.

        Distances are computed by the product's own kernel, so that answers can be compared exactly.
        """
        words = self._rarest_first(words)
        radius = FIRST_RADIUS_M
        if self._lengths[words[0]] > SHORT_LIST:
            while radius <= LAST_RADIUS_M:
                boxes = pieces(Circle(*at, radius), space)
                parts = [self._fetch("inside", [*map(float, box), *words]) for box in boxes]
                rows, distance = _measured(parts, at, space)
                if np.count_nonzero(distance <= radius * 1000) >= k:
                    return _nearest_first(rows, distance, k)
                radius *= GROWTH
        rows, distance = _measured([self._fetch("anywhere", words)], at, space)
        return _nearest_first(rows, distance, k)

    def close(self) -> None:
        """Free the memory."""
        self._db.close()

    def _rarest_first(self, words: Sequence[int]) -> list[int]:
        return sorted(map(int, words), key=lambda word: int(self._lengths[word]))

    def _fetch(self, statement: str, values: Sequence[float]) -> dict[str, Any]:
        count = len(values) if statement == "anywhere" else len(values) - 4
        found: dict[str, Any] = self._db.execute(
            f"EXECUTE {statement}{count}({', '.join(map(repr, values))})"
        ).fetchnumpy()
        return found


class DuckdbWords:
    """The most frequent words of a region, over the rows of a segment; equal counts by the bytes of the word."""

    def __init__(self, objects: ObjectColumns) -> None:
        terms = objects.terms
        self._strings = np.array(terms.dictionary.strings().to_pylist(), object)
        self._by_bytes = np.argsort(np.array([text.encode() for text in self._strings], object), kind="stable")
        rank = np.empty(self._by_bytes.size, np.int32)
        rank[self._by_bytes] = np.arange(rank.size, dtype=np.int32)
        words = rank[terms.ids]
        row = np.repeat(np.arange(len(objects)), np.diff(terms.offsets))
        self._db = _database()
        _load(self._db, "exploded", pa.table({"word": words, "lon": objects.lon[row], "lat": objects.lat[row]}))
        lists = pa.ListArray.from_arrays(pa.array(terms.offsets.astype(np.int32)), pa.array(words))
        _load(self._db, "posts", pa.table({"lon": objects.lon, "lat": objects.lat, "words": lists}))
        inside = "WHERE lon BETWEEN $1 AND $3 AND lat BETWEEN $2 AND $4"
        best = "GROUP BY word ORDER BY c DESC, word LIMIT $5"
        self._db.execute(f"PREPARE rows AS SELECT word, count(*) AS c FROM exploded {inside} {best}")
        listed = f"(SELECT unnest(words) AS word FROM posts {inside})"
        self._db.execute(f"PREPARE lists AS SELECT word, count(*) AS c FROM {listed} {best}")
        self.statement = "rows"

    def tune(self, boxes: Sequence[Sequence[float]]) -> None:
        """Keep the faster of the two tables for these regions."""
        taken = {}
        for name in ("rows", "lists"):
            self.statement = name
            taken[name] = sum(min(seconds(lambda b=box: self.top(b, 10)) for _ in range(2)) for box in boxes)  # type: ignore[misc]
        self.statement = min(taken, key=lambda name: taken[name])

    def top(self, box: Sequence[float], k: int) -> list[tuple[str, int]]:
        """Words and the number of posts that have them."""
        values = ", ".join(map(repr, [*map(float, box), k]))
        found = self._db.execute(f"EXECUTE {self.statement}({values})").fetchnumpy()
        words = self._strings[self._by_bytes[found["word"]]]
        return list(zip(words.tolist(), found["c"].tolist(), strict=True))

    def close(self) -> None:
        """Free the memory."""
        self._db.close()


def _inside(count: int, columns: Sequence[str]) -> str:
    """All words and the box: the posting lists joined, each cut to the box first."""
    wanted = [
        f"p{i}.word = ${5 + i} AND p{i}.lon BETWEEN $1 AND $3 AND p{i}.lat BETWEEN $2 AND $4" for i in range(count)
    ]
    return _joined(count, wanted, columns)


def _anywhere(count: int) -> str:
    return _joined(count, [f"p{i}.word = ${1 + i}" for i in range(count)], ("o", "lon", "lat"))


def _joined(count: int, wanted: list[str], columns: Sequence[str]) -> str:
    joins = " ".join(f"JOIN postings p{i} ON p0.o = p{i}.o" for i in range(1, count))
    selected = ", ".join(f"p0.{name} AS {name}" for name in columns)
    return f"SELECT {selected} FROM postings p0 {joins} WHERE {' AND '.join(wanted)}"


def _measured(parts: Sequence[dict[str, Any]], at: tuple[float, float], space: Space) -> tuple[I64, I64]:
    rows: I64 = np.concatenate([part["o"] for part in parts]).astype(np.int64)
    lon: F64 = np.concatenate([part["lon"] for part in parts])
    lat: F64 = np.concatenate([part["lat"] for part in parts])
    rows, first = np.unique(rows, return_index=True)  # two boxes may share an edge
    return rows, distance_mm(space, *at, lon[first], lat[first])


def _nearest_first(rows: I64, distance: I64, k: int) -> tuple[I64, I64]:
    """The k nearest and every tie at the k-th distance, by distance, then row."""
    if rows.size > k:
        near = distance <= np.partition(distance, k - 1)[k - 1]
        rows, distance = rows[near], distance[near]
    order = np.lexsort((rows, distance))
    return rows[order], distance[order]


def _database() -> Any:
    return extra("duckdb").connect(config={"threads": 1})


def _load(db: Any, name: str, table: pa.Table) -> None:
    db.register("arrow_rows", table)
    db.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_rows")
    db.unregister("arrow_rows")
