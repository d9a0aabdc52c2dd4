"""Calls that read results: by id or subscription, of the right kind, since a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.refusal import ROWS, WORLD
from tests.stages.worlds import Deployment

import sightline as sl


@pytest.mark.parametrize(
    ("call", "id_", "right"),
    [
        ("matches", "nearest", r"nearest\(id\) or nearest_events\(id\)"),
        ("matches", "top", r"reports\(id\)"),
        ("nearest", "range", r"matches\(id\)"),
        ("nearest_events", "top", r"reports\(id\)"),
        ("reports", "range", r"matches\(id\)"),
    ],
)
def test_a_call_for_another_kind_names_the_right_one(engine: sl.Engine, call: str, id_: str, right: str) -> None:
    read: Callable[[str], sl.Result] = getattr(engine, call)
    with pytest.raises(sl.UnknownSubscription, match=right):
        read(id_)
    with pytest.raises(sl.UnknownSubscription, match="no subscription has this id"):
        read("nobody")


def test_rows_from_before_a_replacement_stay_readable(engine: sl.Engine, deployment: Deployment) -> None:
    before = {call: getattr(engine, call)(id_).to_pylist() for call, id_ in CALLS.items()}
    assert all(before.values())
    engine.subscribe(sl.TopTermsQuery(WORLD, 3, window="4s", every="2s"), id="range", replace=True)
    engine.subscribe(sl.RangeQuery("boat", WORLD), id="nearest", replace=True)
    engine.subscribe(sl.NearestQuery("boat", (0, 0), 3), id="top", replace=True)
    assert {call: getattr(engine, call)(id_).to_pylist() for call, id_ in CALLS.items()} == before
    deployment.batches.book.refresh()
    deployment.feed(ROWS)
    assert engine.matches("nearest").num_rows > 0
    assert engine.matches("range").to_pylist() == before["matches"], "it asks for something else now"


CALLS = {"matches": "range", "nearest": "nearest", "nearest_events": "nearest", "reports": "top"}


@pytest.mark.parametrize("call", CALLS)
def test_a_subscription_is_accepted_for_its_id(engine: sl.Engine, deployment: Deployment, call: str) -> None:
    book = deployment.batches.book
    subscription = book.subscription(book.numbers(CALLS[call])[0])
    read = getattr(engine, call)
    assert read(subscription).to_pylist() == read(CALLS[call]).to_pylist() != []


def test_subscriptions_are_dropped_by_themselves_or_their_ids(engine: sl.Engine) -> None:
    one = engine.subscribe(sl.RangeQuery("boat", WORLD))
    two = engine.subscribe(sl.RangeQuery("calm", WORLD))
    engine.unsubscribe(one)
    engine.unsubscribe([two, "range"])
    assert set(engine.subscriptions()["id"].to_pylist()) == {"nearest", "top"}


@pytest.mark.parametrize("call", ["matches", "nearest_events", "reports"])
def test_only_what_came_since_a_batch(engine: sl.Engine, deployment: Deployment, call: str) -> None:
    read, id_ = getattr(engine, call), CALLS[call]
    first, seen = read(id_).to_pylist(), engine.version
    assert read(id_, since_batch=seen).num_rows == 0
    later = [{**row, "ts_us": row["ts_us"] + 60_000_000, "lon": row["lon"] / 2} for row in ROWS]
    deployment.feed(later)
    assert engine.version == seen + 1
    fresh = read(id_, since_batch=seen).to_pylist()
    assert fresh != []
    assert sorted(map(repr, first + fresh)) == sorted(map(repr, read(id_).to_pylist()))


def test_ids_and_keywords_that_no_file_can_hold_are_refused(engine: sl.Engine) -> None:
    before = engine.subscriptions().to_pylist()
    query = sl.RangeQuery("boat", WORLD)
    for refused in (
        lambda: engine.subscribe(query, id="x\ud800"),
        lambda: engine.unsubscribe("x\ud800"),
        lambda: engine.subscribe(sl.RangeQuery("boat\ud800", WORLD)),
        lambda: engine.subscribe_many([query, sl.NearestQuery("boat\udfff", (0, 0), 3)]),
    ):
        with pytest.raises(sl.BadQuery, match=r"is not valid Unicode.*no lone surrogates"):
            refused()
    assert engine.subscriptions().to_pylist() == before


def test_matches_of_all_subscriptions_at_once(engine: sl.Engine, deployment: Deployment) -> None:
    engine.subscribe(sl.RangeQuery("boat", WORLD), id="boats")
    before = engine.version
    deployment.feed(ROWS)
    every = engine.matches()
    alone = [row for id_ in ("boats", "range") for row in engine.matches(id_)]
    assert sorted(map(str, every)) == sorted(map(str, alone))
    assert {row["subscription_id"] for row in every} == {"boats", "range"}
    assert every["batch"].to_pylist() == sorted(every["batch"].to_pylist())
    assert list(engine.matches(limit=3)) == list(every)[:3]
    assert list(engine.matches(since_batch=before)) == [row for row in every if row["batch"] > before] != []
    for limit in (0, "x", True):
        with pytest.raises(sl.BadQuery, match="limit"):
            engine.matches(limit=limit)  # type: ignore[arg-type]


def test_matches_of_all_where_nobody_asks(tmp_path: Path) -> None:
    with sl.open(tmp_path / "store") as engine:
        assert engine.matches().num_rows == 0
        assert "subscription_id" in engine.matches().column_names
