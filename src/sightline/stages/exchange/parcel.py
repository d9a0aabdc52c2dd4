"""Rows of the two exchanges: a destination, a kind, and one binary value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

from sightline.flat.ipc import Pieces, Value, streams, whole


class ParcelKind(IntEnum):
    """What a value is, and which way it goes.

    A receipt is addressed to the driver, but a job has one way out: so the stages after the one that wrote it pass it
    on, from whatever partition it was given to, and do not read it.
    """

    OBJECTS = 0  # a packet, route -> work
    REJECTS = 1  # rejected rows, route -> work
    RECEIPT = 2  # what a task did, any stage -> driver
    MARK = 3  # JSON: largest ts of a worker's objects, work -> every merge partition
    MATCHES = 4  # range matches of a partitioner that may find a pair twice, work -> merge
    NEAREST = 5  # candidates of nearest subscriptions, work -> merge
    PANES = 6  # term counts per pane of top-terms subscriptions, work -> merge
    LATE = 7  # pairs that came too late, where several workers may find the same, work -> merge


class Parcel(NamedTuple):
    """One row of an exchange."""

    worker: int  # destination partition
    kind: int  # a ParcelKind; more while its value is handed over as a file
    blob: Value  # a view of the exchange's memory on the receiving side


def delivered(parcels: Iterable[Parcel], partition: int) -> Iterator[Parcel]:
    """The parcels of a partition, which must be addressed to it."""
    for parcel in parcels:
        if parcel.worker != partition:
            raise AssertionError(f"a parcel for partition {parcel.worker} reached partition {partition}")
        yield parcel


def to_ipc(table: pa.Table) -> Pieces:
    """A table as an Arrow IPC stream."""
    return streams(table)


def from_ipc(blob: Value) -> pa.Table:
    """The table of an Arrow IPC stream."""
    return pa.ipc.open_stream(whole(blob)).read_all()
