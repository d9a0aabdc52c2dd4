"""Who gets what, by every partitioner: workload, balance, replication and time on the six query types of SSTD.

A partitioning is fitted to a history and measured on what comes afterwards (:mod:`sightline.bench.six_types`):
workload and load of the workers by one yardstick for all (:mod:`sightline.bench.yardstick`), the copies of objects and
queries, seconds to build it and to route by it, and the seconds of the work stage (:mod:`sightline.bench.makespan`).
All partitioners must find the same matches, events and reports.

Papers give their partitioners different numbers of leaves, and more leaves are less work in Eq. 2, whoever makes them.
So the workload is measured twice more, where that number is free: with 64 leaves, as SSTD's trees have, and with 4,096,
as PS2Stream's grid has (``workload_64``, ``workload_4096``; a quick run leaves the latter out).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline.bench import partition_plot
from sightline.bench.extras import extra
from sightline.bench.loads import areas_of
from sightline.bench.makespan import makespan
from sightline.bench.six_types import STREAMS, SixTypes, evenly, six_types, stream_of
from sightline.bench.timing import PROGRESS, rounded, seconds
from sightline.bench.workload import AREA, MIXES, Mix, taken
from sightline.bench.yardstick import Yardstick
from sightline.model.errors import BadConfig
from sightline.model.space import Space
from sightline.partition import PARTITIONERS, routing_class
from sightline.partition.a_grid.routing import AGridParams, AGridRouting
from sightline.partition.history import History
from sightline.partition.kd_tree import KdTreeRouting
from sightline.partition.protocol import Routing
from sightline.partition.qt_tree import QtTreeParams, QtTreeRouting, QuadtreeRouting, TextRouting
from sightline.partition.r_tree import RTreeRouting
from sightline.partition.tiles.sampled import TileParams

__all__ = ["PARTITION_FILE", "chosen", "compiled", "run"]

PARTITION_FILE = "partition.json"
WORKERS = 8  # PS2Stream's and SSTD's
COMPILED_WITH = 256  # objects and queries that kernels are compiled with
LEAF_COUNTS = (64, 4096)  # numbers of leaves that partitioners are compared at
#: Partitioners whose number of leaves is free: history, space, workers, leaves.
SIZED: Mapping[str, Callable[[History, Space, int, int], Routing]] = {
    "a-grid": lambda h, s, w, n: AGridRouting.fitted(h, s, w, AGridParams(leaves_per_worker=max(1, n // w))),
    "grid": lambda h, s, w, n: QuadtreeRouting.start(s, w, QtTreeParams(theta=n)),  # equal cells, for powers of 4
    "kd-tree": lambda h, s, w, n: KdTreeRouting.fitted(h, s, w, TileParams(n)),
    "qt-tree": lambda h, s, w, n: QtTreeRouting.fitted(h, s, w, QtTreeParams(theta=n)),
    "quadtree": lambda h, s, w, n: QuadtreeRouting.fitted(h, s, w, QtTreeParams(theta=n)),
    "r-tree": lambda h, s, w, n: RTreeRouting.fitted(h, s, w, TileParams(n)),
    "text": lambda h, s, w, n: TextRouting.fitted(h, s, w, QtTreeParams(theta=n)),
}
#: Figures of a partitioner and how the table calls them.
SHOWN = {
    "total_workload": "workload",
    "leaves": "leaves",
    "workload_64": "at 64",
    "workload_4096": "at 4,096",
    "max_over_mean": "max/mean",
    "max_over_min": "max/min",
    "replication_objects": "objects x",
    "replication_queries": "queries x",
    "build_s": "build s",
    "route_s": "route s",
    "makespan_s": "makespan s",
}


def run(
    objects: int = 50_000,
    queries: int = 12_000,
    workers: int = WORKERS,
    mix: Mix = "Z",
    area: str = str(AREA),
    rounds: int = 3,
    seed: int = 7,
    dataset: Path | None = None,
    datasets: Sequence[Path] | None = None,
    partitioners: str | None = None,
    out: Path | None = None,
    redraw: bool = False,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure every partitioner; ``metrics`` are means over the data sets, ``loads`` has each.

    Parameters
    ----------
    objects : int
        Posts to fit to, and as many to measure with.
    queries : int
        Of all six types together.
    dataset, datasets : Path, optional
        Parquet files of posts instead of the made-up streams.
    partitioners : str, optional
        Names separated by commas; all of them by default.
    out : Path, optional
        Folder for ``partition.json`` and ``partition.png``; ``redraw`` only draws what is there.

    Raises
    ------
    AssertionError
        Two partitioners find different answers.
    """
    if out is not None or redraw:
        extra("matplotlib")
    if redraw:
        folder = out or Path()
        measured: dict[str, Any] = json.loads((folder / PARTITION_FILE).read_text(encoding="utf-8"))
        return measured | {"pictures": [str(path) for path in partition_plot.draw(measured, folder)]}
    if mix not in MIXES:
        raise BadConfig("unknown mix of keywords", value=mix, allowed=", ".join(MIXES))
    if quick:
        objects, queries, workers, rounds = min(objects, 4_000), min(queries, 1_200), min(workers, 4), 1
    names, areas = chosen(partitioners), areas_of(area)
    if len(areas) != 1:
        raise BadConfig("one size of regions at a time", value=area, allowed="a fraction of the space, or mixed")
    sources: list[str | Path] = [Path(path) for path in (datasets or ([] if dataset is None else [dataset]))]
    loads: dict[str, dict[str, dict[str, Any]]] = {}
    warm: set[str] = set()
    for source in sources or STREAMS:
        stream = stream_of(source, objects, seed)
        world = six_types(stream, queries, mix, areas[0], seed)
        loads[stream.name] = _data_set(world, names, workers, rounds, LEAF_COUNTS[:1] if quick else LEAF_COUNTS, warm)
    measured = {
        "params": {
            "objects": objects, "queries": queries, "workers": workers, "mix": mix, "area": area, "rounds": rounds,
            "seed": seed, "datasets": list(loads), "partitioners": names,
        },
        "metrics": {name: rounded(mean_of([figures[name] for figures in loads.values()])) for name in names},
        "loads": loads,
        "table": [
            {"data": load, "partitioner": name, **{shown: figures[name][key] for key, shown in SHOWN.items()}}
            for load, figures in loads.items()
            for name in names
        ],
    }  # fmt: skip
    if out is None:
        return measured
    out.mkdir(parents=True, exist_ok=True)
    (out / PARTITION_FILE).write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    kept = json.loads((out / PARTITION_FILE).read_text(encoding="utf-8"))
    return measured | {"pictures": [str(path) for path in partition_plot.draw(kept, out)]}


