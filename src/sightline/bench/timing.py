"""How time is taken: contestants in turn, so that a busy moment of the machine hits all of them alike."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sightline.flat.arrays import F64

#: Long benchmarks say here what they are doing; the command line shows it on stderr.
PROGRESS = logging.getLogger("sightline.bench")


class Latency(NamedTuple):
    """Mean and 99th percentile over queries, in microseconds."""

    mean_us: float
    p99_us: float


def seconds(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def interleaved(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each contestant over ``rounds`` rounds, each of which runs all of them once."""
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            taken[name].append(seconds(call))
    return {name: statistics.median(times) for name, times in taken.items()}


def per_query(
    contestants: Mapping[str, Callable[[int], object]], queries: Sequence[int], repeats: int = 3
) -> dict[str, F64]:
    """Microseconds of each query and contestant: the least of ``repeats``, contestants in turn for every repeat."""
    least = {name: np.full(len(queries), np.inf) for name in contestants}
    for _ in range(repeats):
        for name, call in contestants.items():
            best = least[name]
            for place, query in enumerate(queries):
                began = time.perf_counter()
                call(query)
                best[place] = min(best[place], (time.perf_counter() - began) * 1e6)
    return least


def latency(times: F64) -> Latency:
    """Mean and p99 of microseconds per query."""
    return Latency(float(times.mean()), float(np.percentile(times, 99)))


def rounded(figures: Mapping[str, Any], digits: int = 4) -> dict[str, Any]:
    """Figures with as many significant digits as a measurement deserves."""
    return {name: _short(value, digits) for name, value in figures.items()}


def _short(value: Any, digits: int) -> Any:
    if not isinstance(value, float):
        return value
    return round(value) if abs(value) >= 10**digits else float(f"{value:.{digits}g}")


def bytes_of(arrays: Mapping[str, Any], names: Sequence[str] | None = None) -> int:
    """Bytes of the named flat arrays (all by default)."""
    return sum(int(np.asarray(arrays[name]).nbytes) for name in (arrays if names is None else names))
