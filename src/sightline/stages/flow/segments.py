"""Segments of the objects a worker owns, cut by time slice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sightline.flat.columns import column_of
from sightline.index.objects.segment import SegmentData, build_segment
from sightline.index.protocol import ObjectColumns
from sightline.model.config import StoreConfig
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.packet import Packet
from sightline.stages.exchange.target import Target
from sightline.store.array_file import write_array_file
from sightline.store.files import FileEntry, new_name
from sightline.store.kinds import FileKind
from sightline.store.slices import cut, stack_of
from sightline.text.term_batch import TermBatch

MIN_SLICE_ROWS = 1 << 16  # slices with fewer rows share a segment with their neighbours


def write_segments(
    target: Target, packets: Sequence[Packet], worker: int, job: Job, config: StoreConfig
) -> list[FileEntry]:
    """Build and write the segments of one worker's own rows; returns their log entries."""
    flats = [packet.objects() for packet in packets]
    columns = pa.Table.from_batches([packet.columns for packet in packets])
    objects = ObjectColumns(
        np.concatenate([flat.lon for flat in flats]),
        np.concatenate([flat.lat for flat in flats]),
        np.concatenate([flat.ts for flat in flats]),
        TermBatch.concat([packet.terms for packet in packets]),
    )
    entries = []
    for piece in cut(objects.ts, config.slice_us, MIN_SLICE_ROWS):
        for begin in range(0, len(piece.rows), job.segment_rows):
            rows = piece.rows[begin : begin + job.segment_rows]
            whole = len(rows) == len(objects)
            part = (
                objects
                if whole
                else ObjectColumns(objects.lon[rows], objects.lat[rows], objects.ts[rows], objects.terms.take(rows))
            )
            data = build_segment(
                part, columns if whole else columns.take(column_of(rows)), config.indexes.objects, config.space.bounds
            )
            entries.append(write_segment(target, data, stack_of(f"w{worker}", piece.lo, piece.hi), worker))
    return entries


def write_segment(target: Target, data: SegmentData, stack: str, worker: int) -> FileEntry:
    """Write a built segment; the entry carries what a search prunes by."""
    name = new_name(FileKind.SEGMENT)
    size = write_array_file(target.path(name), data.arrays, data.meta, durable=target.durable)
    low, high = data.meta["ts"]
    meta = {"bbox": data.meta["bbox"], "worker": worker}
    return FileEntry(
        kind=FileKind.SEGMENT, name=name, rows=data.meta["rows"], bytes=size, stack=stack, low=low, high=high, meta=meta
    )
