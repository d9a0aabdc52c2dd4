"""Standing range queries: posts per second of the indexes inside a worker, against what a user would build instead.

One core, posts along the curve as the pipeline hands them over, medians of interleaved rounds. Pairs of a sample of
posts are compared between all contestants before anything is timed. Matches per post stand beside every rate, because
they decide it: mix Z is bound by its output.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sightline.bench.duckdb_join import DuckdbJoin, JoinChoice
from sightline.bench.flat_queries import flat_objects, flat_queries, same_pairs
from sightline.bench.loads import Load, Posts, loads_of, two_sets
from sightline.bench.reverse_indexes import RectangleTree, TantivyReverse, pairs_of
from sightline.bench.timing import PROGRESS, bytes_of, interleaved, rounded, seconds
from sightline.bench.workload import Bounds, along_curve, range_queries, taken
from sightline.flat.arrays import I64
from sightline.index.protocol import ObjectColumns, StandingIndex
from sightline.index.registry import DEFAULT_STANDING, STANDING_INDEXES
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US

BASELINE_QUERIES = 200_000  # for tantivy and the tree of rectangles, which are built query by query from Python
DUCKDB_QUERIES = 1_000_000
DELTA_QUERIES = 50_000
TANTIVY_POSTS, TREE_POSTS, CHECKED_POSTS = 300, 100, 2_000
COMPARED_INDEXES = (DEFAULT_STANDING, "gi2", "fast")


def run(
    queries: int = 1_000_000,
    objects: int = 100_000,
    mix: str = "both",
    area: str = "both",
    rounds: int = 5,
    seed: int = 7,
    dataset: Path | None = None,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure every load; ``metrics`` are the first one's, ``loads`` has them all.

    Parameters
    ----------
    mix : str
        ``Z`` (keywords as they come), ``N`` (none of the 100 most frequent words) or ``both``.
    area : str
        Regions as a fraction of the space, ``mixed`` (0.0001 % to 1 %) or ``both`` (0.01 % and mixed).
    dataset : Path, optional
        Parquet file of posts; areas are then fractions of its bounding box.

    Raises
    ------
    AssertionError
        A contestant's pairs differ.
    """
    if quick:
        queries, objects, rounds = min(queries, 20_000), min(objects, 5_000), min(rounds, 2)
    wanted = loads_of(mix, area)
    posts = two_sets(objects, queries, seed, dataset)
    posts = posts._replace(objects=along_curve(posts.objects))
    loads = {load.name: _load(load, posts, queries, rounds, seed) for load in wanted}
    return {
        "params": {
            "queries": queries,
            "objects": len(posts.objects),
            "mix": mix,
            "area": area,
            "rounds": rounds,
            "seed": seed,
            "dataset": None if dataset is None else str(dataset),
            "default_index": DEFAULT_STANDING,
            "baseline_queries": min(queries, BASELINE_QUERIES),
            "duckdb_queries": queries if queries <= DUCKDB_QUERIES else BASELINE_QUERIES,
        },
        "metrics": next(iter(loads.values())),
        "loads": loads,
    }


def _load(load: Load, posts: Posts, queries: int, rounds: int, seed: int) -> dict[str, Any]:
    PROGRESS.info("%s: %s queries", load.name, f"{queries:,}")
    block = block_of(range_queries(posts.source, queries, load.mix, load.area, seed, posts.bounds))
    figures = compare_indexes(block, posts.objects, rounds)
    small = block if queries <= BASELINE_QUERIES else block.take(np.arange(BASELINE_QUERIES))
    small_figures, choices = _baselines(load, small, posts.objects, posts.bounds, rounds)
    if BASELINE_QUERIES < queries <= DUCKDB_QUERIES:
        PROGRESS.info("%s: DuckDB with all queries", load.name)
        whole, _ = _duckdb(block, posts.objects, posts.bounds, rounds, choices)
        # What anchors the baseline, gi2 against it, stays that of the smaller set.
        small_figures |= {name: figure for name, figure in whole.items() if not name.startswith("gi2_")}
    return rounded(figures | small_figures | _delta(block))


def block_of(table: pa.Table) -> QueryBlock:
    """The queries of a table, standing for all time."""
    return QueryBlock.from_table(table, np.arange(table.num_rows), MIN_US, MAX_US, StoreConfig())


def _built(block: QueryBlock, *names: str) -> dict[str, StandingIndex]:
    return {name: STANDING_INDEXES[name].build(block, Space()) for name in names}


