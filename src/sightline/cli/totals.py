"""Counts of what was committed, read from the commit log: the figures commands print are never estimates."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sightline.store.entries import BatchCommit
from sightline.store.store import Store


@dataclass(frozen=True)
class CommittedTotals:
    """Sums over committed batches."""

    batches: int = 0
    objects: int = 0
    matches: int = 0
    rejects: int = 0
    late: int = 0

    def plus(self, counters: dict[str, int]) -> CommittedTotals:
        """With one more batch."""
        added = {
            name: getattr(self, name) + int(counters.get(name, 0)) for name in ("objects", "matches", "rejects", "late")
        }
        return replace(self, batches=self.batches + 1, **added)

    def to_dict(self) -> dict[str, int]:
        """As printed with --json."""
        return asdict(self)


class CommitCounter:
    """Counts the batches committed to a store from the moment it is made."""

    def __init__(self, path: Path) -> None:
        self._commits = Store.open(path).commits
        self.version = self._commits.refresh().version
        self.totals = CommittedTotals()

    def advance(self) -> list[BatchCommit]:
        """Take note of what was committed since the last call; the new batch entries."""
        fresh: list[BatchCommit] = []
        for entry in self._commits.entries(after=self.version):
            self.version = entry.version
            if isinstance(entry, BatchCommit):
                self.totals = self.totals.plus(entry.counters)
                fresh.append(entry)
        return fresh
