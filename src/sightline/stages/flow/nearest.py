"""Nearest subscriptions (CKQ): candidates at the workers, the k nearest where they are merged.

A worker sends on every object that could enter: keywords match and the distance is at most the subscription's current
k-th distance (radius feedback, SSTD section 6.1), which goes on shrinking within the batch. Merging puts candidates and
the stored k together; the difference between before and after is what the batch emits.

Files hold the state of the subscriptions a batch changed. What a batch costs is what it changes, plus a pass over the
radii: a process keeps these and adds the files it has not read, and of the files of the state only the rows of
changed subscriptions are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.flat.columns import column_of, empty_table, values_of
from sightline.index.protocol import NO_BOUND, NearestBounds
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.keywords import spread_rows
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.packet import Packet
from sightline.stages.flow.late import Count, LatePairs
from sightline.stages.registered.standing import LayerKind, Lifetimes, open_compiled
from sightline.store.keyed_file import KeyedFile

Flags = npt.NDArray[np.bool_]
NEW = np.iinfo(np.int32).max  # stands for the stored rank of a candidate: after every stored row
_EVENTS = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 5, 10], np.int32)), pa.py_buffer(b"leaveenter"))
# Order of the semantics page: distance, newer first, id, lon, lat, text. Of equal rows the one
# that was there first stays first.
ORDER = [
    ("num", "ascending"),
    ("distance_mm", "ascending"),
    ("ts", "descending"),
    ("object_id", "ascending"),
    ("lon", "ascending"),
    ("lat", "ascending"),
    ("text", "ascending"),
    ("stored", "ascending"),
]

STATE_COLUMNS = ["distance_mm", "object_id", "ts", "lon", "lat", "text", "rank"]
STATE_SCHEMA = pa.schema(
    [
        ("distance_mm", pa.int64()),
        ("object_id", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("lon", pa.float64()),
        ("lat", pa.float64()),
        ("text", pa.string()),
        ("stored", pa.int32()),
        ("num", pa.int64()),
    ]
)


class Radii:
    """Current k-th distance of every subscription of a block, as far as the state files read so far tell.

    A batch reads the files it has not seen. Files go only when they are merged, and what is merged into is not newer
    than what was read: so nothing read has to be taken back.
    """

    def __init__(self, block: QueryBlock) -> None:
        self.order = np.argsort(block.num, kind="stable")
        self.sorted_num = block.num[self.order]
        self.k = block.k
        self.radius = np.full(len(block), NO_BOUND, np.int64)
        self.newest = np.zeros(len(block), np.int64)
        self.read: set[str] = set()

    def rows_of(self, num: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Which of these (ascending) numbers stand in the block, and their rows."""
        at = np.searchsorted(self.sorted_num, num)
        known = np.flatnonzero(at < len(self.sorted_num))
        known = known[self.sorted_num[at[known]] == num[known]]
        return known, self.order[at[known]]

    def refresh(self, job: Job) -> npt.NDArray[np.int64]:
        """The radii before a batch, in an array of their own; unbounded while fewer than k were seen."""
        for name, version in job.nearest_state:
            if name not in self.read:
                self._add(FILES.get(job.store, name, "keyed", partial(KeyedFile, version=version)))
        self.read = {name for name, _ in job.nearest_state}
        return self.radius.copy()

    def _add(self, state: KeyedFile) -> None:
        known, rows = self.rows_of(state.keys)
        offsets = state.file.array("offsets")
        last = offsets[1:][known] - 1
        held = last + 1 - offsets[known]
        batch = _numbers(state.columns(), "batch")[last]
        farthest = _numbers(state.columns(), "distance_mm")[last]
        newer = batch > self.newest[rows]
        rows, held, farthest = rows[newer], held[newer], farthest[newer]
        self.newest[rows] = batch[newer]
        self.radius[rows] = np.where(held >= self.k[rows], farthest, NO_BOUND)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """A column of whole numbers, not copied where it is one piece."""
    column = table.column(name)
    return np.asarray(values_of(column), np.int64)


