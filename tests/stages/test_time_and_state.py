"""Time per subscription and state over merges: cases that once went wrong, each against the oracle or by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pyarrow as pa
import pytest

import sightline as sl
from sightline.model.space import Space
from sightline.partition import PARTITIONERS
from sightline.stages.batch import Batches
from sightline.stages.exchange.mapped import MappedFiles
from sightline.stages.exchange.read import clean
from sightline.stages.inline import execute_inline
from sightline.store.array_file import write_array_file
from tests.partition.everywhere import EverywhereRouting
from tests.stages.worlds import SECOND, Deployment, table_of, us

WORLD = sl.Box(-180, -90, 180, 90)


def row(id_, second, text="flood", lon=0.0):
    return {"id": id_, "lon": lon, "lat": 0.0, "ts_us": second * SECOND, "text": text}


def ends(deployment, num):
    return [us(r["window_end"]) // SECOND for r in deployment.results.reports([num]).to_pylist() if r["rank"] == 1]


def expired(deployment):
    return [e["subscription_id"] for e in deployment.results.events().to_pylist() if e["event"] == "expired"]


@pytest.mark.parametrize("trial", range(6))  # file names are random, and once decided
def test_merging_keeps_the_newest_nearest_state_of_each_subscription(tmp_path, trial):
    deployment = Deployment(tmp_path / "store", workers=2)
    for id_, word in (("s0", "flood"), ("s1", "boat")):
        deployment.registry.subscribe(sl.NearestQuery(word, (0, 0), 60), id_, None, None, False)
    deployment.feed([row("a", 0), row("b", 0, "boat")])
    deployment.feed([*(row(f"f{i}", 1) for i in range(9)), row("d", 1, "boat")])
    deployment.merge()
    deployment.feed([row("e", 2, "boat")])
    assert deployment.results.nearest(1)["object_id"].to_pylist() == ["e", "d", "b"]


@pytest.mark.parametrize(("first", "then"), [(0, 50), (50, 0)])
def test_another_lateness_neither_doubles_nor_loses_reports(tmp_path, first, then):
    deployment = Deployment(tmp_path / "store", lateness_us=first * SECOND)
    deployment.feed([row("a", 0)])
    query = sl.TopTermsQuery(WORLD, 1, window="10s", every="10s")
    deployment.registry.subscribe(query, "hot", None, None, False)
    deployment.registry.subscribe(sl.RangeQuery("", WORLD), "short", None, timedelta(seconds=60), False)
    deployment.feed([row(str(i), i) for i in range(5, 101, 10)])
    deployment.feed([row("b", 101)])
    deployment.store.update_config(replace(deployment.store.config, lateness_us=then * SECOND))
    deployment.reopen()
    deployment.feed([row("c", 102)])
    deployment.feed([row("d", 200)])
    assert ends(deployment, 0) == list(range(10, 111, 10))
    assert expired(deployment) == ["short"]


def test_a_plan_from_before_a_subscription_does_not_move_its_time(tmp_path):
    """A batch is killed, others register and commit, the batch runs again under its old plan."""
    deployment = Deployment(tmp_path / "store")

    def run(name, number, rows, fail=False):
        table = table_of(rows)

        def execute(job):
            if fail:
                raise KeyboardInterrupt
            return execute_inline([table.to_batches()], job)

        return deployment.batches.process(name, number, table.schema, execute)

    run("a", 0, [row("x", 0)])
    with pytest.raises(KeyboardInterrupt):
        run("a", 1, [row("y", 30)], fail=True)
    deployment.registry.subscribe(sl.TopTermsQuery(WORLD, 1, window="5s", every="5s"), "hot", None, None, False)
    deployment.registry.subscribe(sl.RangeQuery("", WORLD), "short", None, timedelta(seconds=20), False)
    run("b", 0, [row("z", 8)])
    deployment.batches = Batches(deployment.store)
    run("a", 1, [row("y", 30)])
    run("b", 1, [row("w", 50)])
    assert ends(deployment, 0) == [10]
    assert expired(deployment) == ["short"]
    assert deployment.results.matches("short", [1])["object_id"].to_pylist() == ["z"]  # the old plan did not include it


@pytest.mark.parametrize("partitioner", ["grid", "everywhere"])
def test_a_late_pair_is_counted_once_however_many_workers_find_it(tmp_path, partitioner):
    with patch.dict(PARTITIONERS, everywhere=EverywhereRouting):
        deployment = Deployment(tmp_path / "store", workers=3, partitioner=partitioner)
        deployment.feed([row("a", 0)])
        ttl = timedelta(seconds=10)
        deployment.registry.subscribe(sl.RangeQuery("flood", WORLD), "range", None, ttl, False)
        deployment.registry.subscribe(sl.NearestQuery("flood", (0, 0), 2), "nearest", None, ttl, False)
        deployment.feed([row("b", 100)])
        deployment.feed([row("c", 5), row("d", 6), row("e", 7, "boat"), row("f", 50)])
        assert deployment.store.commits.snapshot().counters["late"] == 4


def test_an_object_in_no_window_is_not_late(tmp_path):
    deployment = Deployment(tmp_path / "store")
    deployment.feed([row("a", 0)])
    deployment.registry.subscribe(sl.TopTermsQuery(WORLD, 1, window="5s", every="10s"), "hot", None, None, False)
    deployment.feed([row("b", 8), row("c", 11)])
    deployment.feed([row("at the start", 0)])
    assert deployment.store.commits.snapshot().counters.get("late", 0) == 0


def test_an_object_in_no_window_is_not_late_for_a_closed_subscription(tmp_path):
    deployment = Deployment(tmp_path / "store")
    deployment.feed([row("a", 0)])
    hot = sl.TopTermsQuery(WORLD, 1, window="5s", every="10s")
    deployment.registry.subscribe(hot, "hot", None, timedelta(seconds=25), False)
    deployment.feed([row("closes it", 100)])
    deployment.feed([row("between windows", 3), row("in one", 8), row("after the last window", 22)])
    assert deployment.store.commits.snapshot().counters.get("late", 0) == 1


def test_a_window_in_which_nothing_lies_costs_nothing(tmp_path):
    """Two objects a year apart, with 3 * 10^13 windows of a microsecond's step between them."""
    deployment = Deployment(tmp_path / "store")
    deployment.registry.subscribe(sl.TopTermsQuery(WORLD, 1, window="4us", every="1us"), "hot", None, None, False)
    deployment.feed([row("a", 0)])
    deployment.feed([row("b", 365 * 86_400)])
    deployment.feed([row("c", 365 * 86_401)])
    assert deployment.results.reports([0]).num_rows == 8


