"""The picture of the partitioning benchmark, from its JSON: one panel per figure, one bar per data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightline.bench.extras import extra

__all__ = ["PICTURE", "draw"]

PICTURE = "partition.png"
#: Figure, title, and whether its axis is logarithmic.
PANELS = (
    ("total_workload", "objects compared per query (Eq. 2)", True),
    ("workload_64", "the same with 64 leaves each", True),
    ("workload_4096", "the same with 4,096 leaves each", True),
    ("max_over_mean", "most loaded worker over the mean", False),
    ("makespan_s", "work stage, slowest worker (s)", False),
    ("replication_objects", "workers an object is sent to", False),
    ("replication_queries", "workers a query stands on", False),
    ("build_s", "seconds to fit", True),
    ("route_s", "seconds to route the posts", True),
)
_ACROSS = 3


def draw(measured: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the picture into a folder; partitioners with the least workload are at the top."""
    loads: Mapping[str, Mapping[str, Mapping[str, Any]]] = measured["loads"]
    names = sorted(measured["metrics"], key=lambda name: measured["metrics"][name]["total_workload"])
    figure_class = extra("matplotlib.figure").Figure  # no window system, no global state
    down = -(-len(PANELS) // _ACROSS)
    height = down * (1.2 + 0.12 * len(names) * (len(loads) + 1))
    figure = figure_class(figsize=(5 * _ACROSS, height), layout="constrained")
    grid = figure.subplots(down, _ACROSS, sharey=True, squeeze=False)
    thick = 0.8 / len(loads)
    for place, (key, title, logarithmic) in enumerate(PANELS):
        axes = grid[place // _ACROSS][place % _ACROSS]
        shown = {load: [figures[name][key] or 0.0 for name in names] for load, figures in loads.items()}
        for number, (load, lengths) in enumerate(shown.items()):
            at = [row + (number - (len(loads) - 1) / 2) * thick for row in range(len(names))]
            axes.barh(at, lengths, thick, label=load)
        axes.set_yticks(range(len(names)), names)
        axes.set_title(title, fontsize=10)
        if logarithmic and any(max(lengths) > 0 for lengths in shown.values()):
            axes.set_xscale("log")
        axes.grid(visible=True, axis="x", alpha=0.3)
    grid[0][0].invert_yaxis()  # shared by all panels
    grid[0][0].legend(fontsize=8)
    params = measured["params"]
    figure.suptitle(
        f"{params['queries']:,} queries of six types, {params['objects']:,} posts, {params['workers']} workers",
        fontsize=11,
    )
    path = folder / PICTURE
    figure.savefig(path, dpi=150)
    return [path]
