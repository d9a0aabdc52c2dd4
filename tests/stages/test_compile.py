"""Base, delta and background merge: what is built, when, and that no timing changes an answer."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.index.registry import STANDING_INDEXES
from sightline.index.standing.gi2 import Gi2Index
from sightline.model.config import Indexes
from sightline.stages.exchange.job import Job
from sightline.stages.registered import compile as compiling
from sightline.stages.registered.standing import LayerKind, Lifetimes, open_compiled
from sightline.stages.upkeep.maintain import Maintenance
from sightline.testing import StandingOracle
from tests.stages import worlds
from tests.stages.worlds import SECOND, Deployment, check_standing

EVERYWHERE = sl.Box(-180, -90, 180, 90)


def row(i, text="flood boat", lon=0.0, lat=0.0):
    return {"id": f"o{i}", "lon": lon, "lat": lat, "ts_us": i * SECOND, "text": text}


class Counted(Gi2Index):
    """GI2 that counts its builds and can be held up."""

    builds: ClassVar[list[tuple[str, int]]] = []
    go = threading.Event()
    failure: ClassVar[Exception | None] = None

    @classmethod
    def build(cls, block, space, frequency=None):
        background = threading.current_thread().name == "sightline-merge"
        cls.builds.append(("merge" if background else "plan", len(block)))
        if background:
            assert cls.go.wait(60)
            if cls.failure is not None:
                raise cls.failure
        return super().build(block, space, frequency)


@pytest.fixture
def counted():
    """A deployment's range index is counted; merges wait for ``go``; a delta of four outgrows any base."""
    Counted.builds, Counted.failure = [], None
    Counted.go.set()
    with (
        patch.dict(STANDING_INDEXES, counted=Counted),
        patch.object(compiling, "MIN_DELTA", 4),
        patch.object(compiling, "DELTA_SHARE", 1000),
    ):
        yield Counted
        Counted.go.set()


@contextmanager
def deployed(folder, **how):
    """A deployment that is closed at the end, so that no thread writes into a folder that goes away."""
    deployment = Deployment(folder / "store", indexes=Indexes(range="counted"), workers=2, **how)
    try:
        yield deployment
    finally:
        deployment.batches.compiler.close()


def subscribe(deployment, id_, words="flood", region=EVERYWHERE):
    deployment.registry.subscribe(sl.RangeQuery(words, region), id_, None, None, False)


def subscribe_first(deployment, n):
    """So many, and a batch that compiles them."""
    for i in range(n):
        subscribe(deployment, f"s{i}")
    deployment.feed([row(0)])


def matches(deployment, id_):
    book = deployment.batches.book
    book.refresh()
    return deployment.results.matches(id_, book.numbers(id_))["object_id"].to_pylist()


def files(deployment):
    return {path.name for path in (deployment.folder / "data" / "compiled").iterdir()}


def test_an_insertion_builds_no_base(tmp_path, counted):
    with deployed(tmp_path) as deployment, patch.object(compiling, "MIN_DELTA", 1000):
        subscribe(deployment, "first")
        deployment.feed([row(0)])
        built = list(counted.builds)
        assert built == [("plan", 1)] * 2  # one base, two workers
        for i in range(20):
            subscribe(deployment, f"s{i}")
            deployment.feed([row(1 + i)])
        assert counted.builds == built
        for i in range(20):
            assert matches(deployment, f"s{i}") == [f"o{j}" for j in range(1 + i, 21)]
        assert len(matches(deployment, "first")) == 21


def test_only_deltas_of_workers_that_got_something_are_written(tmp_path, counted):
    with deployed(tmp_path) as deployment, patch.object(compiling, "MIN_DELTA", 1000):
        subscribe(deployment, "everywhere")
        deployment.feed([row(0)])
        base = files(deployment)
        subscribe(deployment, "both")
        deployment.feed([row(1)])
        both = files(deployment)
        assert len(both - base) == 2
        subscribe(deployment, "one place", region=sl.Box(0.1, 0.1, 0.2, 0.2))
        deployment.feed([row(2, lon=0.15, lat=0.15)])
        after = files(deployment)
        assert base < after
        assert (len(after), len(after - both)) == (4, 1)  # the other worker's delta stays
        deployment.registry.unsubscribe(["one place"])
        deployment.feed([row(3, lon=0.15, lat=0.15)])
        assert files(deployment) >= after  # a drop writes the list of drops and nothing else
        assert len(files(deployment) - after) == 1
        assert matches(deployment, "one place") == ["o2"]