def test_more_windows_than_an_object_may_be_in_are_refused(tmp_path):
    registry = Deployment(tmp_path / "store").registry
    for window, every in (("100000w", "1us"), ("10w", "1s"), ("10001s", "1s")):
        query = sl.TopTermsQuery(WORLD, 3, window=window, every=every)
        table = pa.table({"west": [0.0], "south": [0.0], "east": [1.0], "north": [1.0], "k": [3], "window": [window],
                          "every": [every]})  # fmt: skip
        for request in (
            lambda query=query: registry.subscribe(query, None, None, None, False),
            lambda query=query: registry.subscribe_many([query], None, None),
            lambda table=table: registry.subscribe_many(table, None, None),
        ):
            with pytest.raises(sl.BadQuery, match="at most 10,000"):
                request()
    registry.subscribe(sl.TopTermsQuery(WORLD, 3, window="10000s", every="1s"), None, None, None, False)


def test_a_far_off_instant_is_rejected_with_its_number():
    far = 300_000_000_000 * SECOND
    batch = pa.record_batch({
        "id": ["a"], "lon": [0.0], "lat": [0.0], "text": ["x"],
        "ts": pa.array([far], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
    })  # fmt: skip
    rejects = clean(batch, Space(), 0).rejects.to_pylist()
    assert [reject["reason"] for reject in rejects] == ["ts outside the years 1 to 9999"]
    assert str(far) in rejects[0]["raw"]


def test_a_zone_inside_a_payload_is_utc():
    kind = pa.struct([("when", pa.timestamp("us", tz="Europe/Berlin"))])
    batch = pa.record_batch({
        "id": ["a"], "lon": [0.0], "lat": [0.0], "text": ["x"], "ts": pa.array([0], pa.timestamp("us")),
        "extra": pa.array([{"when": 0}], kind),
    })  # fmt: skip
    cleaned = clean(batch, Space(), None).objects
    assert cleaned.schema.field("extra").type == pa.struct([("when", pa.timestamp("us", tz="UTC"))])


def test_few_files_stay_mapped(tmp_path):
    (tmp_path / "data").mkdir()
    files = MappedFiles(limit_files=3)
    for i in range(5):
        write_array_file(tmp_path / "data" / f"{i}.sl", {}, {"number": i}, durable=False)
        assert files.get(str(tmp_path), f"{i}.sl", "number", lambda file: file.meta["number"]) == i
    assert len(files) == 3


def test_a_lifetime_beyond_all_time_is_refused(tmp_path):
    deployment = Deployment(tmp_path / "store")
    with pytest.raises(sl.BadQuery, match="beyond all time"):
        deployment.registry.subscribe(sl.RangeQuery("", WORLD), "y", "2024-01-01", "9223372036854775807us", False)