def nearest_candidates(
    packets: Sequence[Packet], worker: int, job: Job, lifetimes: Lifetimes, count: Count, late: LatePairs
) -> pa.Table | None:
    """Objects that may enter a nearest subscription: num, k, row, distance_mm and the object's columns."""
    tables = []
    times = [packet.objects().ts for packet in packets]
    span = min(int(ts.min()) for ts in times), max(int(ts.max()) for ts in times)
    names = job.compiled[LayerKind.NEAREST][worker] if LayerKind.NEAREST in job.compiled else []
    for name, layer in zip(names, open_compiled(job, LayerKind.NEAREST, worker), strict=True):
        block, closed = layer.block, lifetimes.closed(layer.block)
        bounds = _bounds(name, block, closed, span, job, lifetimes)
        for packet in packets:
            flat = packet.objects()
            found = layer.index.candidates(flat, bounds)  # type: ignore[union-attr]
            count("candidates", found.checked)
            over = closed[found.query]
            late.add(block.num[found.query[over]], packet.row[found.object[over]])
            counted = np.flatnonzero(~over)
            query, row, distance = found.query[counted], found.object[counted], found.distance_mm[counted]
            keep = _k_first(query, distance, flat.ts[row], block.k, bounds.radius_mm)
            query, row, distance = query[keep], row[keep], distance[keep]
            if len(row) == 0:
                continue
            columns = packet.columns.select(["id", "ts", "lon", "lat", "text"]).take(column_of(row))
            tables.append(
                pa.table(
                    [*map(column_of, (block.num[query], block.k[query], packet.row[row], distance)), *columns.columns],
                    names=["num", "k", "row", "distance_mm", "object_id", "ts", "lon", "lat", "text"],
                )
            )
    return pa.concat_tables(tables) if tables else None


def _bounds(
    name: str, block: QueryBlock, closed: Flags, span: tuple[int, int], job: Job, lifetimes: Lifetimes
) -> NearestBounds:
    """What can be of interest in a batch whose times lie in ``span``.

    What a closed subscription would have matched is late, at any distance: all of it is asked for, unless no object
    of the batch lies in its lifetime.
    """
    radii = FILES.get(job.store, name, "radii", lambda _: Radii(block))
    radius = radii.refresh(job)
    asleep = (block.start > span[1]) | (block.end <= span[0])
    radius[closed] = np.where(asleep[closed], -1, NO_BOUND)
    radius[radii.rows_of(lifetimes.dropped)[1]] = -1
    return NearestBounds(radius, np.where(closed, 0, block.k), block.start, block.end)


