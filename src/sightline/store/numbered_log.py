"""Entries numbered densely, one file each: what the commit log and the control log have in common."""

from __future__ import annotations

from typing import Any

from sightline.model.errors import CorruptFile
from sightline.store.log_store import LogStore
from sightline.store.sealed_json import seal, unseal

SUFFIX = ".json"
DIGITS = 20


def entry_name(number: int) -> str:
    """File name of an entry; sorts by number."""
    return f"{number:0{DIGITS}d}{SUFFIX}"


def entry_number(name: str) -> int | None:
    """Inverse of :func:`entry_name`; None for other files."""
    stem = name.removesuffix(SUFFIX)
    return int(stem) if len(stem) == DIGITS and stem.isdigit() and name.endswith(SUFFIX) else None


class NumberedLog:
    """Put-if-absent by number, and reading ahead until the first missing number."""

    def __init__(self, log_store: LogStore) -> None:
        self.store = log_store

    def put(self, number: int, body: dict[str, Any]) -> bool:
        """Write entry `number`; False when another process has it."""
        return self.store.put_if_absent(entry_name(number), seal(body))

    def get(self, number: int) -> dict[str, Any] | None:
        """Entry `number`, None when not written yet."""
        name = entry_name(number)
        try:
            return unseal(self.store.read(name), name)
        except FileNotFoundError:
            return None

    def check_dense(self, last: int) -> None:
        """Fail when entries beyond `last` exist although `last` + 1 does not: a file was lost."""
        names = self.store.names(after=entry_name(last))
        later = [number for name in names if (number := entry_number(name)) is not None]
        # A concurrent writer may have added last + 1 (and more) since; only a gap is an error.
        if later and later[0] != last + 1:
            raise CorruptFile(
                f"log entry {last + 1} is missing although entry {later[0]} exists",
                value=entry_name(last + 1),
                hint="restore this file from a copy",
            )
