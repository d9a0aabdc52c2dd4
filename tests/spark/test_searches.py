"""Many searches as one Spark job: the same rows as one by one, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.stages.worlds import SECOND, Deployment

import sightline as sl
from sightline.model.errors import BadQuery, CorruptFile
from sightline.spark.searches import TOGETHER, search_many
from sightline.store.requests import CountSearches
from sightline.store.sweep import sweep

pytestmark = pytest.mark.spark
WORLD = sl.Box(-180, -90, 180, 90)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "store", workers=2)
    for i in range(3):
        made.feed(
            [
                {"id": f"o{i}-{j}", "lon": 30.0 * j, "lat": 0.0, "ts_us": i * SECOND, "text": f"flood w{j}"}
                for j in range(5)
            ]
        )
    return made


def test_more_queries_than_a_task_holds_at_once(deployment: Deployment, spark: SparkSession) -> None:
    queries: list[sl.RangeQuery | sl.NearestQuery | sl.TopTermsQuery] = []
    for i in range(2 * TOGETHER + 30):
        queries.append(sl.RangeQuery(f"w{i % 6}", WORLD, limit=1 + i % 4))
        queries.append(sl.NearestQuery("flood", (float(i % 90), 0.0), 1 + i % 3))
    queries.append(sl.TopTermsQuery(WORLD, 3))
    rows = search_many(spark, deployment.store, queries)
    assert rows.column_names[0] == "query"
    assert rows["query"].to_pylist() == sorted(rows["query"].to_pylist())
    at = 0
    for number, query in enumerate(queries):
        alone = deployment.searcher.answer(query)[0]
        together = rows.slice(at, alone.num_rows)
        assert together["query"].to_pylist() == [number] * alone.num_rows
        assert together.select(alone.column_names).to_pylist() == alone.to_pylist(), query
        at += alone.num_rows
    assert at == rows.num_rows


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (sl.TopTermsQuery(WORLD, 3, window="1h", every="1h"), "query 2 of the list: window"),
        (sl.RangeQuery("x", sl.Box(0, 0, 1000, 1000, planar=True)), "query 2 of the list: "),
        ("flood", "query 2 of the list: not a query"),
    ],
)
def test_a_bad_query_is_named_by_its_place(deployment: Deployment, spark: SparkSession, bad: object, said: str) -> None:
    good = sl.RangeQuery("flood", WORLD)
    with pytest.raises(BadQuery, match=said):
        search_many(spark, deployment.store, [good, good, bad, good])  # type: ignore[list-item]


def test_no_queries(deployment: Deployment, spark: SparkSession) -> None:
    assert search_many(spark, deployment.store, []).num_rows == 0


def test_files_swept_under_the_job(
    deployment: Deployment, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is run again on a newer version."""
    old = deployment.store.commits.snapshot()
    deployment.merge()
    sweep(deployment.store, grace_s=-1.0)
    real, given_old = deployment.store.commits.refresh, [old]
    monkeypatch.setattr(deployment.store.commits, "refresh", lambda: given_old.pop() if given_old else real())
    assert search_many(spark, deployment.store, [sl.RangeQuery("", WORLD)] * 3).num_rows == 45
    assert not given_old


def test_a_file_that_is_lost_is_named(deployment: Deployment, spark: SparkSession) -> None:
    lost = deployment.store.commits.snapshot().entries("segment")[0].name
    deployment.store.data_path(lost).unlink()
    with pytest.raises(CorruptFile, match=lost):
        search_many(spark, deployment.store, [sl.RangeQuery("", WORLD)])


def test_they_are_counted_as_searches(deployment: Deployment, spark: SparkSession) -> None:
    with sl.open(deployment.folder, spark) as engine:
        engine.search_many([sl.RangeQuery("flood", WORLD), sl.NearestQuery("flood", (0.0, 0.0), 3)])
    (entry,) = deployment.store.control.read()
    assert entry.request == CountSearches(entry.request.file, 2)
