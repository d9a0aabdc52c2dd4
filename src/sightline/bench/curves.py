"""Scaling: how cost and memory move with the number of standing queries, of posts and of segments.

Writes ``curves.json`` and, from that file alone, one PNG per curve.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sightline.bench import curves_plot
from sightline.bench.crq import block_of, compare_indexes
from sightline.bench.extras import extra
from sightline.bench.segments import IndexedPosts, asked_of, committed, indexed, knows
from sightline.bench.timing import PROGRESS, latency, per_query, rounded
from sightline.bench.workload import AREA, MIXES, along_curve, posts, range_queries, taken
from sightline.index.registry import DEFAULT_OBJECTS, DEFAULT_STANDING
from sightline.model.errors import BadConfig
from sightline.model.expression import all_of
from sightline.model.queries import RangeQuery
from sightline.model.regions import Box
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.batch import Batches
from sightline.stages.search.search import Searcher
from sightline.stages.upkeep.compact import Compaction
from sightline.store.store import Store

CURVES_FILE = "curves.json"
CURVE_SEGMENT_ROWS = 5_000_000
SEGMENTS = (1, 2, 4, 8, 16, 32)
CURVE_AREAS = (1e-6, 1e-4, 1e-2)


def run(
    query_sizes: str = "200000,1000000,5000000",
    object_sizes: str = "1000000,5000000,20000000",
    objects: int = 100_000,
    queries: int = 200,
    rounds: int = 3,
    seed: int = 7,
    out: Path = Path("curves"),
    redraw: bool = False,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure all curves and draw them; ``redraw`` only draws what the folder's file has.

    Parameters
    ----------
    query_sizes, object_sizes : str
        Numbers of standing queries and of indexed posts, separated by commas.
    objects : int
        Posts matched against the standing queries, and posts of the store whose segments are merged (tenfold).
    queries : int
        Searches per point.
    """
    extra("matplotlib")
    if redraw:
        measured: dict[str, Any] = json.loads((out / CURVES_FILE).read_text(encoding="utf-8"))
        return measured | {"pictures": [str(path) for path in curves_plot.draw(measured, out)]}
    if quick:
        query_sizes, object_sizes, objects, queries, rounds = "2000,8000", "10000,40000", 2_000, 10, 1
    standing, stored = _sizes(query_sizes), _sizes(object_sizes)
    curves = {
        "crq": _standing(standing, objects, rounds, seed),
        "srq": [_search(n, queries, seed) for n in stored],
        "segments": _segments(10 * objects, queries, seed),
    }
    measured = {
        "params": {
            "query_sizes": standing, "object_sizes": stored, "objects": objects, "queries": queries, "rounds": rounds,
            "seed": seed, "area": AREA, "segment_rows": CURVE_SEGMENT_ROWS, "standing_index": DEFAULT_STANDING,
            "object_index": DEFAULT_OBJECTS,
        },
        "metrics": _summary(curves),
        "curves": curves,
    }  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    (out / CURVES_FILE).write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    kept = json.loads((out / CURVES_FILE).read_text(encoding="utf-8"))
    return measured | {"pictures": [str(path) for path in curves_plot.draw(kept, out)]}


def _sizes(text: str) -> list[int]:
    try:
        sizes = sorted(int(part) for part in str(text).split(","))
    except ValueError:
        sizes = [0]
    if sizes[0] < 1:
        raise BadConfig("not a list of sizes", value=text, allowed="whole numbers above 0, separated by commas")
    return sizes


