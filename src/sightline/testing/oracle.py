"""Snapshot queries by looking at every committed object."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from sightline.testing.oracle_geometry import distance_mm, inside
from sightline.testing.oracle_terms import Keywords, matches, terms

Row = dict[str, Any]
Query = dict[str, Any]

_UNITS = {
    "us": 1,
    "ms": 1000,
    "s": 10**6,
    "m": 60 * 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86_400 * 10**6,
    "w": 7 * 86_400 * 10**6,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def duration_us(value: str | int | timedelta) -> int:
    """Microseconds of ``"72h"``, ``"1h30min"``, a ``timedelta`` or a number of microseconds."""
    if isinstance(value, int):
        return value
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    parts = re.findall(r"([\d.]+)\s*([a-z]+)", value)
    return sum(int(Fraction(number) * _UNITS[unit]) for number, unit in parts)


def instant_us(value: str | int | datetime) -> int:
    """Microseconds since 1970 of an ISO string, a ``datetime`` (naive means UTC) or such a number itself."""
    if isinstance(value, int):
        return value
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def is_bad(row: Row, reject_after_us: int | None = None) -> bool:
    """Whether a source row belongs in the rejects table; ``id`` and ``text`` may be ``bytes``."""
    for name in ("id", "text"):
        value = row.get(name)
        if value is None:
            return True
        if isinstance(value, bytes):
            try:
                value.decode("utf-8")
            except UnicodeDecodeError:
                return True
    lon, lat, ts = row.get("lon"), row.get("lat"), row.get("ts_us")
    if lon is None or lat is None or ts is None or not (math.isfinite(lon) and math.isfinite(lat)):
        return True
    return abs(lat) > 90 or abs(lon) > 180 or (reject_after_us is not None and ts > reject_after_us)


def last_keys(row: Row) -> tuple[bytes, float, float, bytes]:
    """What every order ends with."""
    return row["id"].encode(), row["lon"], row["lat"], row["text"].encode()


def range_query(rows: Iterable[Row], keywords: Keywords, region: dict[str, Any], planar: bool = False) -> list[Row]:
    """SRQ: all rows that satisfy keywords and region, newest first."""
    found = [r for r in rows if matches(keywords, terms_of(r)) and inside(region, r["lon"], r["lat"], planar)]
    return sorted(found, key=lambda r: (-r["ts_us"], *last_keys(r)))


def nearest_query(
    rows: Iterable[Row], keywords: Keywords, at: tuple[float, float], k: int, planar: bool = False
) -> list[tuple[int, Row]]:
    """SKQ: the k nearest of the rows that satisfy the keywords, as (millimetres, row)."""
    found = [r for r in rows if matches(keywords, terms_of(r))]
    measured = [(distance_mm(*at, r["lon"], r["lat"], planar), r) for r in found]
    return sorted(measured, key=lambda pair: (pair[0], -pair[1]["ts_us"], *last_keys(pair[1])))[:k]


def top_terms(term_sets: Iterable[set[str]], k: int) -> list[tuple[str, int]]:
    """The k terms contained in most of the sets, ties by the bytes of the term."""
    counts = Counter(term for found in term_sets for term in found)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))[:k]


def top_terms_query(rows: Iterable[Row], region: dict[str, Any], k: int, planar: bool = False) -> list[tuple[str, int]]:
    """STQ: the k terms contained in most rows of the region."""
    return top_terms((terms_of(r) for r in rows if inside(region, r["lon"], r["lat"], planar)), k)


def terms_of(row: Row) -> set[str]:
    """Terms of a row, kept in the row under ``_terms`` once computed."""
    if "_terms" not in row:
        row["_terms"] = terms(row["text"])
    found: set[str] = row["_terms"]
    return found


class Oracle:
    """Committed rows and the answers to snapshot queries over them.

    A row is a dict with ``id``, ``lon``, ``lat``, ``ts_us`` and ``text``; more keys are payload. Rows are
    good ones: see :func:`is_bad` for the others.
    """

    def __init__(self, *, planar: bool = False) -> None:
        self.planar = planar
        self.rows: list[Row] = []
        self.high_us: int | None = None

    def commit(self, rows: Iterable[Row]) -> list[Row]:
        """Add one batch; returns the rows as kept (copies)."""
        kept = [dict(row) for row in rows]
        self.rows.extend(kept)
        stamps = [row["ts_us"] for row in kept]
        self.high_us = max(stamps + ([] if self.high_us is None else [self.high_us]), default=None)
        return kept

    def visible(self, query: Query) -> list[Row]:
        """Rows in the time a snapshot query asks for."""
        if query.get("between") is not None:
            first, last = (instant_us(value) for value in query["between"])
            return [row for row in self.rows if first <= row["ts_us"] <= last]
        as_of = self.high_us if query.get("as_of") is None else instant_us(query["as_of"])
        if as_of is None:
            return []
        seen = [row for row in self.rows if row["ts_us"] <= as_of]
        if query.get("last") is None:
            return seen
        return [row for row in seen if row["ts_us"] > as_of - duration_us(query["last"])]

    def range(self, query: Query) -> list[Row]:
        """Answer of a ``RangeQuery``: rows in order."""
        found = range_query(self.visible(query), query.get("keywords"), query["region"], self.planar)
        return found if query.get("limit") is None else found[: query["limit"]]

    def nearest(self, query: Query) -> list[tuple[int, Row]]:
        """Answer of a ``NearestQuery``: (distance in mm, row) in order."""
        lon, lat = query["at"]
        return nearest_query(self.visible(query), query.get("keywords"), (lon, lat), query["k"], self.planar)

    def top_terms(self, query: Query) -> list[tuple[str, int]]:
        """Answer of a ``TopTermsQuery``: (term, count) in order."""
        return top_terms_query(self.visible(query), query["region"], query["k"], self.planar)

    def search(self, query: Query) -> list[Any]:
        """Answer of any snapshot query, by its ``kind``."""
        kind = str(query["kind"])
        if kind == "range":
            return self.range(query)
        return self.nearest(query) if kind == "nearest" else self.top_terms(query)
