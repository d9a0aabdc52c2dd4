"""Rows of the two exchanges: a destination, a kind, and one binary value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.columns import column_of, values_of
from sightline.flat.ipc import Pieces, Value, streams, whole

OBJECTS = 0  # a packet, route -> work
REJECTS = 1  # rejected rows, route -> work
RECEIPT = 2  # JSON: files written and counters; forwarded to the driver
MARK = 3  # JSON: smallest and largest ts of a worker's objects, to every merge partition
MATCHES = 4  # range matches of a partitioner that may find a pair twice, work -> merge
NEAREST = 5  # candidates of nearest subscriptions, work -> merge
PANES = 6  # term counts per pane of top-terms subscriptions, work -> merge
LATE = 8  # pairs that came too late, where several workers may find the same, work -> merge
LEAVES = 7  # JSON: objects per leaf of the partitioning and per cell of the statistics, route -> work
LEARNT = 9  # what a router has learnt, route -> work


class Parcel(NamedTuple):
    """One row of an exchange."""

    worker: int  # destination partition
    kind: int
    blob: Value  # a view of the exchange's memory on the receiving side


def pack_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> Pieces:
    """Named flat arrays as one value: a row of lists."""
    ends = [column_of(np.array([0, array.size], np.int32)) for array in arrays.values()]
    columns = [pa.ListArray.from_arrays(end, column_of(a)) for end, a in zip(ends, arrays.values(), strict=True)]
    return to_ipc(pa.table(columns, names=list(arrays)))


def unpack_arrays(blob: Value) -> dict[str, npt.NDArray[Any]]:
    """The arrays of :func:`pack_arrays`."""
    table = from_ipc(blob)
    return {name: values_of(table[name].chunk(0).values) for name in table.column_names}


def to_ipc(table: pa.Table) -> Pieces:
    """A table as an Arrow IPC stream."""
    return streams(table)


def from_ipc(blob: Value) -> pa.Table:
    """The table of an Arrow IPC stream."""
    return pa.ipc.open_stream(whole(blob)).read_all()
