"""Nearest subscriptions (CKQ): candidates at the workers, the k nearest where they are merged.

A worker sends on every object that could enter: keywords match and the distance is at most the subscription's current
k-th distance (radius feedback, SSTD section 6.1). Merging puts candidates and the stored k together; the difference
between before and after is what the batch emits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.index.standing.block import QueryBlock
from sightline.model.time import MAX_US
from sightline.stages.job import Job
from sightline.stages.mapped import FILES
from sightline.stages.packet import Packet
from sightline.stages.standing import NEAREST, Lifetimes, open_compiled
from sightline.store.array_file import ArrayFile
from sightline.store.keyed_file import KeyedFile

NO_BOUND = MAX_US
NEW = np.iinfo(np.int32).max  # stands for the stored rank of a candidate: after every stored row
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


def radii(block: QueryBlock, job: Job) -> npt.NDArray[np.int64]:
    """Current k-th distance of every subscription of a block; without bound while fewer than k were seen."""
    out = np.full(len(block.num), NO_BOUND, np.int64)
    newest = np.zeros(len(block.num), np.int64)
    order = np.argsort(block.num)
    sorted_num = block.num[order]
    for name, version in job.nearest_state:
        num, held, farthest, batch = FILES.get(job.store, name, "radii", partial(_file_radii, version=version))
        at = np.searchsorted(sorted_num, num)
        known = at < len(sorted_num)
        known[known] = sorted_num[at[known]] == num[known]
        known[known] = batch[known] > newest[order[at[known]]]
        rows = order[at[known]]
        newest[rows] = batch[known]
        out[rows] = np.where(held[known] >= block.k[rows], farthest[known], NO_BOUND)
    return out


class _Radii(NamedTuple):
    """Of the subscriptions in a state file: number, objects held, distance of the farthest, batch of the state."""

    num: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    farthest: npt.NDArray[np.int64]
    batch: npt.NDArray[np.int64]


def _file_radii(file: ArrayFile, version: int) -> _Radii:
    state, offsets = KeyedFile(file, version), file.array("offsets")
    last = offsets[1:] - 1
    columns = state.columns()
    distance, batch = columns["distance_mm"].to_numpy(), columns["batch"].to_numpy()
    return _Radii(state.keys, np.diff(offsets), distance[last], batch[last])


def nearest_candidates(
    packets: Sequence[Packet], worker: int, job: Job, lifetimes: Lifetimes, count: Callable[[str, int], None]
) -> pa.Table | None:
    """Objects that may enter a nearest subscription: num, k, row, distance_mm and the object's columns."""
    tables = []
    for layer in open_compiled(job, NEAREST, worker):
        block, bound = layer.block, radii(layer.block, job)
        bound[lifetimes.closed(block)] = NO_BOUND  # what these would have matched is late, at any distance
        for packet in packets:
            flat = packet.objects()
            found = layer.index.candidates(flat, bound)  # type: ignore[union-attr]
            count("candidates", found.checked)
            counted, late = lifetimes.judge(block, found.object, found.query, flat.ts)
            count("late", late)
            query, row, distance = found.query[counted], found.object[counted], found.distance_mm[counted]
            keep = _k_first(query, distance, flat.ts[row], block.k)
            query, row, distance = query[keep], row[keep], distance[keep]
            if len(row) == 0:
                continue
            columns = packet.columns.select(["id", "ts", "lon", "lat", "text"]).take(pa.array(row))
            tables.append(
                pa.table(
                    [*map(pa.array, (block.num[query], block.k[query], packet.row[row], distance)), *columns.columns],
                    names=["num", "k", "row", "distance_mm", "object_id", "ts", "lon", "lat", "text"],
                )
            )
    return pa.concat_tables(tables) if tables else None


def _k_first(
    query: npt.NDArray[np.int32], distance: npt.NDArray[np.int64], ts: npt.NDArray[np.int64], k: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Candidates that can be among the k first of their query in this packet, ties on (distance, ts) included."""
    order = np.lexsort((-ts, distance, query))
    query, distance, ts = query[order], distance[order], ts[order]
    first = np.searchsorted(query, query, side="left")
    last = np.minimum(first + k[query], np.searchsorted(query, query, side="right")) - 1
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
    nums, first = np.unique(candidates["num"].to_numpy(), return_index=True)
    k_of = candidates["k"].to_numpy()[first]
    fresh = _distinct(candidates).drop(["row", "k"])
    fresh = fresh.append_column("stored", pa.array(np.full(fresh.num_rows, NEW, np.int32)))
    held = _stored(nums, job)
    both = pa.concat_tables([fresh, held.select(fresh.schema.names).cast(fresh.schema)])
    both = both.take(pc.sort_indices(both, sort_keys=ORDER))
    num, stored = both["num"].to_numpy(), both["stored"].to_numpy()
    rank = np.arange(len(num)) - np.searchsorted(num, num) + 1
    inside = rank <= k_of[np.searchsorted(nums, num)]
    enters, leaves = inside & (stored == NEW), ~inside & (stored != NEW)
    changed = np.isin(num, num[enters])
    columns = ["num", "distance_mm", "object_id", "ts", "lon", "lat", "text"]
    state = (
        both.select(columns).append_column("rank", pa.array(rank.astype(np.int32))).filter(pa.array(inside & changed))
    )
    told = enters | leaves
    events = both.select(["num", "object_id", "distance_mm", "ts"])
    events = events.append_column("event", pa.array(np.where(enters, "enter", "leave")))
    events = events.append_column("rank", pa.array(np.where(enters, rank, stored).astype(np.int32)))
    return state, events.filter(pa.array(told))


def _stored(nums: npt.NDArray[np.int64], job: Job) -> pa.Table:
    """Stored rows of some subscriptions, with their rank as ``stored``; the newest batch of each counts.

    A merged file has rows of several batches, so the order of the files says nothing.
    """
    parts = []
    for name, version in job.nearest_state:
        state = FILES.get(job.store, name, "keyed", partial(KeyedFile, version=version))
        found = np.intersect1d(state.keys, nums, assume_unique=True)
        if len(found):
            keys = state.row_keys()
            rows = np.flatnonzero(np.isin(keys, found))
            parts.append(state.columns().take(pa.array(rows)).append_column("num", pa.array(keys[rows])))
    if not parts:
        return STATE_SCHEMA.empty_table()
    joined = pa.concat_tables([part.select([*STATE_COLUMNS, "num", "batch"]) for part in parts])
    num, batch = joined["num"].to_numpy(), joined["batch"].to_numpy()
    newest = np.zeros(len(nums), np.int64)
    at = np.searchsorted(nums, num)
    np.maximum.at(newest, at, batch)
    joined = joined.filter(pa.array(batch == newest[at])).drop(["batch"])
    return joined.rename_columns([*STATE_COLUMNS[:-1], "stored", "num"])


def _distinct(candidates: pa.Table) -> pa.Table:
    """Each (subscription, row) once: a partitioner may have sent an object to several workers."""
    num, row = candidates["num"].to_numpy(), candidates["row"].to_numpy()
    order = np.lexsort((row, num))
    repeat = np.zeros(len(order), np.bool_)
    repeat[1:] = (num[order][1:] == num[order][:-1]) & (row[order][1:] == row[order][:-1])
    return candidates.take(pa.array(order[~repeat])) if repeat.any() else candidates
