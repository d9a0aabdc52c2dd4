"""The empty job: what Spark and Python cost when nothing is done with the rows.

The same source, an identity ``mapInArrow``, the exchange by worker row by row, a counting ``mapInArrow``. Benchmarks
give the pipeline's speed as a ratio to this one, measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sightline.spark.paths import to_read, to_write

Batches = Iterator[pa.RecordBatch]


def files_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream over Parquet files, one file per micro-batch, oldest first."""
    schema = spark.read.parquet(to_read(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(to_read(folder))


def run_empty(stream: DataFrame, checkpoint: Path, workers: int) -> list[tuple[float, int]]:
    """Run a finite stream through the empty job; (moment of completion, rows) of every micro-batch."""
    done: list[tuple[float, int]] = []

    def batch_of(rows: DataFrame, _: int) -> None:
        worker = F.pmod(F.hash("id"), F.lit(workers)).alias("worker")
        with_worker = rows.select(worker, "*")
        moved = with_worker.mapInArrow(_identity, with_worker.schema).repartitionById(workers, "worker")
        counted = moved.mapInArrow(_count, "rows long").collect()
        done.append((time.perf_counter(), sum(row.rows for row in counted)))

    query = stream.writeStream.foreachBatch(batch_of).option("checkpointLocation", to_write(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    return done


def _identity(batches: Batches) -> Batches:
    yield from batches


def _count(batches: Batches) -> Batches:
    yield pa.RecordBatch.from_pydict({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})