def _standing(sizes: Sequence[int], objects: int, rounds: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Matching against more and more queries, for both mixes."""
    shown, source = along_curve(posts(objects, seed + 2)), posts(min(max(sizes), 1_000_000), seed + 1)
    found: dict[str, list[dict[str, Any]]] = {}
    for mix in MIXES:
        for n in sizes:
            PROGRESS.info("%s: %s standing queries", mix, f"{n:,}")
            block = block_of(range_queries(source, n, mix, AREA, seed))
            figures = compare_indexes(block, shown, rounds)
            point = {"queries": n, "us_per_object": 1e6 / figures["objects_per_s"], **figures}
            found.setdefault(mix, []).append(rounded(point))
    return found


def _search(n: int, queries: int, seed: int) -> dict[str, Any]:
    """Searching more and more posts, in segments of at most five million."""
    built: list[IndexedPosts] = []
    for part, first in enumerate(range(0, n, CURVE_SEGMENT_ROWS)):
        built.append(indexed(posts(min(CURVE_SEGMENT_ROWS, n - first), seed + 10 + part)))
    source = posts(20 * queries, seed + 1)
    point: dict[str, Any] = {
        "objects": n,
        "segments": len(built),
        "bytes_per_object": sum(one.figures["bytes_per_object"] * len(one.objects) for one in built) / n,
        "build_objects_per_s": n / sum(one.figures["build_s"] for one in built),
    }
    for size in CURVE_AREAS:
        table = range_queries(source, 2 * queries + 20, "Z", size, seed, keywords=(1, 1))
        known = np.all([knows(one.segment, table) for one in built], axis=0)
        asked = [asked_of(table.filter(pa.array(known)), one.segment, queries) for one in built]
        readers = [one.segment.index for one in built]

        def ours(i: int, readers: list[Any] = readers, asked: list[Any] = asked) -> int:
            found = 0
            for reader, of_segment in zip(readers, asked, strict=True):
                query = of_segment[i]
                found += reader.range([(query.terms, ())], query.pieces, MIN_US, MAX_US).size
            return found

        count = len(asked[0])
        times = per_query({"ours": ours}, range(count))["ours"]
        point |= {f"{size:g}": {"mean_us": latency(times).mean_us, "p99_us": latency(times).p99_us,
                                "results": sum(map(ours, range(count))) / count}}  # fmt: skip
        point[f"{size:g}"] = rounded(point[f"{size:g}"])
    return rounded(point)


def _segments(rows: int, queries: int, seed: int) -> list[dict[str, Any]]:
    """The same posts in more and more segments, before and after they are merged."""
    stored, points = posts(rows, seed + 10), []
    source = posts(20 * queries, seed + 1)
    table = range_queries(source, queries, "Z", AREA, seed)
    words = table["keywords"].to_pylist()
    boxes = np.column_stack([table[edge].to_numpy() for edge in ("west", "south", "east", "north")]).tolist()
    asked = [RangeQuery(all_of(some), Box(*box)) for some, box in zip(words, boxes, strict=True)]
    for count in SEGMENTS:
        PROGRESS.info("%d segments", count)
        with tempfile.TemporaryDirectory(prefix="sightline-bench-") as folder:
            parts = [taken(stored, rows_of) for rows_of in np.array_split(np.arange(rows), count)]
            store = committed(Path(folder) / "store", parts)
            before = _latency(store, asked)
            batches = Batches(store)
            compaction = Compaction(store, batches.book, batches.commit_lock)
            while len(store.commits.snapshot().entries("segment")) > 1 and compaction.run(min_files=2):
                pass
            after = _latency(store, asked)
            points.append({"segments": count, "mean_us": before, "merged_mean_us": after,
                           "merged_segments": len(store.commits.snapshot().entries("segment"))})  # fmt: skip
    return [rounded(point) for point in points]


def _latency(store: Store, asked: list[RangeQuery]) -> float:
    searcher = Searcher(store)
    return latency(per_query({"engine": lambda i: searcher.answer(asked[i])}, range(len(asked)))["engine"]).mean_us


def _summary(curves: dict[str, Any]) -> dict[str, Any]:
    """Growth of the cost over growth of the size (1: linear), and spread of the memory (1: constant)."""
    figures: dict[str, Any] = {}
    for mix, points in curves["crq"].items():
        first, last = points[0], points[-1]
        grown = last["queries"] / first["queries"]
        figures[f"crq_{mix}_cost_growth_over_queries"] = last["us_per_object"] / first["us_per_object"] / grown
        memory = [point["bytes_per_subscription"] for point in points]
        figures[f"crq_{mix}_bytes_spread"] = max(memory) / min(memory)
    memory = [point["bytes_per_object"] for point in curves["srq"]]
    figures["srq_bytes_spread"] = max(memory) / min(memory)
    merged = [point["merged_mean_us"] for point in curves["segments"]]
    figures["merged_latency_spread"] = max(merged) / min(merged)
    return rounded(figures)
