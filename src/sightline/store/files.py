"""What the log says about a data file."""

from __future__ import annotations

import base64
import re
import uuid
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

FILTER_BYTES = 1024  # a key filter larger than this is left out of the log
DATA_NAME = re.compile(r"[a-z][a-z0-9_-]*/[0-9a-f]{32}\.[a-z0-9]+")


def new_name(kind: str, suffix: str = ".sl") -> str:
    """A fresh file name, ``kind/<uuid>.sl``.

    Random, because task attempt numbers restart with every Spark context.
    """
    name = f"{kind}/{uuid.uuid4().hex}{suffix}"
    if not DATA_NAME.fullmatch(name):
        raise ValueError(f"kind {kind!r} or suffix {suffix!r} does not make a file name")
    return name


def key_filter(keys: npt.NDArray[np.int64]) -> str | None:
    """Exact set of keys as base64 text, None when it would be over 1 KB or has negative keys."""
    if len(keys) == 0 or int(keys.min()) < 0:
        return None
    distinct = np.unique(keys)
    runs = 1 + int(np.count_nonzero(np.diff(distinct) != 1))
    if min(2 * len(distinct), 4 * runs) > FILTER_BYTES:  # a roaring set needs at least this; do not build it
        return None
    data: bytes = BitMap64(distinct.astype(np.uint64)).serialize()
    return base64.b64encode(data).decode() if len(data) <= FILTER_BYTES else None


@lru_cache(maxsize=4096)
def _decoded(text: str) -> BitMap64:
    return BitMap64.deserialize(base64.b64decode(text))


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A data file as named by the commit log.

    Attributes
    ----------
    kind, name : str
        What it is (:class:`~sightline.store.kinds.FileKind`), and its path under the store's data folder.
    rows, bytes : int
        Size.
    stack : str
        The merge stack it belongs to; only files of one kind and stack are merged.
    low, high : int
        Smallest and largest key (result files: subscription number; segments: ts in microseconds).
    version : int
        Newest commit whose rows it holds: 0 until committed; a merged file keeps the newest of its parts, so
        that a stack sorted by version stays in the order of its data.
    keys : str or None
        Key filter, see :func:`key_filter`.
    meta : dict
        Further JSON values of whoever wrote it.
    """

    kind: str
    name: str
    rows: int
    bytes: int
    stack: str = ""
    low: int = 0
    high: int = 0
    version: int = 0
    keys: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def may_hold(self, key: int) -> bool:
        """Whether the file can have rows of `key` (never False for a key it has)."""
        if not self.low <= key <= self.high:
            return False
        return self.keys is None or key in _decoded(self.keys)

    def committed(self, version: int) -> FileEntry:
        """The entry with its commit version, unless it has one."""
        return self if self.version else replace(self, version=version)
