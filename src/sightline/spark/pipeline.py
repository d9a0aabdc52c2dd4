"""The pipeline on one screen: read -> route -> exchange -> work -> (exchange -> merge) -> receipts.

One Spark job per micro-batch. The stages are the pure functions of :mod:`sightline.stages`; here they only meet Spark's
partitions. Closures carry the job as text, that is paths and integers.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from sightline.flat.columns import column_of
from sightline.flat.ipc import whole
from sightline.spark.handover import Handover
from sightline.spark.warming import warm_process
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.parcel import Parcel, ParcelKind
from sightline.stages.flow.merge import merge
from sightline.stages.flow.route import route
from sightline.stages.flow.work import work

# As a type: a schema in words is parsed by the JVM for every stage of every micro-batch, 5 to 10 ms each.
PARCEL = StructType(
    [StructField("worker", IntegerType()), StructField("kind", IntegerType()), StructField("blob", BinaryType())]
)
_SCHEMA = pa.schema([("worker", pa.int32()), ("kind", pa.int32()), ("blob", pa.binary())])
ArrowBatches = Iterator[pa.RecordBatch]


def execute(objects: DataFrame, job: Job) -> list[bytes]:
    """Run one micro-batch over canonical columns (`sources.canonical`) as one Spark job; returns the receipts."""
    text, way = job.to_json(), Handover.of(objects.sparkSession, job.store)
    routed = objects.mapInArrow(_route_stage(text, way), PARCEL)
    worked = routed.repartitionById(job.workers, "worker").mapInArrow(_work_stage(text, way), PARCEL)
    if job.merge_parts:
        worked = worked.repartitionById(job.merge_parts, "worker").mapInArrow(_merge_stage(text, way), PARCEL)
    try:
        return [bytes(row.blob) for row in worked.collect() if row.kind == ParcelKind.RECEIPT]
    finally:
        way.clear()


def _route_stage(text: str, way: Handover) -> Callable[[ArrowBatches], ArrowBatches]:
    def run(batches: ArrowBatches) -> ArrowBatches:
        job = _begun(text, way)
        yield from _to_arrow(way.named(route(batches, _partition(), job)))
        _loaded("route")

    return run


def _work_stage(text: str, way: Handover) -> Callable[[ArrowBatches], ArrowBatches]:
    def run(batches: ArrowBatches) -> ArrowBatches:
        job = _begun(text, way)
        found = work(way.opened(_parcels(batches)), _partition(), job)
        # Without a merge stage there are only receipts, for the driver.
        yield from _to_arrow(way.named(found) if job.merge_parts else found)
        _loaded("work")

    return run


def _merge_stage(text: str, way: Handover) -> Callable[[ArrowBatches], ArrowBatches]:
    def run(batches: ArrowBatches) -> ArrowBatches:
        job = _begun(text, way)
        yield from _to_arrow(merge(way.opened(_parcels(batches)), _partition(), job))
        _loaded("merge")

    return run


def _begun(text: str, way: Handover) -> Job:
    """The job of a task. Where there are other machines, one may have come since the executors were warmed."""
    job = Job.from_json(text)
    if way.folder is None:
        warm_process(tuple(job.kernels))
    return job


@cache
def _loaded(stage: str) -> None:
    """Once per process and stage: what is loaded by now stays, so that no collection looks at it again.

    PySpark collects all garbage after every task of a worker; over our modules and kernels that took 70 ms, of tasks
    that take 300 ms.
    """
    gc.collect()
    gc.freeze()


def _partition() -> int:
    context = TaskContext.get()
    assert context is not None, "a stage runs inside a Spark task"
    return context.partitionId()


def _to_arrow(parcels: Iterable[Parcel]) -> ArrowBatches:
    for parcel in parcels:
        blob = pa.py_buffer(whole(parcel.blob))
        value = pa.BinaryArray.from_buffers(
            pa.binary(), 1, [None, pa.py_buffer(np.array([0, blob.size], np.int32)), blob]
        )
        head = [column_of(np.array([number], np.int32)) for number in (parcel.worker, parcel.kind)]
        yield pa.RecordBatch.from_arrays([*head, value], schema=_SCHEMA)


def _parcels(batches: ArrowBatches) -> Iterator[Parcel]:
    for batch in batches:
        blobs = batch.column("blob")
        for i, (worker, kind) in enumerate(
            zip(batch.column("worker").to_pylist(), batch.column("kind").to_pylist(), strict=True)
        ):
            yield Parcel(worker, kind, blobs[i].as_buffer())
