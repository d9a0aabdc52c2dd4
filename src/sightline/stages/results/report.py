"""What a batch reports when it has committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BatchReport:
    """What a batch did, as progress and summaries show it."""

    run: str
    batch: int
    version: int
    seconds: dict[str, float] = field(default_factory=dict)  # plan, job, commit
    counters: dict[str, int] = field(default_factory=dict)
    routing_s: float = 0.0  # core-seconds of the job that went into finding who gets what

    def to_dict(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "batch": self.batch,
            "version": self.version,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "routing_s": round(self.routing_s, 4),
            **self.counters,
        }