def test_batches_go_on_while_a_base_is_merged(tmp_path, counted):
    with deployed(tmp_path) as deployment:
        subscribe(deployment, "a")
        deployment.feed([row(0)])
        for i in range(3):
            subscribe(deployment, f"b{i}")
        deployment.feed([row(0, text="")])
        counted.go.clear()
        for i in range(3, 5):
            subscribe(deployment, f"b{i}")
        deployment.feed([row(1)])  # begins the merge, which waits
        old = files(deployment)
        subscribe(deployment, "c")
        deployment.registry.unsubscribe(["a", "b0"])
        deployment.feed([row(2)])
        deployment.feed([row(3)])
        merging = [size for where, size in counted.builds if where == "merge"]
        assert len(merging) <= 1  # one at a time, and it is not through its first worker
        assert [where for where, _ in counted.builds].count("plan") == 2
        counted.go.set()
        deployment.batches.compiler.close()
        assert [entry for entry in counted.builds if entry[0] == "merge"] == [("merge", 6)] * 2
        deployment.feed([row(4)])  # nothing new was registered, but the new base is ready
        assert not old & files(deployment)
        deployment.feed([row(5)])
        assert matches(deployment, "a") == ["o0", "o1"]
        assert matches(deployment, "b0") == ["o1"]
        assert matches(deployment, "b4") == ["o1", "o2", "o3", "o4", "o5"]
        assert matches(deployment, "c") == ["o2", "o3", "o4", "o5"]


def test_ending_a_run_waits_for_the_merge(tmp_path, counted):
    with deployed(tmp_path) as deployment:
        subscribe_first(deployment, 5)
        counted.go.clear()
        deployment.registry.unsubscribe([f"s{i}" for i in range(5)])
        subscribe(deployment, "last")
        deployment.feed([row(1)])
        ending = threading.Thread(target=Maintenance(deployment.batches).stop)
        ending.start()
        ending.join(0.2)
        assert ending.is_alive()
        counted.go.set()
        ending.join()
        assert ("merge", 1) in counted.builds


def test_drops_alone_start_a_merge(tmp_path, counted):
    with deployed(tmp_path) as deployment:
        subscribe_first(deployment, 8)
        counted.builds.clear()
        deployment.registry.unsubscribe([f"s{i}" for i in range(6)])
        deployment.feed([row(1)])
        deployment.batches.compiler.close()
        deployment.feed([row(2)])
        assert counted.builds == [("merge", 2)] * 2
        assert matches(deployment, "s0") == ["o0"]
        assert matches(deployment, "s7") == ["o0", "o1", "o2"]


def test_a_failed_merge_is_reported_once_and_tried_again(tmp_path, counted):
    with deployed(tmp_path) as deployment:
        subscribe(deployment, "a")
        deployment.feed([row(0)])
        counted.failure = OSError("no space left on device")
        for i in range(3):
            subscribe(deployment, f"b{i}")
        deployment.feed([])
        for i in range(3, 5):
            subscribe(deployment, f"b{i}")
        deployment.feed([row(1)])
        deployment.batches.compiler.close()
        with pytest.raises(OSError, match="no space left"):
            deployment.feed([row(2)])
        counted.failure = None
        subscribe(deployment, "c")
        deployment.feed([row(2)])  # runs under the plan of the batch that failed
        deployment.batches.compiler.close()
        deployment.feed([row(3)])
        assert ("merge", 6) in counted.builds
        for id_, found in (("a", 4), ("b0", 3), ("c", 1)):
            assert len(matches(deployment, id_)) == found, id_


def test_a_failed_delta_is_made_again(tmp_path, counted):
    with deployed(tmp_path) as deployment:
        subscribe(deployment, "a")
        deployment.feed([row(0)])
        subscribe(deployment, "b")
        with (
            patch("sightline.stages.registered.compiled_files.write_index", side_effect=OSError("disk is full")),
            pytest.raises(OSError, match="disk is full"),
        ):
            deployment.feed([row(1)])
        deployment.feed([row(1)])
        assert matches(deployment, "b") == ["o1"]  # once: nothing of the failed insertion was left


def test_a_plan_from_before_the_merge_is_compiled_as_it_was(tmp_path, counted):
    """Another run's batch may have been planned long ago: what stood then decides, not the newest base."""
    with deployed(tmp_path) as deployment:
        subscribe(deployment, "a")
        deployment.feed([row(0)])
        batches = deployment.batches
        seen = {}
        real = batches.compiler.at

        def at(control, epoch, routing):
            seen[control] = (epoch, routing)
            return real(control, epoch, routing)

        with patch.object(batches.compiler, "at", at):
            for i in range(6):
                subscribe(deployment, f"b{i}")
                deployment.registry.unsubscribe([f"b{i - 1}"] if i else ["a"])
                deployment.feed([row(1 + i)])
                batches.compiler.close()
        book = batches.book

        def standing(control):
            epoch, routing = seen[control]
            compiled = batches.compiler.at(control, epoch, routing)
            job = Job(**{**JOB, "store": str(deployment.folder), "compiled": compiled.layers})
            nums = {
                int(n)
                for worker in range(2)
                for layer in open_compiled(job, LayerKind.RANGE, worker)
                for n in layer.block.num
            }
            gone = [] if compiled.dropped is None else book.dropped_between(-1, control)
            return nums - {int(n) for n in gone}

        for control in [*sorted(seen, reverse=True), *sorted(seen)]:
            assert standing(control) == set(book.live(control).tolist())
            batches.compiler.close()


