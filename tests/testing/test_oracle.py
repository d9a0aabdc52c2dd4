"""Snapshot answers of the oracle on a few rows."""

from datetime import UTC, datetime, timedelta

import pytest

from sightline.testing import Oracle, Row, is_bad
from sightline.testing.oracle import duration_us, instant_us

WORLD = {"box": [-180, -90, 180, 90]}


def row(id: str, ts: int, text: str = "x", lon: float = 0.0, lat: float = 0.0) -> Row:
    return {"id": id, "lon": lon, "lat": lat, "ts_us": ts, "text": text}


def ids(rows: list[Row]) -> list[str]:
    return [r["id"] for r in rows]


@pytest.fixture
def oracle() -> Oracle:
    oracle = Oracle()
    oracle.commit([row("b", 10), row("a", 10), row("c", 30, "x y", 1)])
    oracle.commit([row("d", 20, "y z z", 2), row("e", 5, "#y", 3)])
    return oracle


def test_range_is_newest_first_then_by_id(oracle: Oracle) -> None:
    query = {"kind": "range", "keywords": "", "region": WORLD}
    assert ids(oracle.search(query)) == ["c", "d", "a", "b", "e"]
    assert ids(oracle.search({**query, "limit": 2})) == ["c", "d"]
    assert ids(oracle.search({**query, "keywords": "y"})) == ["c", "d", "e"]
    assert ids(oracle.search({**query, "region": {"box": [0, 0, 1, 0]}})) == ["c", "a", "b"]


def test_time_is_half_open_with_last_and_closed_between(oracle: Oracle) -> None:
    query = {"kind": "range", "keywords": "", "region": WORLD}
    assert ids(oracle.search({**query, "last": "20us"})) == ["c", "d"]  # 10 < ts <= 30
    assert ids(oracle.search({**query, "as_of": "1970-01-01T00:00:00.000020Z", "last": 15})) == ["d", "a", "b"]
    assert ids(oracle.search({**query, "between": [5, 10]})) == ["a", "b", "e"]
    assert Oracle().search(query) == []


def test_nearest_filters_first_and_prefers_newer(oracle: Oracle) -> None:
    query = {"kind": "nearest", "keywords": "y", "at": [2, 0], "k": 2}
    found = oracle.search(query)
    assert [(r["id"], d > 0) for d, r in found] == [("d", False), ("c", True)]  # c and e are as far: c is newer
    assert len(oracle.search({**query, "k": 9})) == 3


def test_top_terms_count_objects_once_and_break_ties_by_term(oracle: Oracle) -> None:
    query = {"kind": "top_terms", "region": WORLD, "k": 3}
    assert oracle.search(query) == [("x", 3), ("y", 3), ("#y", 1)]
    assert oracle.search({**query, "k": 9})[-1] == ("z", 1)


def test_strings_sort_by_their_bytes() -> None:
    oracle = Oracle()
    oracle.commit([row("é", 1), row("z", 1), row("Z", 1), row("\U0001f600", 1), row("\uffee", 1)])
    found = oracle.search({"kind": "range", "keywords": "", "region": WORLD})
    assert ids(found) == ["Z", "z", "é", "\uffee", "\U0001f600"]


@pytest.mark.parametrize(
    "change",
    [{"lon": None}, {"lat": float("nan")}, {"lat": float("inf")}, {"lat": 90.5}, {"lon": -180.1}, {"ts_us": None},
     {"id": None}, {"text": None}, {"text": b"\xff"}, {"id": b"\xc3("}, {"ts_us": 101}],
)  # fmt: skip
def test_bad_rows(change: dict[str, object]) -> None:
    assert not is_bad(row("a", 100), 100)
    assert is_bad({**row("a", 100), **change}, 100)


def test_durations_and_instants() -> None:
    assert duration_us("1h30min") == 5_400_000_000
    assert duration_us("1.5ms") == 1500
    assert duration_us(timedelta(days=2)) == duration_us("2d") == 172_800_000_000
    assert instant_us("1970-01-01T01:00:00+01:00") == 0
    assert instant_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1_000_000
