"""Receipts of tasks, of routers, workers and mergers alike: what a task did, which only the driver reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sightline.stages.exchange.parcel import Parcel, ParcelKind
from sightline.store.files import FileEntry
from sightline.store.records import decode, encode


@dataclass
class Receipt:
    """Files to commit and what was counted.

    Attributes
    ----------
    token : str
        Of the store, as the task read it.
    files : list of FileEntry
        A router's are its sample and what it has learnt.
    leaves, cells : str
        Of a router: objects per leaf of the partitioning and per cell of the statistics (`tallies`).
    routing_s : float
        Of a router: seconds spent on asking the routing and the summaries.
    low_us, high_us : int or None
        Span of time of the objects that it counts; a router counts those that their owner does not get.
    """

    token: str
    files: list[FileEntry] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    leaves: str = ""
    cells: str = ""
    routing_s: float = 0.0
    low_us: int | None = None
    high_us: int | None = None

    def count(self, name: str, by: int) -> None:
        if by:
            self.counters[name] = self.counters.get(name, 0) + by

    def saw(self, ts: npt.NDArray[np.int64]) -> None:
        """Count objects and their span of time."""
        if len(ts) == 0:
            return
        self.count("objects", len(ts))
        low, high = int(ts.min()), int(ts.max())
        self.low_us = low if self.low_us is None else min(low, self.low_us)
        self.high_us = high if self.high_us is None else max(high, self.high_us)

    def parcel(self, worker: int = 0) -> Parcel:
        """The receipt on its way to the driver, by way of any partition of the next stage."""
        return Parcel(worker, ParcelKind.RECEIPT, json.dumps(encode(self)).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Receipt:
        """The receipt in the value of a parcel."""
        return decode(cls, json.loads(data))
