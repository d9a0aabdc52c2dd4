"""Pictures of the scaling curves, from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightline.bench.extras import extra

__all__ = ["draw"]

Line = tuple[str, Sequence[float], Sequence[float]]


def draw(measured: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write one PNG per curve into a folder; returns their paths."""
    curves = measured["curves"]
    crq, srq, segments = curves["crq"], curves["srq"], curves["segments"]
    sizes = [name for name in srq[0] if isinstance(srq[0][name], Mapping)]
    stored = [point["objects"] for point in srq]
    count = [point["segments"] for point in segments]

    def by_mix(name: str) -> list[Line]:
        return [(f"mix {m}", [p["queries"] for p in points], [p[name] for p in points]) for m, points in crq.items()]

    return [
        _picture(folder / "crq-cost.png", "Standing range queries", "queries", "µs per post", by_mix("us_per_object")),
        _picture(folder / "crq-memory.png", "Standing range queries", "queries", "bytes per query",
                 by_mix("bytes_per_subscription"), log_y=False),
        _picture(folder / "srq-latency.png", "Range search, one keyword", "posts", "mean µs",
                 [(f"{float(size) * 100:g} % of the space", stored, [p[size]["mean_us"] for p in srq])
                  for size in sizes]),
        _picture(folder / "srq-memory.png", "Index of posts", "posts", "bytes per post",
                 [("index arrays", stored, [p["bytes_per_object"] for p in srq])], log_y=False),
        _picture(folder / "segments.png", "Search of a store against its segments", "segments written", "mean µs",
                 [("as written", count, [p["mean_us"] for p in segments]),
                  ("after merging", count, [p["merged_mean_us"] for p in segments])], log_y=False),
    ]  # fmt: skip


def _picture(path: Path, title: str, x: str, y: str, lines: Sequence[Line], *, log_y: bool = True) -> Path:
    figure_class = extra("matplotlib.figure").Figure  # no window system, no global state
    figure = figure_class(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for label, xs, ys in lines:
        axes.plot(xs, ys, marker="o", label=label)
    axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    return path
