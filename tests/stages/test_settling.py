"""Partitioners that place subscriptions by load: nobody is missed, however subscriptions come and go after the fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import sightline as sl
from sightline.stages.routing import epochs, leaves
from sightline.store.entries import EpochCause
from sightline.testing import StandingOracle
from tests.stages.worlds import SECOND, Deployment, Registered, check_standing

PLACED_BY_LOAD = ["dkm-sks", "kop", "sop"]
WORLD = sl.Box(-180, -90, 180, 90)


@pytest.mark.parametrize("partitioner", PLACED_BY_LOAD)
def test_everyone_is_answered(partitioner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every subscription waits for a word of its own: an object that is not sent to its worker is a row too few.

    Kinds are compiled apart, nearest ones again and again with those that came before, and the summary of awaited
    words once more: all must speak of the same workers.
    """
    monkeypatch.setattr(epochs, "FIT_OBJECTS", 1)
    deployment = Deployment(tmp_path / "store", partitioner=partitioner, workers=3)
    oracle = StandingOracle(lateness_us=0)
    known: dict[str, Registered] = {}
    for number in range(5):
        for i in range(6 * number, 6 * number + 6):
            word = f"w{i}"
            query = sl.RangeQuery(word, WORLD) if i % 3 else sl.NearestQuery(word, (i, i), 2)
            deployment.registry.subscribe(query, word, None, None, False)
            oracle.subscribe(word, query.to_dict(), ttl_us=None)
            known[word] = Registered(query, number, None, None)
        if number > 1:
            gone = [f"w{6 * number - 12}", f"w{6 * number - 7}"]
            deployment.registry.unsubscribe(gone)
            for word in gone:
                oracle.unsubscribe(word)
        batch = [
            {"id": f"{number} {i}", "lon": 5.0 * i, "lat": 1.0, "ts_us": (100 * number + i) * SECOND, "text": f"w{i}"}
            for i in range(30)
        ]
        oracle.feed(batch, batch=deployment.feed(batch))
    assert deployment.store.commits.snapshot().epochs[-1].why == EpochCause.FITTED
    check_standing(deployment, oracle, known)


@pytest.mark.parametrize("partitioner", PLACED_BY_LOAD)
def test_what_is_shown_is_how_it_stands(partitioner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New subscriptions are shown where the pipeline put them; the next would stand with the least load."""
    monkeypatch.setattr(epochs, "FIT_OBJECTS", 1)
    deployment = Deployment(tmp_path / "store", partitioner=partitioner, workers=2)
    rows = [{"id": str(i), "lon": 5.0 * i, "lat": 1.0, "ts_us": i * SECOND, "text": "flood"} for i in range(8)]
    deployment.feed(rows)
    deployment.feed(rows)
    query = sl.RangeQuery("flood", WORLD)
    for i in range(5):
        (home,) = leaves.routes_of(query, deployment.store, deployment.batches.book)["routes"]["stands"]
        assert home == i % 2
        deployment.registry.subscribe(query, f"s{i}", None, None, False)
    table, said = leaves.leaf_rows(deployment.store, deployment.batches.book)
    assert [worker["subscriptions"] for worker in said["workers"]] == [3, 2]
    assert table["subscriptions"].to_pylist() == [3, 2]
    shown = leaves.routes_of(query, deployment.store, deployment.batches.book)["routes"]
    assert (shown["workers"], shown["total"], shown["stands"]) == ([0, 1], 2, [1])
