"""The pipeline is let go of wherever a load or the start of a run is interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.engine.refusal import ROWS
from tests.stages.worlds import table_of

import sightline as sl
from sightline.runs.handle import Run
from sightline.runs.pipeline import Pipeline
from sightline.spark import starter
from sightline.store.store import Store

pytestmark = pytest.mark.spark
POINTS = {
    "before anything is ready": (Pipeline, "ready"),
    "while the source is staged": (starter, "chunks"),
    "while it starts": (Run, "follow"),
    "while it runs": (Run, "await_termination"),
}
CASES = [
    *(("load", point) for point in POINTS),
    *(("run", point) for point in list(POINTS)[:3]),
    ("stream", "before anything is ready"),
    ("stream", "while it starts"),
]


def interrupted(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> None:
        original(*args)
        raise KeyboardInterrupt

    return call


def streamed(spark: SparkSession, folder: Path) -> Any:
    folder.mkdir()
    pq.write_table(table_of(ROWS), folder / "rows.parquet")
    return spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))


@pytest.mark.parametrize(("how", "point"), CASES)
def test_the_lock_is_free_after_an_interrupt(
    how: str, point: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = streamed(spark, tmp_path / "in") if how == "stream" else table_of(ROWS)
    with sl.open(tmp_path / "store", spark, ahead=None) as engine:
        where, name = POINTS[point]
        with monkeypatch.context() as patch:
            patch.setattr(where, name, interrupted(getattr(where, name)))
            with pytest.raises(KeyboardInterrupt):
                engine.load(source) if how == "load" else engine.run(source, "posts")
        other = Store.open(tmp_path / "store")
        other.lock.acquire("other")  # it would be refused
        version = other.commits.refresh().version
        other.lock.release("other")
        staged = tmp_path / "store" / starter.STAGING
        assert not staged.exists() or point == "while the source is staged" or not any(staged.iterdir())
        assert not any(query.isActive for query in spark.streams.active)
        assert other.commits.refresh().version == version, "nothing goes on in the background"
