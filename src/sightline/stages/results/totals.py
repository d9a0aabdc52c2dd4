"""What a load or run counts as its batches commit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from sightline.stages.results.report import BatchReport

OnBatch = Callable[[BatchReport], None]


@dataclass
class LoadTotals:
    """Sums over the batches of one load or run; ``then`` is called after each, ``on_batch`` with its report."""

    then: Callable[[], None]
    on_batch: OnBatch | None = None
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("objects", "matches", "rejects", "commits"), 0)
    )

    def add(self, report: BatchReport) -> None:
        """After a commit. Coordinates that are probably swapped are warned of."""
        counters = report.counters
        self.counts["commits"] += 1
        for name in ("objects", "matches", "rejects"):
            self.counts[name] += counters.get(name, 0)
        seen = counters.get("objects", 0) + counters.get("rejects", 0)
        swapped = counters.get("rejects: latitude out of range", 0)
        if swapped * 100 > seen:
            warnings.warn(
                f"{swapped} of {seen} rows have |lat| > 90: are lon and lat swapped? They are in rejects()",
                stacklevel=2,
            )
        self.then()
        if self.on_batch is not None:
            self.on_batch(report)
