"""The Spark session of the tests, and a small store for requests that must leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.engine.refusal import ROWS, WORLD, Refusal
from tests.spark.conftest import spark
from tests.stages.worlds import Deployment

import sightline as sl

__all__ = ["spark"]


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """A store with a subscription of each kind and two commits, made without Spark."""
    made = Deployment(tmp_path / "store")
    made.registry.subscribe(sl.RangeQuery("flood", WORLD), "range", None, None, False)
    made.registry.subscribe(sl.NearestQuery("boat", (0, 0), 3), "nearest", None, None, False)
    made.registry.subscribe(sl.TopTermsQuery(WORLD, 3, window="4s", every="2s"), "top", None, None, False)
    made.feed(ROWS[:6])
    made.feed(ROWS[6:])
    return made


@pytest.fixture
def engine(deployment: Deployment) -> Iterator[sl.Engine]:
    with sl.open(deployment.folder) as engine:
        yield engine


@pytest.fixture
def refused(deployment: Deployment) -> Refusal:
    return Refusal(deployment.folder)


@pytest.fixture
def loading(deployment: Deployment, spark: SparkSession) -> Iterator[sl.Engine]:
    """The store on a Spark session, for requests that reach the source."""
    with sl.open(deployment.folder, spark) as engine:
        yield engine
