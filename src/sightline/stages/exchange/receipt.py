"""Receipts of tasks: what a task did, which only the driver reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from sightline.flat.ipc import Value, whole
from sightline.store.files import FileEntry
from sightline.store.records import decode, encode


@dataclass
class Receipt:
    """Files to commit and what was counted.

    Attributes
    ----------
    token : str
        Of the store, as the task read it.
    leaves, cells : list of str
        Objects per leaf of the partitioning and per cell of the statistics, by route tasks that reported here
        (`tallies`).
    routing_s : float
        Spent on asking the routing and the summaries, by these.
    low_us, high_us : int or None
        Span of time of the objects that it counts.
    """

    token: str
    files: list[FileEntry] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    leaves: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    routing_s: float = 0.0
    low_us: int | None = None
    high_us: int | None = None

    def count(self, name: str, by: int) -> None:
        if by:
            self.counters[name] = self.counters.get(name, 0) + by

    def saw(self, objects: int, low_us: int, high_us: int) -> None:
        """Count objects and their span of time."""
        self.count("objects", objects)
        self.low_us = low_us if self.low_us is None else min(low_us, self.low_us)
        self.high_us = high_us if self.high_us is None else max(high_us, self.high_us)

    def to_bytes(self) -> bytes:
        return json.dumps(encode(self)).encode()

    @classmethod
    def from_bytes(cls, data: Value) -> Receipt:
        """Inverse of :meth:`to_bytes`."""
        return decode(cls, json.loads(bytes(whole(data))))
