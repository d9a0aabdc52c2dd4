"""Standing queries of one worker, as the work stage holds them: compiled files, mapped.

A compiled file holds a query block (without its strings) and the index over it. A worker has one base and at most one
small delta per kind; numbers dropped since the base was compiled are filtered from its answers. Of range queries the
block has numbers and lifetimes only: everything else is asked of the index.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import frozen
from sightline.geo.region_table import RegionTable
from sightline.index.protocol import NearestIndex, StandingIndex
from sightline.index.registry import nearest_index, standing_index
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space
from sightline.model.time import MAX_US
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.mapped import FILES
from sightline.stages.registered._kernels import keep_alive
from sightline.stages.registered.marks import passed_us
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.text.dictionary import TermDictionary

BLOCK, INDEX = "block.", "index."


class LayerKind(StrEnum):
    """What compiled files are for."""

    RANGE = "range"
    NEAREST = "nearest"
    TOP_TERMS = "top_terms"
    WINDOWS = "windows"  # all top-terms subscriptions, whatever worker counts for them: the merge stage reports windows
    SUMMARY = "summary"  # the terms that range and nearest subscriptions wait for: the route stage asks it


@dataclass(frozen=True)
class Compiled:
    """A block of standing queries and the index over it."""

    block: QueryBlock
    index: StandingIndex | NearestIndex


def write_compiled(path: Path, kind: LayerKind, index_name: str, block: QueryBlock, space: Space) -> None:
    """Build the index of a block and write both; not fsynced, because it can be made again from the control log."""
    built = (nearest_index if kind == LayerKind.NEAREST else standing_index)(index_name).build(block, space)
    write_index(path, kind, index_name, built, bare(block) if kind == LayerKind.RANGE else block, space)


def write_index(
    path: Path, kind: LayerKind, index_name: str, index: StandingIndex | NearestIndex, block: QueryBlock, space: Space
) -> None:
    """Write a block and an index over it that exists already."""
    arrays = replace(block, ids=_blank(len(block)), queries=_blank(len(block))).to_arrays(BLOCK)
    arrays |= {INDEX + name: array for name, array in index.to_arrays().items()}
    write_array_file(path, arrays, {"kind": kind, "index": index_name, "space": space.to_dict()}, durable=False)


def bare(block: QueryBlock) -> QueryBlock:
    """A block of range queries without strings, places and words."""
    none, start = np.empty(0, np.int32), np.zeros(1, np.int64)
    return replace(
        block, ids=_blank(len(block)), queries=_blank(len(block)), regions=RegionTable.from_regions([]),
        piece_query=none, piece_box=np.empty((0, 4)), conj_query=none, pos_offsets=start, pos=none,
        neg_offsets=start, neg=none, dictionary=TermDictionary.empty(),
    )  # fmt: skip


def _blank(n: int) -> pa.StringArray:
    """Matching needs no ids and no JSON."""
    return pa.StringArray.from_buffers(n, pa.py_buffer(np.zeros(n + 1, np.int32)), pa.py_buffer(b""))


def _open(file: ArrayFile) -> Compiled:
    space = Space.from_dict(file.meta["space"])
    arrays = {name: file.array(name) for name in file.names}
    index = (nearest_index if file.meta["kind"] == LayerKind.NEAREST else standing_index)(file.meta["index"])
    own = {name.removeprefix(INDEX): array for name, array in arrays.items() if name.startswith(INDEX)}
    return Compiled(QueryBlock.from_arrays(arrays, prefix=BLOCK), index.from_arrays(own, space))


def open_compiled(job: Job, kind: LayerKind, worker: int) -> list[Compiled]:
    """Base and delta of a worker for one kind of subscription."""
    layers = job.compiled.get(kind)
    return [FILES.get(job.store, name, "compiled", _open) for name in layers[worker]] if layers else []


def open_dropped(job: Job) -> npt.NDArray[np.int64]:
    """Sorted numbers that were dropped since the base was compiled."""
    if job.dropped is None:
        return np.empty(0, np.int64)
    return FILES.get(job.store, job.dropped, "dropped", lambda file: file.array("num"))


@dataclass(frozen=True)
class Lifetimes:
    """Which pairs (object, subscription) count: the lifetime of a subscription, and whether it is over.

    A subscription is closed for this batch if an earlier commit included it and had high mark - lateness >= end; what
    it would still have matched is late. Both flags of a block are computed once per job, not per packet.
    """

    job: Job
    dropped: npt.NDArray[np.int64]
    _flags: dict[int, _Flags] = field(default_factory=dict, init=False, repr=False, compare=False)

    def closed(self, block: QueryBlock) -> npt.NDArray[np.bool_]:
        """Which queries of a block were closed before this batch."""
        return self._of(block).closed

    def judge(
        self, block: QueryBlock, obj: npt.NDArray[np.int32], query: npt.NDArray[np.int32], ts: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], int]:
        """Places of the pairs that count, and how many were late; ``ts`` is that of every object of the batch."""
        flags = self._of(block)
        out = np.empty(len(obj), np.int64)
        lives = frozen(block.start, np.int64), frozen(block.end, np.int64)
        pairs = frozen(obj, np.int32), frozen(query, np.int32), frozen(ts, np.int64)
        kept, late = keep_alive(*pairs, *lives, flags.closed, flags.gone, out)
        return out[:kept], late

    def late(
        self, block: QueryBlock, obj: npt.NDArray[np.int32], query: npt.NDArray[np.int32], ts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.intp]:
        """Places of the late pairs; they are few, so that only their number is computed for every batch."""
        flags, at = self._of(block), ts[obj]
        alive = ~flags.gone[query] & (at >= block.start[query]) & (at < block.end[query])
        return np.flatnonzero(alive & flags.closed[query])

    def _of(self, block: QueryBlock) -> _Flags:
        if id(block) not in self._flags:
            gone = np.zeros(len(block), np.bool_)
            rows = np.searchsorted(block.num, self.dropped)  # numbers ascend in a block
            held = rows < len(block)
            rows = rows[held]
            gone[rows[block.num[rows] == self.dropped[held]]] = True
            ends = block.end < MAX_US
            closed = ends & (block.end <= passed_us(self.job.marks, block.num)) if ends.any() else ends
            self._flags[id(block)] = _Flags(block, frozen(closed, np.bool_), frozen(gone, np.bool_))
        return self._flags[id(block)]


class _Flags(NamedTuple):
    """What a job knows of a block, and the block, so that its id stays its own."""

    block: QueryBlock
    closed: npt.NDArray[np.bool_]
    gone: npt.NDArray[np.bool_]
