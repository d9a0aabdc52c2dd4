"""Figures of the search benchmarks: per load, and over all queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sightline.bench.timing import latency, rounded
from sightline.flat.arrays import F64

__all__ = ["ENGINE", "OURS", "Board"]

OURS, ENGINE = "ours", "engine"


class Board:
    """Collects microseconds per query of :data:`OURS`, of baselines, and of the engine around ours.

    A ratio is a baseline's mean over our mean on the same queries: the larger, the better for us.
    """

    def __init__(self) -> None:
        self.loads: dict[str, dict[str, Any]] = {}
        self._times: dict[str, list[F64]] = {}

    def add(self, name: str, times: Mapping[str, F64], **more: Any) -> None:
        """Note a load; returns nothing, its figures are in ``loads``."""
        for contestant, one in times.items():
            self._times.setdefault(contestant, []).append(one)
        self.loads[name] = rounded({"queries": len(times[OURS]), **more, **_figures(times)})

    def metrics(self) -> dict[str, Any]:
        """The same figures over the queries of all loads, and of every ratio also the worst load's."""
        together = {name: np.concatenate(parts) for name, parts in self._times.items()}
        figures = _figures(together)
        for name in [name for name in figures if name.startswith("ratio_")]:
            figures[f"worst_{name}"] = min(float(load[name]) for load in self.loads.values())
        return rounded(figures)


def _figures(times: Mapping[str, F64]) -> dict[str, Any]:
    ours = latency(times[OURS])
    figures: dict[str, Any] = {"mean_us": ours.mean_us, "p99_us": ours.p99_us}
    for name in [name for name in times if name not in (OURS, ENGINE)]:
        theirs = latency(times[name])
        figures |= {f"ratio_{name}": theirs.mean_us / ours.mean_us, f"{name}_mean_us": theirs.mean_us}
    if ENGINE in times:
        figures["engine_mean_us"] = latency(times[ENGINE]).mean_us
    return figures
