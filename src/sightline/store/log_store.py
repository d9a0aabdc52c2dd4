"""Where log entries live: a folder of small files with one strong operation, put-if-absent."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Protocol
from urllib.parse import urlparse

from sightline.model.errors import BadConfig
from sightline.store.disk import TEMPORARY, put_new, replace_file


class LogStore(Protocol):
    """Small named blobs. ``put_if_absent`` decides between processes; everything else may be lost or late."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Store `data` durably under a free name: True; False when the name is taken.

        A reader sees nothing or all of it.
        """
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Store derived data (checkpoints, hints), last writer wins; a reader sees an old or a new whole."""
        ...

    def delete(self, name: str) -> None:
        """Remove a name; a missing one is no error."""
        ...

    def read(self, name: str) -> bytes:
        """Content of a name; ``FileNotFoundError`` when there is none."""
        ...

    def names(self, after: str | None = None) -> list[str]:
        """All names, or those that sort after `after`, sorted."""
        ...


class LocalLogStore:
    """A folder of a local (or POSIX network) file system."""

    def __init__(self, folder: str | Path, *, durable: bool = True) -> None:
        self.folder = Path(folder)
        self.durable = durable

    def put_if_absent(self, name: str, data: bytes) -> bool:
        return put_new(self.folder / name, data, durable=self.durable)

    def replace(self, name: str, data: bytes) -> None:
        # Derived data carries a checksum and can be rebuilt: the rename must be atomic, not durable.
        replace_file(self.folder / name, data, durable=False)

    def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.folder / name)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def names(self, after: str | None = None) -> list[str]:
        try:
            found = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return sorted(name for name in found if not name.startswith(TEMPORARY) and (after is None or name > after))


def local_path(url: object) -> Path:
    """The local path a store is named by; ``BadConfig`` for schemes without a put-if-absent of ours.

    Absolute from here on: workers have other working folders, and the caller's may change.
    """
    if not isinstance(url, str | Path) or "\0" in str(url) or not str(url):
        raise BadConfig("not a path", value=url, allowed="a local path or file:///path, as str or Path")
    if isinstance(url, Path):
        return url.absolute()
    parsed = urlparse(url)
    if parsed.scheme == "file" and parsed.netloc in ("", "localhost"):
        return Path(parsed.path).absolute()
    if "://" in url:
        raise BadConfig(
            "a store cannot be kept there",
            value=url,
            allowed="a local path or file:///path",
            hint="use a folder that all workers mount",
        )
    return Path(url).absolute()
