"""The control log: what users ask for, appended by any process, in one order for all.

Each entry also numbers its subscriptions: an entry that registers `count` of them gets the numbers
``first_num`` to ``next_num - 1``, dense over the whole log, whoever appended.

Every 256 entries are also kept in one chunk file, so that opening after 10,000 single requests reads
about 40 chunks and at most 255 entries. Chunks are derived data, written by whoever fills them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sightline.model.errors import CorruptFile
from sightline.store.log_store import LogStore
from sightline.store.numbered_log import DIGITS, NumberedLog
from sightline.store.records import encode
from sightline.store.requests import Request, request_from
from sightline.store.sealed_json import seal, unseal

CHUNK_ENTRIES = 256


@dataclass(frozen=True, slots=True)
class ControlEntry:
    """One request: its place in the log, what it asks, and the subscription numbers it owns."""

    position: int
    request: Request
    first_num: int
    next_num: int

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        return {
            "position": self.position,
            "kind": self.request.kind,
            "body": encode(self.request),
            "first_num": self.first_num,
            "next_num": self.next_num,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> ControlEntry:
        """Inverse of :meth:`to_json`."""
        request = request_from(body["kind"], body["body"])
        return cls(body["position"], request, body["first_num"], body["next_num"])


class ControlLog:
    """Appends and reads requests; safe for threads and for any number of processes."""

    def __init__(self, log_store: LogStore, *, chunk: int = CHUNK_ENTRIES) -> None:
        self._log = NumberedLog(log_store)
        self._chunk = chunk
        self._lock = threading.RLock()
        self._entries: list[ControlEntry] = []
        self._opened = False

    def append(self, request: Request | Callable[[], Request], count: int = 0) -> ControlEntry:
        """Add a request at the end and return it with its position and numbers; durable on return.

        A function is called each time everything before the place aimed at has been read, and raises to withdraw: what
        it has seen is exactly what will stand before its request.
        """
        if count < 0:
            raise ValueError(f"count {count} is negative")
        with self._lock:
            while True:
                self._read_ahead()
                asked = request if isinstance(request, Request) else request()
                first = self._entries[-1].next_num if self._entries else 0
                entry = ControlEntry(len(self._entries), asked, first, first + count)
                if self._log.put(entry.position, entry.to_json()):
                    break
            self._entries.append(entry)
            if len(self._entries) % self._chunk == 0:
                with contextlib.suppress(OSError):
                    self._write_chunk(len(self._entries) // self._chunk - 1)
            return entry

    def read(self, after: int = -1) -> list[ControlEntry]:
        """All entries with a position after `after`, oldest first, as of now."""
        with self._lock:
            self._read_ahead()
            return self._entries[after + 1 :]

    def _read_ahead(self) -> None:
        """Read everything appended since, chunk files first."""
        while True:
            at = len(self._entries)
            chunk = self._read_chunk(at // self._chunk) if at % self._chunk == 0 else None
            if chunk is not None:
                self._entries += chunk
            elif (body := self._log.get(at)) is not None:
                self._entries.append(ControlEntry.from_json(body))
            else:
                break
        if not self._opened:
            self._log.check_dense(len(self._entries) - 1)
            self._opened = True

    def _chunk_name(self, index: int) -> str:
        return f"{index:0{DIGITS}d}.chunk.json"

    def _read_chunk(self, index: int) -> list[ControlEntry] | None:
        name = self._chunk_name(index)
        try:
            rows = unseal(self._log.store.read(name), name)["entries"]
        except (FileNotFoundError, CorruptFile):
            return None
        return [ControlEntry.from_json(row) for row in rows]

    def _write_chunk(self, index: int) -> None:
        rows = self._entries[index * self._chunk : (index + 1) * self._chunk]
        self._log.store.replace(self._chunk_name(index), seal({"entries": [row.to_json() for row in rows]}))
