"""Standing queries of one worker, as the work stage holds them: compiled files, mapped.

A compiled file holds a query block (without its strings) and the index over it. A worker has one base and at most one
small delta per kind; numbers dropped since the base was compiled are filtered from its answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.arrays import frozen
from sightline.index.protocol import NearestIndex, StandingIndex
from sightline.index.registry import NEAREST_INDEXES, STANDING_INDEXES
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space
from sightline.model.time import MAX_US
from sightline.stages._kernels import keep_alive
from sightline.stages.job import Job
from sightline.stages.mapped import FILES
from sightline.stages.marks import passed_us
from sightline.store.array_file import ArrayFile, write_array_file

RANGE, NEAREST, TOP_TERMS = "range", "nearest", "top_terms"
WINDOWS = "windows"  # all top-terms subscriptions, whatever worker counts for them: the merge stage reports windows
BLOCK, INDEX = "block.", "index."


@dataclass(frozen=True)
class Compiled:
    """A block of standing queries and the index over it."""

    block: QueryBlock
    index: StandingIndex | NearestIndex


def write_compiled(path: Path, kind: str, index_name: str, block: QueryBlock, space: Space) -> None:
    """Build the index of a block and write both; not fsynced, because it can be made again from the control log."""
    built = (NEAREST_INDEXES if kind == NEAREST else STANDING_INDEXES)[index_name].build(block, space)
    blank = pa.array(np.full(len(block), "", dtype=object), pa.string())  # matching needs no ids and no JSON
    arrays = replace(block, ids=blank, queries=blank).to_arrays(BLOCK)
    arrays |= {INDEX + name: array for name, array in built.to_arrays().items()}
    write_array_file(path, arrays, {"kind": kind, "index": index_name, "space": space.to_dict()}, durable=False)


def _open(file: ArrayFile) -> Compiled:
    space = Space.from_dict(file.meta["space"])
    arrays = {name: file.array(name) for name in file.names}
    registry = NEAREST_INDEXES if file.meta["kind"] == NEAREST else STANDING_INDEXES
    own = {name.removeprefix(INDEX): array for name, array in arrays.items() if name.startswith(INDEX)}
    return Compiled(QueryBlock.from_arrays(arrays, BLOCK), registry[file.meta["index"]].from_arrays(own, space))


def open_compiled(job: Job, kind: str, worker: int) -> list[Compiled]:
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
    it would still have matched is late.
    """

    job: Job
    dropped: npt.NDArray[np.int64]

    def closed(self, block: QueryBlock) -> npt.NDArray[np.bool_]:
        """Which queries of a block were closed before this batch."""
        return (block.end < MAX_US) & (block.end <= passed_us(self.job.marks, block.num))

    def judge(
        self, block: QueryBlock, obj: npt.NDArray[np.int32], query: npt.NDArray[np.int32], ts: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], int]:
        """Places of the pairs that count, and how many were late; ``ts`` is that of every object of the batch."""
        closed = self.closed(block)
        gone = np.isin(block.num, self.dropped) if len(self.dropped) else np.zeros(len(block), np.bool_)
        out = np.empty(len(obj), np.int64)
        lives = frozen(block.start, np.int64), frozen(block.end, np.int64)
        pairs = frozen(obj, np.int32), frozen(query, np.int32), frozen(ts, np.int64)
        kept, late = keep_alive(*pairs, *lives, frozen(closed, np.bool_), frozen(gone, np.bool_), out)
        return out[:kept], late
