"""The driver program on its own host: runs steps that it is told as JSON lines, and answers each with one.

``python -m tests.cluster.driver MASTER ADDRESS``; ends when its input does, whatever it is doing.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from tests.engine import stream_child

import sightline as sl

WORLD = sl.Box(-180, -90, 180, 90)
ROWS = 40
START = datetime(2024, 5, 1, tzinfo=UTC)
QUERIES = [
    sl.RangeQuery("", WORLD),
    sl.RangeQuery("flood AND NOT calm", sl.Circle(0, 0, 1_500_000), limit=20),
    sl.NearestQuery("boat", at=(3, 4), k=9),
    sl.TopTermsQuery(WORLD, 10, last="1h"),
    sl.RangeQuery("nobody says this", WORLD),
]


def session(master: str, address: str) -> SparkSession:
    """A session as docs/operations.md asks for on a cluster."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the setting of this name counts for spark-submit only
    settings = {
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.sql.execution.arrow.maxRecordsPerBatch": 65_536,
        "spark.sql.execution.arrow.maxBytesPerBatch": 268_435_456,
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.executor.cores": 1,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A host whose executor was killed is used again at once.
        "spark.excludeOnFailure.enabled": "false",
    }
    builder = SparkSession.builder.master(master).appName("sightline cluster tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def table() -> pa.Table:
    """Posts with one word in common."""
    return pa.table(
        {
            "id": [f"p{row}" for row in range(ROWS)],
            "lon": [row * 4.0 - 80 for row in range(ROWS)],
            "lat": [row - 20.0 for row in range(ROWS)],
            "ts": pa.array([START + timedelta(seconds=row) for row in range(ROWS)], pa.timestamp("us", tz="UTC")),
            "text": [f"flood number{row % 3}" for row in range(ROWS)],
        }
    )


def ranged(spark: SparkSession) -> DataFrame:
    """As many posts, made by the executors."""
    return spark.range(ROWS, numPartitions=4).selectExpr(
        "concat('r', id) AS id",
        "id * 4.0D - 80 AS lon",
        "id - 20.0D AS lat",
        "timestamp_seconds(1714521600 + id) AS ts",
        "concat('flood number', id % 3) AS text",
    )


def source(spark: SparkSession, said: str) -> Any:
    """A source by its kind, or a path."""
    made: dict[str, Callable[[], Any]] = {
        "table": table,
        "range": lambda: ranged(spark),
        "created": lambda: spark.createDataFrame(table().to_pylist(), stream_child.SCHEMA),
    }
    return made[said]() if said in made else said


def hosts_of_tasks(spark: SparkSession, rows: int) -> dict[str, int]:
    """Rows counted by the tasks of each host."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counted = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pydict({"host": [socket.gethostname()], "rows": [counted]})

    counted = spark.range(rows, numPartitions=8).mapInArrow(count, "host string, rows long").collect()
    return {host: sum(row.rows for row in counted if row.host == host) for host in {row.host for row in counted}}


def load(spark: SparkSession, store: str, what: str, cwd: str | None = None) -> dict[str, Any]:
    """Load a source; ``cwd`` is where this process is meanwhile, its JVM stays where it began."""
    with chdir(cwd or "."), sl.open(store, spark, workers=2) as engine:
        counts = engine.load(source(spark, what))
        return {"counts": counts, "counters": engine.counters(), "path": str(engine.path)}


def counters(spark: SparkSession, store: str) -> dict[str, int]:
    """What is committed in a store."""
    with sl.open(store) as engine:
        found = engine.search(sl.RangeQuery("", WORLD)).num_rows
        return {**engine.counters(), "found": found}


def stream(spark: SparkSession, store: str, folder: str, rows: int) -> int:
    """A folder of Parquet files, one per micro-batch, until all rows are committed."""
    stream_child.stream(Path(store), Path(folder), rows, spark)
    return rows


def search_many(spark: SparkSession, store: str) -> list[dict[str, Any]]:
    """Some queries of every kind as one job; as JSON, which is how they are compared."""
    with sl.open(store, spark) as engine:
        rows = engine.search_many(QUERIES).to_pylist()
    return [{name: str(value) for name, value in row.items()} for row in rows]


def lost_executors(spark: SparkSession) -> list[str]:
    """Ids of the executors that Spark has noticed to be gone."""
    known = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    each = [known.apply(number) for number in range(known.size())]
    return [one.id() for one in each if not one.isActive()]


STEPS: dict[str, Callable[..., Any]] = {
    step.__name__: step for step in (hosts_of_tasks, load, counters, stream, search_many, lost_executors)
}


def answered(spark: SparkSession, said: dict[str, Any]) -> dict[str, Any]:
    """The value of a step, or the classes of its error and what it says."""
    try:
        return {"value": STEPS[said.pop("step")](spark, **said)}
    except Exception as error:
        traceback.print_exc()
        return {"error": [kind.__name__ for kind in type(error).__mro__], "message": str(error)}


def main(master: str, address: str) -> None:
    """Answer on the standard output, which nothing else gets to write to."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asked: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            asked.put(json.loads(line))
        os._exit(0)  # the JVM notices and ends too

    threading.Thread(target=listen, daemon=True).start()
    spark = session(master, address)
    while True:
        print(json.dumps(answered(spark, asked.get())), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
