"""What people read when Spark fails: the cause, not the call that met it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sightline as sl
from sightline.spark.connect import refuse_connect
from sightline.spark.failures import failure

SCHEMA = "id string, lon double, lat double, ts timestamp, text string"
ROWS = 6


def py4j(words: str) -> Exception:
    return Exception(f"An error occurred while calling o205.collectToPython.\n: {words}")


LOST = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most "
    "recent failure: Lost task 0.3 in stage 1.0 (TID 9) (10.0.0.1 executor 1): "
)


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (LOST + "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat x.y(z.scala:3)",
         sl.RunFailed, "a Python worker exited unexpectedly: out of memory?"),
        (LOST + "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: x",
         sl.RunFailed, "executors were lost"),
        (LOST + "org.apache.spark.SparkFileNotFoundException: [FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error "
         "while reading file file:///data/posts.parquet. File does not exist.", sl.BadSource, "'file:///data/posts.parquet'"),
        (LOST + "java.io.FileNotFoundException: File file:/s/staging/0123456789abcdef0123456789abcdef/schema.parquet "
         "does not exist", sl.StoreNotShared, "what the driver has staged"),
        (LOST + "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File x\n"
         "sightline.model.errors.StoreFull: no space left while writing: '/s'\n", sl.StoreFull, "no space left"),
        (LOST + "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File x\n"
         "ValueError: 3 is no colour\n\n\tat a.b(c.scala:1)", sl.RunFailed, "ValueError: 3 is no colour"),
        ("java.lang.IllegalStateException: SparkContext has been shut down\n\tat a.b(c.scala:1)", sl.RunFailed,
         "SparkContext has been shut down"),
    ],
)  # fmt: skip
def test_causes_are_named(words: str, kind: type[Exception], message: str) -> None:
    error = failure("posts", py4j(words))
    assert type(error) is kind
    assert message in str(error)
    assert "o205" not in str(error)
    assert "\n" not in str(error)


def test_a_failure_without_words_is_still_one() -> None:
    assert "no reason given" in str(failure("posts", Exception()))


def killer(marks: Path, times: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A step of the source whose Python worker is killed the first times it runs."""

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            done = len(list(marks.iterdir()))
            if done < times:
                (marks / str(done)).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return step


def run_killed(folder: Path, spark: SparkSession, times: int) -> sl.Engine:
    """A stream of one file, evaluated inside the batch, whose worker is killed."""
    (folder / "in").mkdir()
    (folder / "marks").mkdir()
    moments = pa.array(range(ROWS), pa.timestamp("us", tz="UTC"))
    table = pa.table({"id": [str(i) for i in range(ROWS)], "lon": [1.0] * ROWS, "lat": [1.0] * ROWS, "ts": moments,
                      "text": ["flood"] * ROWS})  # fmt: skip
    pq.write_table(table, folder / "in" / "0.parquet")
    stream = spark.readStream.schema(SCHEMA).parquet(str(folder / "in"))
    engine = sl.open(folder / "store", spark, workers=2)
    engine.run(stream.mapInArrow(killer(folder / "marks", times), SCHEMA), name="posts")
    return engine


@pytest.mark.spark
def test_a_killed_python_worker_does_not_end_a_local_run(tmp_path: Path, spark: SparkSession) -> None:
    with run_killed(tmp_path, spark, times=1) as engine:
        (run,) = engine._runs
        assert run._query is not None
        run._query.processAllAvailable()
        assert run.exception() is None
        assert engine.counters()["objects"] == ROWS
    assert len(list((tmp_path / "marks").iterdir())) == 1


@pytest.mark.spark
def test_a_worker_that_is_always_killed_is_named(tmp_path: Path, spark: SparkSession) -> None:
    with run_killed(tmp_path, spark, times=99) as engine:
        (run,) = engine._runs
        with pytest.raises(sl.RunFailed, match=r"a Python worker exited unexpectedly: out of memory\?"):
            run.await_termination(120)
        assert engine.counters() == {}
    assert len(list((tmp_path / "marks").iterdir())) == 4, "tried as often as on a cluster"


def test_spark_connect_is_refused_at_once(tmp_path: Path) -> None:
    kind = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(sl.BadConfig, match="Spark Connect cannot run the pipeline"):
        sl.open(tmp_path / "store", spark=kind())
    assert not (tmp_path / "store").exists()
    refuse_connect(None)
