"""Nearest subscriptions in the stages: what is sent on, what is read, and what may shrink a radius."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

import sightline as sl
from sightline.stages.flow import merge, nearest
from tests.stages.worlds import SECOND, Deployment


def row(i, lon, text="flood", second=None):
    return {"id": f"o{i}", "lon": lon, "lat": 0.0, "ts_us": (i if second is None else second) * SECOND, "text": text}


@pytest.fixture
def sent(monkeypatch):
    """Candidates that reach each merge."""
    seen: list[int] = []
    whole = nearest.merge_nearest

    def spy(candidates, job):
        seen.append(candidates.num_rows)
        return whole(candidates, job)

    monkeypatch.setattr(merge, "merge_nearest", spy)
    return seen


def test_a_cold_batch_sends_little_more_than_k(tmp_path, sent):
    """Radii shrink from packet to packet and object to object, so that few of 400 matches are sent on."""
    deployment = Deployment(tmp_path / "store", workers=1)
    deployment.registry.subscribe(sl.NearestQuery("flood", (0, 0), 2), "near", None, None, False)
    deployment.feed([row(i, 0.01 * ((7 * i) % 400)) for i in range(400)])
    assert deployment.results.nearest(0)["object_id"].to_pylist() == ["o0", "o343"]
    assert 2 <= sum(sent) <= 40


def test_what_does_not_count_shrinks_nothing(tmp_path):
    """Objects outside the lifetime, and of a closed subscription, are nearer than all that count."""
    deployment = Deployment(tmp_path / "store", workers=1)
    deployment.feed([row(0, 50.0, "calm")])
    deployment.registry.subscribe(sl.NearestQuery("flood", (0, 0), 1), "short", None, timedelta(seconds=10), False)
    deployment.feed([row(1, 0.0, second=30), row(2, 0.0, second=-1), row(3, 3.0, second=5), row(4, 2.0, second=9)])
    assert deployment.results.nearest(0)["object_id"].to_pylist() == ["o4"]
    deployment.feed([row(5, 0.0, second=6), row(6, 90.0, second=7), row(7, 0.0, second=40)])
    assert deployment.results.nearest(0)["object_id"].to_pylist() == ["o4"]
    assert deployment.store.commits.snapshot().counters["late"] == 2


def test_a_dropped_subscription_is_not_looked_for(tmp_path, sent):
    deployment = Deployment(tmp_path / "store", workers=1)
    for id_ in ("a", "b"):
        deployment.registry.subscribe(sl.NearestQuery("flood", (0, 0), 1), id_, None, None, False)
    deployment.feed([row(0, 5.0)])
    deployment.registry.unsubscribe(["a"])
    deployment.feed([row(1, 1.0)])
    assert sent[-1] == 1
    assert deployment.results.nearest(1)["object_id"].to_pylist() == ["o1"]


def test_a_batch_reads_only_the_state_that_is_new_and_the_rows_that_change(tmp_path, monkeypatch):
    deployment = Deployment(tmp_path / "store", workers=1)
    for i in range(40):
        deployment.registry.subscribe(sl.NearestQuery("flood", (float(i), 0), 3), f"s{i}", None, None, False)
    added: list[object] = []
    held: list[int] = []
    add, stored = nearest.Radii._add, nearest._stored

    def spy_add(radii, state):
        added.append(state)
        add(radii, state)

    def spy_stored(nums, job):
        found = stored(nums, job)
        held.append(found.num_rows)
        assert set(found["num"].to_pylist()) <= set(nums.tolist())
        return found

    monkeypatch.setattr(nearest.Radii, "_add", spy_add)
    monkeypatch.setattr(nearest, "_stored", spy_stored)
    told: set[str] = set()  # files named before some batch: each is read once, whatever was merged in between
    for batch in range(6):
        told |= {entry.name for entry in deployment.store.commits.snapshot().entries("nearest")}
        deployment.feed([row(10 * batch + j, 40.0 / (batch + 1) * j / 9) for j in range(10)])
    assert len(added) == len(told) == 5
    assert deployment.merge()
    told |= {entry.name for entry in deployment.store.commits.snapshot().entries("nearest")}
    deployment.feed([row(90, 7.0)])
    assert len(added) == len(told)
    assert held[-1] < 40 * 3
    assert deployment.results.nearest(7)["object_id"].to_pylist()[0] == "o90"


def test_many_ties_come_in_the_order_of_the_semantics(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=2)
    deployment.registry.subscribe(sl.NearestQuery("flood", (0, 0), 5), "near", None, None, False)
    rng = np.random.default_rng(1)
    deployment.feed([{**row(int(i), 1.0, second=int(i) % 3), "id": f"{i:02}"} for i in rng.permutation(30)])
    assert deployment.results.nearest(0)["object_id"].to_pylist() == ["02", "05", "08", "11", "14"]
    deployment.feed([{**row(0, 1.0, second=2), "id": "03"}, {**row(0, 1.0, second=2), "id": "02"}])
    assert deployment.results.nearest(0)["object_id"].to_pylist() == ["02", "02", "03", "05", "08"]
