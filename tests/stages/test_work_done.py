"""What is opened, compiled and written: work, not only answers."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sightline as sl
from sightline.model.config import StoreConfig
from sightline.stages.batch import Batches
from sightline.stages.exchange.target import Target
from sightline.stages.registered.registry import Registry
from sightline.stages.results.results import Results
from sightline.stages.results.tables import write_table
from sightline.stages.upkeep.compact import MIN_FILES, Compaction
from sightline.store.entries import BatchCommit
from sightline.store.kinds import FileKind
from sightline.store.store import Store
from tests.stages.worlds import SECOND, Deployment

MOST_OPENS = 50


def row(i, text="flood boat", lon=0.0, lat=0.0):
    return {"id": f"o{i}", "lon": lon, "lat": lat, "ts_us": i * SECOND, "text": text}


@pytest.mark.parametrize("commits", [2_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_matches_after_thousands_of_commits_open_few_files(tmp_path, commits):
    store = Store.create(tmp_path / "store", StoreConfig(workers=2), durable=False)
    batches = Batches(store)
    Registry(store, batches.book).subscribe(sl.RangeQuery("x", sl.Box(0, 0, 1, 1)), "hot", None, None, False)
    compaction = Compaction(store, batches.book, batches.commit_lock)
    target = Target(store.path, False)
    for number in range(commits):
        found = pa.table({"object_id": [f"o{number}"], "ts": pa.array([number]).cast(pa.timestamp("us", tz="UTC")),
                          "lon": [0.0], "lat": [0.0], "text": ["x"]})  # fmt: skip
        table = write_table(
            target, FileKind.MATCHES, np.zeros(1, np.int64), pa.table({"object": pa.array([0], pa.int32())}), found
        )
        store.commits.append(BatchCommit(run="r", batch=number, add=(table,)), store.commits.snapshot().version)
        if number % MIN_FILES == 0:
            compaction.run()
    opened: list[str] = []
    store = Store.open(tmp_path / "store", durable=False)
    matches = Results(store, batches.book, opened.append).matches("hot", [0])
    assert matches["object_id"].to_pylist() == [f"o{number}" for number in range(commits)]
    assert len(set(matches["batch"].to_pylist())) == commits
    assert 1 < len(opened) <= MOST_OPENS


def test_files_that_cannot_hold_a_subscription_are_not_opened(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    for word in ("flood", "boat"):
        deployment.registry.subscribe(sl.RangeQuery(word, sl.Box(-180, -90, 180, 90)), word, None, None, False)
    for i in range(8):
        deployment.feed([row(i, "flood" if i else "boat")])
    opened: list[str] = []
    results = Results(deployment.store, deployment.batches.book, opened.append)
    assert results.matches("boat", [1]).num_rows == 1
    assert len(opened) == 1
    assert results.matches("flood", [0], since_batch=6).num_rows == 3
    assert len(opened) == 4


def test_search_prunes_by_time_place_and_terms(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    for i in range(4):
        deployment.feed([row(100 * i + j, f"word{i}", lon=10.0 * i) for j in range(5)])
    everywhere = sl.Box(-180, -90, 180, 90)

    def why(query):
        segments = deployment.searcher.answer(query)[1].segments
        return [segment.get("pruned", "searched") for segment in segments]

    assert why(sl.RangeQuery("word2", everywhere)) == ["terms", "terms", "searched", "terms"]
    assert why(sl.RangeQuery("", sl.Box(9, -1, 11, 1))) == ["place", "searched", "place", "place"]
    assert why(sl.RangeQuery("", everywhere, last=timedelta(seconds=50))) == ["time", "time", "time", "searched"]
    assert why(sl.NearestQuery("word0", (20, 0), 1)) == ["searched", "terms", "terms", "terms"]


def test_a_batch_that_changes_nothing_compiles_nothing(tmp_path):
    deployment = Deployment(tmp_path / "store")
    deployment.registry.subscribe(sl.RangeQuery("flood", sl.Box(-1, -1, 1, 1)), "a", None, None, False)

    def compiled():
        return sorted((tmp_path / "store" / "data" / "compiled").iterdir())

    deployment.feed([row(0)])
    base = compiled()
    deployment.feed([row(1)])
    assert compiled() == base
    deployment.registry.subscribe(sl.RangeQuery("boat", sl.Box(-1, -1, 1, 1)), "b", None, None, False)
    deployment.feed([row(2)])
    assert set(base) < set(compiled())  # a delta beside the base
    deployment.registry.unsubscribe(["a", "b"])
    deployment.feed([row(3)])
    for id_, found in (("a", 3), ("b", 1)):
        assert deployment.results.matches(id_, deployment.batches.book.numbers(id_)).num_rows == found


def test_nearest_radius_feedback_sends_few_candidates(tmp_path):
    """Once k are held, an object that is farther than the k-th is not sent on."""
    deployment = Deployment(tmp_path / "store", workers=1)
    deployment.registry.subscribe(sl.NearestQuery("flood", (0, 0), 2), "near", None, None, False)
    deployment.feed([row(i, lon=0.001 * i) for i in range(2)])
    deployment.feed([row(10 + i, lon=1.0 + i) for i in range(20)])
    assert len(deployment.store.commits.snapshot().entries("nearest")) == 1  # the second batch changed nothing
    assert deployment.results.nearest(0)["object_id"].to_pylist() == ["o0", "o1"]


@pytest.mark.parametrize("partitioner", ["grid", "broadcast"])
def test_rebalancing_is_an_epoch_and_changes_no_answer(tmp_path, partitioner):
    deployment = Deployment(tmp_path / "store", partitioner=partitioner, workers=2)
    deployment.registry.subscribe(sl.RangeQuery("flood", sl.Box(-180, -90, 180, 90)), "all", None, None, False)
    deployment.feed([row(i, lon=20.0 * (i % 5)) for i in range(10)])
    deployment.registry.rebalance()
    deployment.feed([row(10 + i, lon=20.0 * (i % 5)) for i in range(10)])
    epochs = deployment.store.commits.snapshot().epochs
    assert [epoch.why for epoch in epochs] == ["opened", "rebalance"]
    deployment.feed([row(20)])
    assert len(deployment.store.commits.snapshot().epochs) == 2  # a request is served once
    assert deployment.results.matches("all", [0]).num_rows == 21


@pytest.mark.slow
def test_warming_compiles_everything_a_pipeline_needs(tmp_path):
    """In a fresh cache: after `warm`, other processes load kernels and compile none; they cannot race for it."""
    env = {**os.environ, "SIGHTLINE_CACHE_DIR": str(tmp_path / "cache")}
    env.pop("NUMBA_CACHE_DIR", None)

    def kernels():
        return {path.name for path in (tmp_path / "cache").rglob("*.nbc")}

    code = "from sightline.stages.warm import warm; assert warm() and warm('broadcast levels balls postings'.split())"
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    warmed = kernels()
    assert len(warmed) > 20
    code = "import sys; sys.path.insert(0, sys.argv[1]); from tests.stages.busy import run; run(sys.argv[2])"
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, str(root), str(tmp_path / "busy")], env=env, check=True)
    assert kernels() == warmed