JOB = {
    "store": "", "token": "", "config": {}, "workers": 2, "epoch_file": "", "reject_after_us": None, "lateness_us": 0,
    "high_us": None, "marks": [], "keep_objects": False, "durable": False, "segment_rows": 1, "plugins": [],
    "kernels": [], "merge_parts": 0,
}  # fmt: skip


@settings(max_examples=40)
@given(
    st.lists(st.lists(worlds.rows, max_size=10), min_size=2, max_size=6),
    st.lists(worlds.subscriptions, min_size=2, max_size=10),
    st.integers(0, 3),
    st.sampled_from(["grid", "broadcast"]),
    st.data(),
)
def test_answers_equal_the_oracle_while_bases_are_merged(batches, subscriptions, room, partitioner, data):
    """Merges of every kind begin all the time; whether one is ready at a plan is drawn."""
    with (
        patch.object(compiling, "MIN_DELTA", room),
        patch.object(compiling, "DELTA_SHARE", 1000),
        worlds.new_folder() as folder,
    ):
        deployment = Deployment(Path(folder) / "store", partitioner=partitioner)
        oracle = StandingOracle(lateness_us=0)
        known = {}
        for _ in worlds.fed_alike(deployment, oracle, batches, subscriptions, known):
            if data.draw(st.booleans()):
                deployment.batches.compiler.close()
            if data.draw(st.integers(0, 5)) == 0:
                deployment.batches.compiler.close()
                deployment.reopen()
        deployment.batches.compiler.close()
        check_standing(deployment, oracle, known)


def test_bulk_and_single_requests_while_the_stream_runs(tmp_path, counted):
    """Thousands at once, one by one, dropped one by one and at once: every object meets exactly what stands."""
    with deployed(tmp_path) as deployment, patch.object(compiling, "MIN_DELTA", 2000):
        n = 3000
        lon = np.arange(n) % 360 - 180.0
        table = pa.table({
            "id": [f"bulk{i}" for i in range(n)], "keywords": [["flood"]] * n, "west": lon, "east": lon + 0.5,
            "south": np.zeros(n), "north": np.ones(n),
        })  # fmt: skip
        subscribe(deployment, "one")
        deployment.feed([row(0, lon=7.25, lat=0.5)])
        deployment.registry.subscribe_many(table.slice(0, n // 2), None, None)
        deployment.feed([])
        deployment.registry.subscribe_many(table.slice(n // 2), None, None)
        deployment.feed([row(1, lon=7.25, lat=0.5)])
        here = [i for i in range(n) if lon[i] == 7.0]
        deployment.registry.unsubscribe([f"bulk{here[0]}"])
        subscribe(deployment, "two", region=sl.Box(7, 0, 8, 1))
        deployment.feed([row(2, lon=7.25, lat=0.5)])
        deployment.batches.compiler.close()
        deployment.registry.unsubscribe([f"bulk{i}" for i in range(n) if i not in here[:2]])
        deployment.feed([row(3, lon=7.25, lat=0.5)])
        deployment.batches.compiler.close()
        deployment.feed([row(4, lon=7.25, lat=0.5)])
        assert matches(deployment, "one") == [f"o{i}" for i in range(5)]
        assert matches(deployment, "two") == ["o2", "o3", "o4"]
        assert matches(deployment, f"bulk{here[0]}") == ["o1"]
        assert matches(deployment, f"bulk{here[1]}") == ["o1", "o2", "o3", "o4"]
        assert matches(deployment, f"bulk{here[2]}") == ["o1", "o2"]
        assert counted.builds[:2] == [("plan", 1)] * 2
        assert {where for where, _ in counted.builds[2:]} == {"merge"}


def test_a_bulk_larger_than_the_base_is_a_base_at_once(tmp_path, counted):
    with deployed(tmp_path) as deployment:
        subscribe(deployment, "one")
        deployment.feed([row(0)])
        counted.builds.clear()
        deployment.registry.subscribe_many([sl.RangeQuery("flood", EVERYWHERE)] * 5, None, None)
        deployment.feed([row(1)])
        assert counted.builds == [("plan", 6)] * 2
        deployment.registry.subscribe_many([sl.RangeQuery("flood", EVERYWHERE)] * 5, None, None)
        deployment.feed([row(2)])
        deployment.batches.compiler.close()
        assert counted.builds[2:] == [("merge", 11)] * 2


def test_flags_of_a_block_are_computed_once_per_job(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    for i in range(3):
        subscribe(deployment, f"s{i}")
    jobs = []
    with patch("sightline.stages.flow.work.Lifetimes", side_effect=lambda *a: jobs.append(Lifetimes(*a)) or jobs[-1]):
        deployment.feed([row(i) for i in range(9)])  # several packets
    (lifetimes,) = [job for job in jobs if job._flags]
    assert len(lifetimes._flags) == 1
    (flags,) = lifetimes._flags.values()
    assert lifetimes.closed(flags.block) is flags.closed
    dropped = Lifetimes(lifetimes.job, np.array([-1, 1, 7], np.int64))
    kept, late = dropped.judge(flags.block, np.array([0, 0, 0], np.int32), np.array([0, 1, 2], np.int32), np.zeros(1))
    assert (kept.tolist(), late) == ([0, 2], 0)
