"""A file of named flat arrays that any process maps without parsing.

Layout: magic (8 bytes), format version (u32), crc32 of the rest of the head (u32), header length (u64),
header (JSON), then the arrays, each at a multiple of 64 bytes from the start of the data. The header gives
dtype, shape, offset, length and checksum (XXH3, 64 bits) of each array; offsets count from the start of the data, so
they do not depend on the header's own length. Little-endian throughout.

XXH3 because every byte is summed when it is written and at first use: 16 to 32 GB/s, zlib's crc32 2.8 to 3.6.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh3_64, xxh3_64_intdigest

from sightline.flat.ipc import Pieces
from sightline.model.errors import CorruptFile, IncompatibleStore
from sightline.store.disk import write_file
from sightline.store.sealed_json import plain

ARRAY_MAGIC = b"SLARRAY\x1a"
ARRAY_FORMAT = 2
ALIGN = 64
_HEAD = struct.Struct("<8sIIQ")  # magic, format, crc32 of length and header, header length

Blob: TypeAlias = "bytes | bytearray | memoryview | pa.Buffer"
Content: TypeAlias = "npt.NDArray[Any] | Blob | Sequence[Blob] | Pieces"


def write_array_file(
    path: str | Path, arrays: Mapping[str, Content], meta: Mapping[str, Any] | None = None, *, durable: bool = True
) -> int:
    """Write a new file and return its size in bytes.

    Parameters
    ----------
    path : path
        Must not exist. On any failure nothing is left under it.
    arrays : mapping
        Name to array (no object dtype), or to one or several byte buffers (written one after the other).
    meta : mapping, optional
        JSON values; NumPy scalars are converted.
    durable : bool
        Sync the file before returning. The folder is synced by the commit that names the file.
    """
    table: dict[str, Any] = {}
    parts: list[bytes | memoryview] = []
    offset = 0
    for name, content in arrays.items():
        dtype, shape, views = _views(name, content)
        length, checksum = sum(view.nbytes for view in views), xxh3_64()
        for view in views:
            checksum.update(view)
        table[name] = {"dtype": dtype, "shape": shape, "offset": offset, "bytes": length, "xxh3": checksum.intdigest()}
        padding = -length % ALIGN
        parts += [*views, b"\0" * padding]
        offset += length + padding
    header = json.dumps(
        {"arrays": table, "meta": dict(meta or {}), "bytes": offset},
        default=plain,
        separators=(",", ":"),
        allow_nan=False,
    ).encode()
    header += b" " * (-(_HEAD.size + len(header)) % ALIGN)
    crc = zlib.crc32(header, zlib.crc32(struct.pack("<Q", len(header))))
    head = _HEAD.pack(ARRAY_MAGIC, ARRAY_FORMAT, crc, len(header))
    return write_file(Path(path), [head, header, *parts], durable=durable)


class ArrayFile:
    """Frozen reader: a memory map, its header checked at opening, each array's checksum on first use."""

    def __init__(self, path: Path, view: mmap.mmap, header: dict[str, Any], start: int, verify: bool) -> None:
        self.path = path
        self.meta: dict[str, Any] = header["meta"]
        self._table: dict[str, dict[str, Any]] = header["arrays"]
        self._map, self._start = view, start
        self._checked: set[str] = set() if verify else set(self._table)

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> ArrayFile:
        """Map a file; ``CorruptFile`` when its head is damaged or its length wrong."""
        path = Path(path)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            if size < _HEAD.size:
                raise _corrupt(path, "truncated file")
            view = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        magic, version, crc, length = _HEAD.unpack_from(view)
        if magic != ARRAY_MAGIC:
            raise _corrupt(path, "not an array file (wrong first bytes)")
        if version != ARRAY_FORMAT:
            hint = "upgrade sightline" if version > ARRAY_FORMAT else "load the posts into a new store"
            raise IncompatibleStore(
                f"file of another format, {version}", value=str(path), allowed=str(ARRAY_FORMAT), hint=hint
            )
        start = _HEAD.size + length
        if start > size:
            raise _corrupt(path, "truncated file")
        text = view[_HEAD.size : start]
        if crc != zlib.crc32(text, zlib.crc32(struct.pack("<Q", length))):
            raise _corrupt(path, "damaged header")
        header = json.loads(text)
        if size != start + header["bytes"]:
            right = start + header["bytes"]
            raise _corrupt(path, f"truncated or overlong file ({size} bytes instead of {right})")
        return cls(path, view, header, start, verify)

    @property
    def names(self) -> list[str]:
        """Names of the arrays, in the order they were written."""
        return list(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def array(self, name: str) -> npt.NDArray[Any]:
        """Read-only array over the map, no copy."""
        entry = self._checked_entry(name)
        dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
        if entry["bytes"] == 0:
            empty: npt.NDArray[Any] = np.empty(shape, dtype)
            empty.flags.writeable = False
            return empty
        begin = self._start + entry["offset"]
        return np.frombuffer(self._map, dtype, entry["bytes"] // dtype.itemsize, begin).reshape(shape)

    def buffer(self, name: str) -> pa.Buffer:
        """The bytes of an array or blob as an Arrow buffer over the map, no copy."""
        entry = self._checked_entry(name)
        return pa.py_buffer(self._map).slice(self._start + entry["offset"], entry["bytes"])

    def check(self) -> None:
        """Verify every array now (``CorruptFile`` at the first damaged one)."""
        for name in self._table:
            self._checked_entry(name)

    def _checked_entry(self, name: str) -> dict[str, Any]:
        try:
            entry = self._table[name]
        except KeyError:
            raise _corrupt(self.path, f"no array {name!r} (has {', '.join(self._table)})") from None
        if name not in self._checked:
            begin = self._start + entry["offset"]
            with memoryview(self._map) as whole, whole[begin : begin + entry["bytes"]] as part:
                found = xxh3_64_intdigest(part)
            if found != entry["xxh3"]:
                raise _corrupt(self.path, f"checksum of array {name!r} does not fit")
            self._checked.add(name)
        return entry


def _views(name: str, content: Content) -> tuple[str, list[int], list[memoryview]]:
    """Dtype ("bytes" for blobs), shape and the flat byte views of one entry."""
    if isinstance(content, np.ndarray):
        array = np.ascontiguousarray(content, dtype=content.dtype.newbyteorder("<"))
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} has dtype {array.dtype}: only flat types can be stored")
        flat = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
        return array.dtype.str, list(content.shape), [flat.data]
    if isinstance(content, Pieces):
        content = content.parts
    blobs = [content] if isinstance(content, bytes | bytearray | memoryview | pa.Buffer) else list(content)
    views = [memoryview(blob).cast("B") if memoryview(blob).nbytes else memoryview(b"") for blob in blobs]
    return "|u1", [sum(view.nbytes for view in views)], views


def _corrupt(path: Path, what: str) -> CorruptFile:
    return CorruptFile(what, value=str(path), hint="restore this file from a copy; other files stay readable")
