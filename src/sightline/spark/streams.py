"""Streaming frames, and the parts that frames are to a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from sightline.model.durations import duration_us
from sightline.model.errors import BadConfig, SightlineError
from sightline.runs.checkpoints import Checkpoint
from sightline.runs.handle import AfterBatch, Part, Run
from sightline.spark.columns import canonical
from sightline.spark.failures import failure
from sightline.spark.paths import to_write
from sightline.spark.pipeline import execute
from sightline.stages.batch import Batches


def part_of(frame: DataFrame) -> Part:
    """A frame as one micro-batch."""
    return Part(to_arrow_schema(frame.schema, timezone="UTC"), lambda job: execute(frame, job))


def start_stream(
    run: Run,
    frame: DataFrame,
    checkpoint: Checkpoint,
    trigger: str | timedelta,
    columns: Mapping[str, str] | None,
    batches: Batches,
    after: AfterBatch,
) -> None:
    """Start a run on a streaming frame; its checkpoint, in the store under the run's name, is repaired by now."""
    canonical(frame, columns)  # a wrong column is refused here, not by the first batch
    every_us = duration_us(trigger, "trigger", allow_zero=True, error=BadConfig)

    def batch_of(rows: DataFrame, number: int) -> None:
        try:
            run_id = checkpoint.query_id()
            reading = checkpoint.reading(number, batches.position_before(run_id, number))
            run.process(part_of(canonical(rows, columns)), number, run_id, batches, after, reading)
        except SightlineError as error:
            run.failed(error)
            raise

    writer = frame.writeStream.foreachBatch(batch_of).option("checkpointLocation", to_write(checkpoint.folder))
    try:
        run.follow(writer.trigger(processingTime=f"{every_us // 1000} milliseconds").start())
    except Exception as error:
        if type(error).__module__.startswith("py4j."):  # one that PySpark has no class for
            raise failure(checkpoint.name, error) from error
        raise