def _k_first(
    query: npt.NDArray[np.int32],
    distance: npt.NDArray[np.int64],
    ts: npt.NDArray[np.int64],
    k: npt.NDArray[np.int32],
    radius: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Candidates that can be among the k first of their query in this packet, ties on (distance, ts) included.

    Where there are k of them, ``radius`` is lowered to the distance of the k-th: later packets bring nothing beyond.
    """
    order = np.lexsort((-ts, distance, query))
    query, distance, ts = query[order], distance[order], ts[order]
    first, end = np.searchsorted(query, query, side="left"), np.searchsorted(query, query, side="right")
    last = np.minimum(first + k[query], end) - 1
    full = np.flatnonzero(first + k[query] <= end)
    radius[query[full]] = np.minimum(radius[query[full]], distance[last[full]])
    kept: npt.NDArray[np.int64] = order[(distance < distance[last]) | ((distance == distance[last]) & (ts >= ts[last]))]
    return kept


def merge_nearest(candidates: pa.Table, job: Job) -> tuple[pa.Table, pa.Table]:
    """New state of the subscriptions that changed, and the events of the change.

    Parameters
    ----------
    candidates : num, k, row, distance_mm, object_id, ts, lon, lat, text

    Returns
    -------
    state : num, rank, distance_mm, object_id, ts, lon, lat, text
    events : num, event, rank, object_id, distance_mm, ts
    """
    nums, first = np.unique(values_of(candidates["num"]), return_index=True)
    k_of = values_of(candidates["k"])[first]
    fresh = _distinct(candidates).drop(["row", "k"])
    fresh = fresh.append_column("stored", column_of(np.full(fresh.num_rows, NEW, np.int32)))
    held = _stored(nums, job)
    both = pa.concat_tables([fresh, held.select(fresh.schema.names).cast(fresh.schema)])
    both = both.take(column_of(_sorted(both)))
    num, stored = values_of(both["num"]), values_of(both["stored"])
    rank = np.arange(len(num)) - np.searchsorted(num, num) + 1
    inside = rank <= k_of[np.searchsorted(nums, num)]
    enters, leaves = inside & (stored == NEW), ~inside & (stored != NEW)
    at = np.searchsorted(nums, num)
    changed = np.bincount(at[enters], minlength=len(nums))[at] > 0
    columns = ["num", "distance_mm", "object_id", "ts", "lon", "lat", "text"]
    state = (
        both.select(columns).append_column("rank", column_of(rank.astype(np.int32))).filter(column_of(inside & changed))
    )
    told = enters | leaves
    events = both.select(["num", "object_id", "distance_mm", "ts"])
    events = events.append_column("event", _EVENTS.take(column_of(enters.astype(np.int8))))
    events = events.append_column("rank", column_of(np.where(enters, rank, stored).astype(np.int32)))
    return state, events.filter(column_of(told))


def _sorted(both: pa.Table) -> npt.NDArray[np.int64]:
    """Places in :data:`ORDER`: numbers first; strings are compared only where distance and time are equal."""
    num, distance = values_of(both["num"]), values_of(both["distance_mm"])
    ts = values_of(both["ts"].cast(pa.int64()))
    order = np.lexsort((-ts, distance, num))
    same = np.ones(len(order) + 1, np.bool_)
    same[0] = same[-1] = False
    for key in (num, distance, ts):
        same[1:-1] &= key[order[1:]] == key[order[:-1]]
    tied = np.flatnonzero(same[1:] | same[:-1])
    if len(tied):
        rows = order[tied]
        order[tied] = rows[values_of(pc.sort_indices(both.take(column_of(rows)), sort_keys=ORDER))]
    return order


def _stored(nums: npt.NDArray[np.int64], job: Job) -> pa.Table:
    """Stored rows of some subscriptions, with their rank as ``stored``; the newest batch of each counts.

    A merged file has rows of several batches, so the order of the files says nothing.
    """
    newest = np.zeros(len(nums), np.int64)  # batch of the newest rows of each number
    source = np.full(len(nums), -1, np.int64)  # file that has them
    place = np.zeros(len(nums), np.int64)  # and where among its keys
    files = [FILES.get(job.store, name, "keyed", partial(KeyedFile, version=v)) for name, v in job.nearest_state]
    for i, state in enumerate(files):
        at = np.searchsorted(state.keys, nums)
        known = np.flatnonzero(at < len(state.keys))
        known = known[state.keys[at[known]] == nums[known]]
        batch = _numbers(state.columns(), "batch")[state.file.array("offsets")[at[known]]]
        known, batch = known[batch > newest[known]], batch[batch > newest[known]]
        newest[known], source[known], place[known] = batch, i, at[known]
    parts = [empty_table(STATE_SCHEMA)]
    for i in np.unique(source[source >= 0]).tolist():
        mine = np.flatnonzero(source == i)
        offsets, rows = spread_rows(files[i].file.array("offsets"), place[mine])
        columns = files[i].columns().select(STATE_COLUMNS).take(column_of(rows))
        columns = columns.append_column("num", column_of(np.repeat(nums[mine], np.diff(offsets))))
        parts.append(columns.rename_columns(STATE_SCHEMA.names).cast(STATE_SCHEMA))
    return pa.concat_tables(parts)


def _distinct(candidates: pa.Table) -> pa.Table:
    """Each (subscription, row) once: a partitioner may have sent an object to several workers."""
    num, row = values_of(candidates["num"]), values_of(candidates["row"])
    order = np.lexsort((row, num))
    repeat = np.zeros(len(order), np.bool_)
    repeat[1:] = (num[order][1:] == num[order][:-1]) & (row[order][1:] == row[order][:-1])
    return candidates.take(column_of(order[~repeat])) if repeat.any() else candidates
