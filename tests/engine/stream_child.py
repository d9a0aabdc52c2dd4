"""A pipeline in a process of its own, to be killed: streams a folder of Parquet files into a store.

``python stream_child.py STORE FOLDER ROWS``: ends by itself when so many rows are committed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

import sightline as sl
from sightline.spark.session import local_session

LONGEST_S = 120.0  # after which rows are taken for lost
SCHEMA = "id string, lon double, lat double, ts timestamp, text string"


def stream(store: Path, folder: Path, rows: int, spark: SparkSession) -> None:
    """One file per micro-batch, in the order of their times of change, until all rows are committed."""
    deadline = time.monotonic() + LONGEST_S
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    with sl.open(store, spark) as engine:
        run = engine.run(source, name="posts")
        while run.is_active and sum(engine.counters().get(name, 0) for name in ("objects", "rejects")) < rows:
            assert time.monotonic() < deadline, f"{engine.counters()} instead of {rows} rows"
            time.sleep(0.05)
        run.stop()
        error = run.exception()
        if error is not None:
            raise error


if __name__ == "__main__":
    stream(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), local_session())
