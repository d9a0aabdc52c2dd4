"""Rows of the two exchanges: a destination, a kind, and one binary value."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

OBJECTS = 0  # a packet, route -> work
REJECTS = 1  # rejected rows, route -> work
RECEIPT = 2  # JSON: files written and counters; forwarded to the driver
MARK = 3  # JSON: smallest and largest ts of a worker's objects, to every merge partition
MATCHES = 4  # range matches of a partitioner that may find a pair twice, work -> merge
NEAREST = 5  # candidates of nearest subscriptions, work -> merge
PANES = 6  # term counts per pane of top-terms subscriptions, work -> merge
LATE = 8  # pairs that came too late, where several workers may find the same, work -> merge
LEAVES = 7  # JSON: objects per leaf of the partitioning, route -> work


class Parcel(NamedTuple):
    """One row of an exchange."""

    worker: int  # destination partition
    kind: int
    blob: bytes | pa.Buffer  # a view of the exchange's memory on the receiving side


def to_ipc(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_ipc(blob: bytes | pa.Buffer) -> pa.Table:
    """The table of an Arrow IPC stream."""
    return pa.ipc.open_stream(blob).read_all()
