"""Where the files of a batch are written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sightline.store.store import DATA


class Target(NamedTuple):
    """Where files are written: the store's folder, and whether each is synced before it is named."""

    store: Path
    durable: bool

    def path(self, name: str) -> Path:
        """Path of a data file."""
        return self.store / DATA / name
