"""The stages in one process, without Spark: the debugger, and the reference the Spark run must equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from sightline.flat.ipc import whole
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.parcel import Parcel, ParcelKind
from sightline.stages.flow.merge import merge
from sightline.stages.flow.route import route
from sightline.stages.flow.work import work

Work = Callable[[Iterable[Parcel], int, Job], Iterable[Parcel]]


def execute_inline(partitions: Sequence[Sequence[pa.RecordBatch]], job: Job, work: Work = work) -> list[bytes]:
    """Run a job over source partitions, each a sequence of Arrow batches; returns the receipts.

    ``work`` stands for the work stage: who measures it passes his own.
    """
    routed: list[list[Parcel]] = [[] for _ in range(job.workers)]
    for number, batches in enumerate(partitions):
        for parcel in route(batches, number, job):
            routed[parcel.worker].append(parcel)
    worked: list[list[Parcel]] = [[] for _ in range(max(job.merge_parts, 1))]
    for worker, parcels in enumerate(routed):
        for parcel in work(parcels, worker, job):
            worked[parcel.worker].append(parcel)
    if not job.merge_parts:
        return [bytes(whole(parcel.blob)) for parcel in worked[0] if parcel.kind == ParcelKind.RECEIPT]
    return [bytes(whole(receipt.blob)) for part, parcels in enumerate(worked) for receipt in merge(parcels, part, job)]
