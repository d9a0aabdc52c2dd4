"""The picture of ``sightline partitions``: a map of the leaves, and the loads of the workers beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.bench.extras import extra

__all__ = ["boxes_to_draw", "draw"]

Floats = npt.NDArray[np.float64]
_PALEST = 0.2  # of a leaf without load


def draw(leaves: pa.Table, said: Mapping[str, Any], path: Path) -> None:
    """Write a PNG: leaves in the colour of their worker, the stronger the more load; a bar per worker."""
    figure = extra("matplotlib.figure").Figure(figsize=(13, 5.5), layout="constrained")
    area, bars = figure.subplots(1, 2, width_ratios=(4, 1))
    workers = said["workers"]
    colours = _colours(len(workers))
    boxes = boxes_to_draw(leaves)
    west, south, east, north = boxes.T
    corners = np.stack([west, south, east, south, east, north, west, north], axis=1).reshape(-1, 4, 2)
    load = leaves["load"].to_numpy().astype(np.float64)
    faces = colours[leaves["worker"].to_numpy()].copy()
    faces[:, 3] = _PALEST + (1 - _PALEST) * np.sqrt(load / load.max()) if load.any() else 0.6
    # Large boxes first, so that those inside them stay visible.
    order = np.argsort(-(east - west) * (north - south), kind="stable")
    collection = extra("matplotlib.collections").PolyCollection
    area.add_collection(collection(corners[order], facecolors=faces[order], edgecolors="0.4", linewidths=0.2))
    area.set(xlim=(west.min(), east.max()), ylim=(south.min(), north.max()), aspect="equal")
    area.set_title(
        f"{said['partitioner']}, epoch {said['epoch']}: {len(boxes):,} leaves by worker, stronger = more load"
    )

    loads = np.array([row["load"] for row in workers], np.float64)
    bars.barh(np.arange(len(loads)), loads, color=colours)
    bars.axvline(loads.mean(), color="0.3", linestyle="--", linewidth=1)
    even = f": max / mean {loads.max() / loads.mean():.2f}" if loads.any() else ""
    bars.set(ylabel="worker", xlabel="objects × (1 + subscriptions)", title=f"load{even}")
    bars.xaxis.set_major_formatter(extra("matplotlib.ticker").EngFormatter(sep=""))
    bars.yaxis.get_major_locator().set_params(integer=True)
    bars.invert_yaxis()
    figure.savefig(path, dpi=150, format="png")


def boxes_to_draw(leaves: pa.Table) -> Floats:
    """West, south, east, north of each leaf; those of one region, which share it by words, as stripes side by side."""
    boxes = np.column_stack([leaves[side].to_numpy() for side in ("west", "south", "east", "north")]).astype(np.float64)
    _, group, sizes = np.unique(boxes, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    rank = np.empty(len(boxes), np.int64)
    rank[order] = np.arange(len(boxes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    width = (boxes[:, 2] - boxes[:, 0]) / sizes[group]
    drawn = boxes.copy()
    drawn[:, 0] = boxes[:, 0] + rank * width
    drawn[:, 2] = drawn[:, 0] + width
    return drawn


def _colours(workers: int) -> Floats:
    """An RGBA row per worker; neighbours in number differ."""
    maps = extra("matplotlib").colormaps
    if workers <= 20:
        return np.array([maps["tab20" if workers > 10 else "tab10"](worker) for worker in range(workers)])
    return np.asarray(maps["turbo"](np.arange(workers) * 0.618034 % 1.0))
