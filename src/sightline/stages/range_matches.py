"""Range subscriptions (CRQ): the pairs of a worker, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.stages.job import Job
from sightline.stages.packet import Packet
from sightline.stages.standing import RANGE, Lifetimes, open_compiled

OBJECT_COLUMNS = ["object_id", "ts", "lon", "lat", "text"]


@dataclass(frozen=True)
class RangeMatches:
    """Pairs sorted by subscription number; ``object`` points into ``objects``, where a matched object stands once."""

    num: npt.NDArray[np.int64]
    object: npt.NDArray[np.int32]
    objects: pa.Table
    row: npt.NDArray[np.int64]  # row identity of each of ``objects``

    def columns(self) -> pa.Table:
        return pa.table({"object": self.object})

    def with_rows(self) -> pa.Table:
        """One row per pair with the object's columns, for a merge that has to remove repeats."""
        joined = self.objects.take(pa.array(self.object))
        return joined.append_column("num", pa.array(self.num)).append_column("row", pa.array(self.row[self.object]))


def range_matches(
    packets: Sequence[Packet], worker: int, job: Job, lifetimes: Lifetimes, count: Callable[[str, int], None]
) -> RangeMatches | None:
    """All matches of one worker, or None without any."""
    layers = open_compiled(job, RANGE, worker)
    nums: list[npt.NDArray[np.int64]] = []
    objects: list[npt.NDArray[np.int64]] = []
    tables: list[pa.Table] = []
    rows: list[npt.NDArray[np.int64]] = []
    base = 0
    for packet in packets if layers else ():
        flat = packet.objects()
        packet_nums, packet_objects = [], []
        for layer in layers:
            pairs = layer.index.match(flat)  # type: ignore[union-attr]
            counted, late = lifetimes.judge(layer.block, pairs.query, flat.ts[pairs.object])
            count("candidates", pairs.candidates)
            count("late", late)
            packet_nums.append(layer.block.num[pairs.query[counted]])
            packet_objects.append(pairs.object[counted].astype(np.int64))
        num, row = np.concatenate(packet_nums), np.concatenate(packet_objects)
        matched, place = np.unique(row, return_inverse=True)
        nums.append(num)
        objects.append(place + base)
        base += len(matched)
        rows.append(packet.row[matched])
        columns = packet.columns.select(["id", "ts", "lon", "lat", "text"]).take(pa.array(matched))
        tables.append(pa.table(columns.columns, names=OBJECT_COLUMNS))
    if base == 0:
        return None
    num = np.concatenate(nums)
    order = np.argsort(num, kind="stable")
    placed = np.concatenate(objects)[order].astype(np.int32)
    return RangeMatches(num[order], placed, pa.concat_tables(tables), np.concatenate(rows))
