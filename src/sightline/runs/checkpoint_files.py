"""Files of Spark's checkpoints: short texts, each beside a checksum in Hadoop's format.

Spark syncs none of them, so after a power cut any may be missing, empty or cut off. They are written here as Hadoop
would, and durably: a text without its checksum is not checked, one with the checksum of another text is not read.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
import zlib
from pathlib import Path

from sightline.store.disk import replace_file

_CHUNK = 512  # bytes per checksum, Hadoop's default
_HEAD_BYTES = 8  # four letters and the size of a chunk
_NUMBERED = re.compile(r"(\d+)(\.compact)?")


def numbered(folder: Path) -> dict[int, str]:
    """Names of the entries of a log of Spark's, by number; a compacted entry comes under its own number."""
    found: dict[int, str] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _NUMBERED.fullmatch(path.name)
        if match:
            found[int(match[1])] = path.name
    return found


def number_of(key: str) -> int:
    """The number of an entry that is named by source and name, ``0/19.compact``."""
    return int(key.rpartition("/")[2].partition(".")[0])


def is_compact(name: str) -> bool:
    """Whether an entry of a source's log holds everything before it as well."""
    return name.endswith(".compact")


def read_text(path: Path) -> str | None:
    """The text of a file, None if it is missing; bytes that are no UTF-8 survive."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def write_text(path: Path, text: str) -> None:
    """Put a text and its checksum there, durably."""
    data = text.encode("utf-8", "surrogateescape")
    path.parent.mkdir(parents=True, exist_ok=True)
    _sum_path(path).unlink(missing_ok=True)  # first: a text without one is read, one with a wrong one is not
    replace_file(path, data, durable=True)
    replace_file(_sum_path(path), _checksum(data), durable=True)


def remove(path: Path) -> None:
    """Remove a file and its checksum."""
    path.unlink(missing_ok=True)
    _sum_path(path).unlink(missing_ok=True)


def tidied(folder: Path) -> list[str]:
    """Remove what a killed writer left in a log of Spark's: unfinished files, and checksums of files that are gone.

    Returns the names of the unfinished files. With one of these in its folder, Spark does not start a first batch.
    """
    left = [path for path in folder.iterdir() if path.name.startswith(".")] if folder.is_dir() else []
    unfinished = [path for path in left if path.name.endswith(".tmp")]
    for path in unfinished:
        path.unlink(missing_ok=True)
    for path in left:
        if path.name.endswith(".crc") and not (folder / path.name[1:].removesuffix(".crc")).exists():
            path.unlink(missing_ok=True)
    return [path.name for path in unfinished]


def holds(path: Path, text: str) -> bool:
    """Whether Spark would read this text there."""
    sums = None, _checksum(text.encode("utf-8", "surrogateescape"))
    return read_text(path) == text and _stored_checksum(path) in sums


def is_checked(path: Path) -> bool:
    """Whether a file was written to its end, as its checksum says; without one nobody knows."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    return bool(data) and _stored_checksum(path) == _checksum(data)


def is_whole(path: Path, lines: int = 2) -> bool:
    """Whether a file that nobody has a copy of looks as if it was written to its end.

    Its checksum says so; where that is lost, its form must do: a version, then at least a line of JSON. One that is
    cut off at the end of a line passes: use it where a missing line does no harm.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    checksum = _stored_checksum(path)
    if checksum is not None:
        return bool(data) and checksum == _checksum(data)
    text = data.decode("utf-8", "surrogateescape").lstrip("\0").splitlines()
    if len(text) < lines or not re.fullmatch(r"v\d+", text[0]):
        return False
    with contextlib.suppress(ValueError):
        return all(json.loads(line) is not None for line in text[1:])
    return False


def _sum_path(path: Path) -> Path:
    return path.parent / f".{path.name}.crc"


def _stored_checksum(path: Path) -> bytes | None:
    """What Hadoop would compare with: it takes a checksum file without a head for none."""
    try:
        found = _sum_path(path).read_bytes()
    except FileNotFoundError:
        return None
    return found if len(found) >= _HEAD_BYTES else None


def _checksum(data: bytes) -> bytes:
    sums = [zlib.crc32(data[at : at + _CHUNK]) for at in range(0, len(data), _CHUNK)]
    return struct.pack(f">4sI{len(sums)}I", b"crc\0", _CHUNK, *sums)
