"""Batches of a run as they are committed."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from sightline.stages.results.report import BatchReport


@dataclass(frozen=True)
class CommittedBatch:
    """One committed micro-batch; ``batch`` is the log version of its commit, ``rows`` counts the rejected ones too."""

    batch: int
    rows: int
    matches: int
    seconds: float

    @property
    def rows_per_s(self) -> float:
        """Rows of the batch over its duration, from plan to commit."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As printed with --json."""
        return {**asdict(self), "rows_per_s": round(self.rows_per_s, 1)}


class ProgressLog:
    """Every batch of a run; filled by the thread that commits them, read by the one that draws."""

    def __init__(self) -> None:
        self.batches: list[CommittedBatch] = []
        self._fresh: deque[CommittedBatch] = deque()

    def add(self, report: BatchReport) -> None:
        """Note a batch; the ``on_batch`` of a load or run. A batch without rows is nothing to show."""
        counted = report.counters
        rows = counted.get("objects", 0) + counted.get("rejects", 0)
        if rows:
            batch = CommittedBatch(
                report.version, rows, counted.get("matches", 0), round(sum(report.seconds.values()), 4)
            )
            self.batches.append(batch)
            self._fresh.append(batch)

    def fresh(self) -> list[CommittedBatch]:
        """Batches since the last call."""
        return [self._fresh.popleft() for _ in range(len(self._fresh))]

    @property
    def rates(self) -> list[float]:
        """Rows per second of each batch."""
        return [batch.rows_per_s for batch in self.batches]
