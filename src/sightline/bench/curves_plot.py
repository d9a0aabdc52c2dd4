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
    ticker = extra("matplotlib.ticker")
    axes.set_xscale("log")
    measured = sorted({value for _, xs, _ in lines for value in xs})
    axes.xaxis.set_major_locator(ticker.FixedLocator(measured))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _short(value)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    if log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    return path


def _short(value: float) -> str:
    """A number on an axis: 200 k, 5 M."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