def chosen(partitioners: str | None) -> list[str]:
    """The names an option lists, each registered; all names without it."""
    names = list(PARTITIONERS) if partitioners is None else [name.strip() for name in partitioners.split(",")]
    for name in names:
        routing_class(name)
    return list(dict.fromkeys(names))


def compiled(name: str, history: History, space: Space, workers: int) -> type[Routing]:
    """The class of a partitioner, after it has fitted and routed a few, so that nothing is compiled while timed."""
    kind = routing_class(name)
    past = taken(history.objects, evenly(len(history.objects), COMPILED_WITH))
    standing, asked = (block.take(evenly(len(block), COMPILED_WITH)) for block in (history.standing, history.asked))
    routing = kind.fitted(History(past, standing, asked, history.span_us), space, workers)
    routing.router().route_objects(past)
    routing.route_queries(standing)
    return kind


def mean_of(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Geometric means, so that every data set counts alike; None where any has none."""
    means: dict[str, Any] = {}
    for key in figures[0]:
        values = [one[key] for one in figures]
        if isinstance(values[0], Mapping):
            means[key] = rounded(mean_of(values))
        elif any(value is None for value in values):
            means[key] = None
        else:
            means[key] = float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else 0.0
    return means


def _data_set(
    world: SixTypes, names: Sequence[str], workers: int, rounds: int, sizes: Sequence[int], warm: set[str]
) -> dict[str, dict[str, Any]]:
    PROGRESS.info("%s: regions of nearest queries", world.name)
    space = Space()
    yardstick = Yardstick(world, space)
    figures: dict[str, dict[str, Any]] = {}
    found: dict[str, dict[str, int]] = {}
    for name in names:
        PROGRESS.info("%s: %s", world.name, name)
        if name not in warm:
            compiled(name, world.history, space, workers)
            warm.add(name)
        routed = _routed(name, world, yardstick, space, workers, rounds)
        sized = {
            f"workload_{n}": _sized(name, n, world, yardstick, workers) if n in sizes else None for n in LEAF_COUNTS
        }
        done = makespan(name, workers, world, rounds)
        figures[name] = rounded({**routed, **sized, "makespan_s": done.makespan_s, "work_s": done.work_s})
        found[name] = done.found
        if done.found != found[names[0]]:
            message = f"{name} disagrees with {names[0]} on {world.name}: {done.found} instead of {found[names[0]]}"
            raise AssertionError(message)
    return figures


def _routed(
    name: str, world: SixTypes, yardstick: Yardstick, space: Space, workers: int, rounds: int
) -> dict[str, Any]:
    """A partitioning of the history, and what it does with what comes afterwards."""
    kind = routing_class(name)
    made: dict[str, Routing] = {}
    build_s = seconds(lambda: made.update(routing=kind.fitted(world.history, space, workers)))
    routing = made["routing"]
    standing = world.history.standing
    objects, queries = routing.router().route_objects(world.objects), routing.route_queries(standing)
    workload = yardstick.measure(routing, objects, queries)
    return {
        "total_workload": workload.total,
        "max_over_mean": workload.max_over_mean,
        "max_over_min": workload.max_over_min,
        "replication_objects": len(objects.row) / len(world.objects),
        "replication_queries": len(queries.query) / len(standing),
        "build_s": build_s,
        "route_s": min(seconds(lambda: routing.router().route_objects(world.objects)) for _ in range(rounds)),
        "route_queries_s": min(seconds(lambda: routing.route_queries(standing)) for _ in range(rounds)),
        "sent_per_object": workload.sent / len(world.objects),
        "leaves": routing.leaf_table().num_rows,
        "workload_by_type": rounded(workload.by_type),
    }


def _sized(name: str, leaves: int, world: SixTypes, yardstick: Yardstick, workers: int) -> float | None:
    """The workload of a partitioner with so many leaves, if that can be chosen."""
    if name not in SIZED:
        return None
    return yardstick.of(SIZED[name](world.history, Space(), workers, leaves)).total