def compare_indexes(block: QueryBlock, objects: ObjectColumns, rounds: int) -> dict[str, Any]:
    """The registered indexes against each other, with all queries."""
    warm, few = block.take(np.arange(min(100, len(block)))), taken(objects, np.arange(min(100, len(objects))))
    indexes: dict[str, StandingIndex] = {}
    build: dict[str, float] = {}
    for name in COMPARED_INDEXES:
        PROGRESS.info("building %s", name)
        _built(warm, name)[name].match(few)  # compiles
        build[name] = seconds(lambda n=name: indexes.update(_built(block, n)))  # type: ignore[misc]
    sample = _sample(len(objects), CHECKED_POSTS)
    some = taken(objects, sample)
    default = indexes[DEFAULT_STANDING]
    expected = default.match(some)
    for name in COMPARED_INDEXES[1:]:
        found = indexes[name].match(some)
        same_pairs(name, expected, found.object, found.query)
    PROGRESS.info("matching")
    calls = {name: _match_all(index, objects) for name, index in indexes.items()}
    taken_s = interleaved(calls, rounds)
    pairs = default.match(objects)
    rate = {name: len(objects) / s for name, s in taken_s.items()}
    return {
        "objects_per_s": rate[DEFAULT_STANDING],
        "matches_per_object": pairs.object.size / len(objects),
        "candidates_per_object": pairs.candidates / len(objects),
        "bytes_per_subscription": bytes_of(default.to_arrays()) / len(block),
        "build_us_per_query": build[DEFAULT_STANDING] / len(block) * 1e6,
        **{f"ratio_{name}": rate[DEFAULT_STANDING] / rate[name] for name in COMPARED_INDEXES[1:]},
        **{f"{name}_objects_per_s": rate[name] for name in COMPARED_INDEXES[1:]},
        **{
            f"{name}_bytes_per_subscription": bytes_of(indexes[name].to_arrays()) / len(block)
            for name in COMPARED_INDEXES[1:]
        },
        **{f"{name}_build_us_per_query": build[name] / len(block) * 1e6 for name in COMPARED_INDEXES[1:]},
    }


def _baselines(
    load: Load, block: QueryBlock, objects: ObjectColumns, bounds: Bounds, rounds: int
) -> tuple[dict[str, Any], tuple[JoinChoice, JoinChoice]]:
    """DuckDB, tantivy and the tree of rectangles, and what they are compared with, with the same queries."""
    PROGRESS.info("%s: baselines with %s queries", load.name, f"{len(block):,}")
    figures, choices = _duckdb(block, objects, bounds, rounds)
    index = _built(block, DEFAULT_STANDING)[DEFAULT_STANDING]
    expected = index.match(objects)
    queries, flat = flat_queries(block), flat_objects(objects, block)
    tantivy, tree = TantivyReverse(queries, bounds), RectangleTree(queries)
    asked, shown = _sample(len(flat), TANTIVY_POSTS), _sample(len(flat), TREE_POSTS)
    same_pairs("tantivy", expected, *pairs_of(tantivy, flat, asked), asked)
    same_pairs("the tree of rectangles", expected, *pairs_of(tree, flat, shown), shown)
    times = interleaved(
        {
            "ours": _match_all(index, objects),
            "tantivy": lambda: pairs_of(tantivy, flat, asked),
            "strtree": lambda: pairs_of(tree, flat, shown),
        },
        rounds,
    )
    ours = len(objects) / times["ours"]
    rates = {"tantivy": asked.size / times["tantivy"], "strtree": shown.size / times["strtree"]}
    return {
        **figures,
        **{f"ratio_{name}": ours / rate for name, rate in rates.items()},
        **{f"{name}_objects_per_s": rate for name, rate in rates.items()},
        "objects_per_s_at_baseline": ours,
    }, choices


def _duckdb(
    block: QueryBlock,
    objects: ObjectColumns,
    bounds: Bounds,
    rounds: int,
    choices: tuple[JoinChoice, JoinChoice] | None = None,
) -> tuple[dict[str, Any], tuple[JoinChoice, JoinChoice]]:
    """The join in DuckDB against the default index and gi2, on the same block; without choices all are tried."""
    indexes = _built(block, DEFAULT_STANDING, "gi2")
    expected = indexes[DEFAULT_STANDING].match(objects)
    with DuckdbJoin(flat_queries(block), flat_objects(objects, block), bounds) as join:
        tried = {}
        if choices is None:
            tried = {"duckdb_tried": {n: round(len(objects) / taken_s) for n, taken_s in join.tune().items()}}
        else:
            join.plain, join.choice = choices
        same_pairs("DuckDB, plainly,", expected, *join.pairs(join.plain))
        same_pairs("DuckDB, tuned,", expected, *join.pairs())
        contestants: dict[str, Callable[[], object]] = {n: _match_all(i, objects) for n, i in indexes.items()}
        contestants |= {"duckdb": lambda: join.pairs(join.plain), "tuned": join.pairs}
        times = interleaved(contestants, rounds)
        return {
            "ratio_duckdb": times["duckdb"] / times[DEFAULT_STANDING],
            "ratio_duckdb_tuned": times["tuned"] / times[DEFAULT_STANDING],
            "gi2_ratio_duckdb": times["duckdb"] / times["gi2"],
            "gi2_ratio_duckdb_tuned": times["tuned"] / times["gi2"],
            "duckdb_objects_per_s": len(objects) / times["duckdb"],
            "duckdb_tuned_objects_per_s": len(objects) / times["tuned"],
            "duckdb_tuned_formulation": f"{join.choice.formulation} {join.choice.grid}x{join.choice.grid}",
            **tried,
        }, (join.plain, join.choice)


def _delta(block: QueryBlock) -> dict[str, Any]:
    """Insertions into the mutable index beside the frozen one."""
    kind: Any = STANDING_INDEXES["delta"]
    rows = min(DELTA_QUERIES, len(block) // 2)
    first, second = block.take(np.arange(rows)), block.take(np.arange(rows, 2 * rows))
    taken_s = []
    for _ in range(3):
        delta = kind.build(first, Space())
        taken_s.append(seconds(lambda d=delta: d.insert(second)))  # type: ignore[misc]
    return {"delta_inserts_per_s": rows / min(taken_s)}


def _match_all(index: StandingIndex, objects: ObjectColumns) -> Callable[[], object]:
    return lambda: index.match(objects)


def _sample(n: int, most: int) -> I64:
    """Rows spread evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
