"""What a process keeps between batches: immutable files it has mapped, and nothing else.

A worker process may serve any worker in the next batch and may be lost at any time; everything here is rebuilt from
its file. The cache is keyed by path, because files never change, and bounded in bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sightline.store.array_file import ArrayFile
from sightline.store.store import DATA

T = TypeVar("T")
LIMIT_FILES = 512  # a mapping holds a descriptor
LIMIT_BYTES = 4 << 30  # of mapped files; pages are the kernel's to drop, this bounds address space and descriptors


class MappedFiles:
    """Opened files and what was made of them, least recently used dropped first."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES, limit_files: int = LIMIT_FILES) -> None:
        self.limit_bytes, self.limit_files = limit_bytes, limit_files
        self.bytes = 0
        self._made: OrderedDict[tuple[str, str, str], tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._made)

    def get(self, store: str, name: str, use: str, make: Callable[[ArrayFile], T]) -> T:
        """What ``make`` builds from a data file of a store, made once per path and use."""
        key = (store, name, use)
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key][0]  # type: ignore[return-value]
        path = Path(store) / DATA / name
        made = make(ArrayFile.open(path))
        size = path.stat().st_size
        with self._lock:
            if key not in self._made:
                self._made[key] = (made, size)
                self.bytes += size
            while (self.bytes > self.limit_bytes or len(self._made) > self.limit_files) and len(self._made) > 1:
                _, (_, dropped) = self._made.popitem(last=False)
                self.bytes -= dropped
        return made


FILES = MappedFiles()
