"""Every query type through Spark and the public API equals the stages in one process, and the oracle.

A load costs about a second whatever it holds, so all cases of a deployment share three loads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark import cases
from tests.spark.cases import emitted, found, sought, told
from tests.stages.worlds import Deployment, new_folder, table_of

import sightline as sl
from sightline.model.queries import Query
from sightline.spark import handover
from sightline.stages.routing.current import CurrentStatistics
from sightline.store.store import Store
from sightline.testing import StandingOracle

pytestmark = pytest.mark.spark
DEPLOYMENTS = [("grid", 1, 0), ("grid", 3, 5), ("broadcast", 1, 5), ("broadcast", 3, 0)]
STANDING, SNAPSHOTS = cases.standing(), cases.snapshots()


@dataclass
class World:
    """One seeded history, told to Spark, to the stages in this process and to the oracle."""

    engine: sl.Engine
    inline: sl.Engine
    oracle: StandingOracle
    versions: list[int] = field(default_factory=list)
    inline_versions: list[int] = field(default_factory=list)
    registered: dict[str, list[str]] = field(default_factory=dict)


def at_batch(number: int) -> list[tuple[str, str, Query, timedelta | None]]:
    """Subscriptions registered before a batch: each type in thirds; of the later ones some live 15 seconds only."""
    chosen = []
    for kind, queries in STANDING.items():
        for i, query in enumerate(queries):
            if i % cases.BATCHES == number:
                ttl = timedelta(seconds=15) if number and i % 4 == 0 else None
                chosen.append((kind, f"{kind}-{i}", query, ttl))
    return chosen


@pytest.fixture(scope="module", params=DEPLOYMENTS, ids=lambda how: f"{how[0]}-{how[1]}")
def world(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[World]:
    partitioner, workers, lateness = request.param
    with new_folder() as folder, pytest.MonkeyPatch.context() as patch:
        if workers > 1:  # every parcel goes by a file, which only large ones do otherwise
            patch.setattr(handover, "LEAST_BYTES", 1)
        inline = Deployment(Path(folder) / "inline", partitioner, workers, lateness * 1_000_000)
        engine = sl.open(
            Path(folder) / "spark", spark, partitioner=partitioner, workers=workers, lateness=f"{lateness}s"
        )
        world = World(engine, sl.open(inline.folder), StandingOracle(lateness_us=lateness * 1_000_000))
        for number, batch in enumerate(cases.rows_of(seed=17 + workers)):
            for kind, id_, query, ttl in at_batch(number):
                engine.subscribe(query, id_, ttl=ttl)
                inline.registry.subscribe(query, id_, None, ttl, False)
                ttl_us = None if ttl is None else ttl // timedelta(microseconds=1)
                world.oracle.subscribe(id_, query.to_dict(), ttl_us=ttl_us)
                world.registered.setdefault(kind, []).append(id_)
            done = engine.load(table_of(batch), on_batch=lambda report: world.versions.append(report.version))
            assert (done["objects"], done["rejects"], done["commits"]) == (cases.BATCH_ROWS, 0, 1)
            world.inline_versions.append(inline.feed(batch))
            world.oracle.feed(batch, batch=number)
        yield world
        engine.close()


@pytest.mark.parametrize("kind", list(STANDING))
def test_subscriptions(world: World, kind: str) -> None:
    assert len(world.registered[kind]) == 20
    said = 0
    for id_ in world.registered[kind]:
        got = emitted(world.engine, kind, id_, world.versions)
        assert got == told(world.oracle, kind, id_), id_
        assert got == emitted(world.inline, kind, id_, world.inline_versions), id_
        said += bool(got)
    assert said >= 12  # the cases are about something


@pytest.mark.parametrize("kind", list(SNAPSHOTS))
def test_searches(world: World, kind: str) -> None:
    said = 0
    for query in SNAPSHOTS[kind]:
        got = found(query, world.engine.search(query).to_pylist())
        assert got == sought(world.oracle, query), query
        assert got == found(query, world.inline.search(query).to_pylist()), query
        said += bool(got)
    assert said >= 12


def test_searching_many_at_once_gives_the_same_rows(world: World) -> None:
    queries = [query for queries in SNAPSHOTS.values() for query in queries]
    answers: list[list[dict[str, Any]]] = [[] for _ in queries]
    rows = world.engine.search_many(queries)
    assert rows.table.schema.field(0).equals(rows.table.schema.field("query"))
    assert str(rows.table.schema.field("query").type) == "int64"
    for row in rows.to_pylist():
        answers[row["query"]].append(row)
    for query, answer in zip(queries, answers, strict=True):
        assert found(query, answer) == sought(world.oracle, query), query


def test_what_expired_and_what_came_late(world: World) -> None:
    events = world.engine.subscription_events().to_pylist()
    expired = [(world.versions.index(e["batch"]), e["subscription_id"]) for e in events if e["event"] == "expired"]
    want = [(batch.batch, id_) for batch in world.oracle.batches for id_ in batch.expired]
    assert sorted(expired) == sorted(want)
    assert expired
    assert sum(e["event"] == "registered" for e in events) == 60
    late = sum(len(batch.late) for batch in world.oracle.batches)
    assert world.engine.counters().get("late", 0) == late
    assert world.engine.counters()["objects"] == cases.BATCHES * cases.BATCH_ROWS
    counted = CurrentStatistics(Store.open(world.engine.path), threading.RLock()).at(-1)  # saved by each load
    assert counted is not None
    assert counted.objects[0] == pytest.approx(cases.BATCHES * cases.BATCH_ROWS, rel=0.01)


def test_another_number_of_workers_changes_nothing(world: World) -> None:
    """Reopened with other workers, after an empty load under the new epoch, everything reads as before."""
    with sl.open(world.engine.path, world.engine.spark, workers=2) as again:
        again.rebalance()
        again.load(table_of([]))
        assert set(again.partitions()["worker"].to_pylist()) == {0, 1}
        for kind, ids in world.registered.items():
            for id_ in ids:
                assert emitted(again, kind, id_, world.versions) == told(world.oracle, kind, id_), id_
        for queries in SNAPSHOTS.values():
            for query in queries:
                assert found(query, again.search(query).to_pylist()) == sought(world.oracle, query), query
