"""Work: what one worker does with the objects of a micro-batch.

Match them against the range subscriptions that stand here, collect candidates for nearest ones, count terms for
top-terms ones, and build the segments of the objects it owns. Files are written here; what has to be put together
across workers goes on to merge, and a receipt of everything goes to the driver.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from sightline.flat.columns import column_of, values_of
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.packet import Packet, unpack
from sightline.stages.exchange.parcel import Parcel, ParcelKind, delivered, from_ipc, to_ipc
from sightline.stages.exchange.receipt import Receipt
from sightline.stages.exchange.target import Target
from sightline.stages.exchange.token import seen_token
from sightline.stages.flow.late import LatePairs
from sightline.stages.flow.nearest import nearest_candidates
from sightline.stages.flow.pane_files import pack_counts
from sightline.stages.flow.range_matches import range_matches
from sightline.stages.flow.segments import write_segments
from sightline.stages.flow.top_terms import pane_counts
from sightline.stages.registered.standing import Lifetimes, open_dropped
from sightline.stages.results.tables import write_table
from sightline.store.kinds import FileKind


def work(parcels: Iterable[Parcel], worker: int, job: Job) -> Iterator[Parcel]:
    """Everything of one worker in one micro-batch."""
    target = job.target()
    receipt = Receipt(seen_token(job))
    packets: list[Packet] = []
    rejects: list[pa.Table] = []
    for parcel in delivered(parcels, worker):
        if parcel.kind == ParcelKind.RECEIPT:
            yield parcel._replace(worker=0)
        elif parcel.kind == ParcelKind.OBJECTS:
            packets.append(unpack(parcel.blob))
        elif parcel.kind == ParcelKind.REJECTS:
            rejects.append(from_ipc(parcel.blob))
    if rejects:
        _write_rejects(target, pa.concat_tables(rejects), receipt)
    if packets:
        yield from _objects(Packet.joined(packets, job.segment_rows), worker, job, target, receipt)
    yield receipt.parcel()


def _objects(packets: list[Packet], worker: int, job: Job, target: Target, receipt: Receipt) -> Iterator[Parcel]:
    owned = [packet if packet.own.all() else packet.take(np.flatnonzero(packet.own)) for packet in packets]
    owned = [packet for packet in owned if packet.columns.num_rows]
    for packet in owned:
        receipt.saw(packet.objects().ts)
    lifetimes = Lifetimes(job, open_dropped(job))
    late = LatePairs(job, receipt.count)

    matches = range_matches(packets, worker, job, lifetimes, receipt.count, late)
    if matches is not None:
        if job.merge_matches:
            yield from _by_number(ParcelKind.MATCHES, matches.with_rows(), job.merge_parts)
        else:
            receipt.files.append(write_table(target, FileKind.MATCHES, matches.num, matches.columns(), matches.objects))
            receipt.count("matches", len(matches.num))
    candidates = nearest_candidates(packets, worker, job, lifetimes, receipt.count, late)
    if candidates is not None:
        yield from _by_number(ParcelKind.NEAREST, candidates, job.merge_parts)
    too_late = late.table()
    if too_late is not None:
        yield from _by_number(ParcelKind.LATE, too_late, job.merge_parts)
    for part, counts in pane_counts(owned, job, lifetimes, receipt.count):
        yield Parcel(part, ParcelKind.PANES, pack_counts(counts))
    if owned and job.merge_parts:
        mark = json.dumps(receipt.high_us).encode()
        yield from (Parcel(part, ParcelKind.MARK, mark) for part in range(job.merge_parts))
    if owned and job.keep_objects:
        receipt.files.extend(write_segments(target, owned, worker, job, job.store_config()))


def _write_rejects(target: Target, rejects: pa.Table, receipt: Receipt) -> None:
    receipt.files.append(write_table(target, FileKind.REJECTS, np.zeros(rejects.num_rows, np.int64), rejects))
    receipt.count("rejects", rejects.num_rows)
    for reason in rejects["reason"].to_pylist():
        receipt.count(f"rejects: {reason}", 1)


def _by_number(kind: ParcelKind, table: pa.Table, parts: int) -> Iterator[Parcel]:
    """Cut a table by the merge partition of its subscription number."""
    part = values_of(table["num"]) % parts
    for destination in range(parts):
        rows = np.flatnonzero(part == destination)
        if len(rows):
            yield Parcel(destination, kind, to_ipc(table.take(column_of(rows))))
