"""The contract of a log store in a dictionary: thousands of entries in no time."""

from __future__ import annotations


class MemoryLogStore:
    """A log store of one process."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def put_if_absent(self, name: str, data: bytes) -> bool:
        return self.blobs.setdefault(name, data) is data

    def replace(self, name: str, data: bytes) -> None:
        self.blobs[name] = data

    def delete(self, name: str) -> None:
        self.blobs.pop(name, None)

    def read(self, name: str) -> bytes:
        try:
            return self.blobs[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def names(self, after: str | None = None) -> list[str]:
        return sorted(name for name in self.blobs if after is None or name > after)
