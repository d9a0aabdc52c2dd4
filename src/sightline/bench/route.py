"""Objects and queries routed per second on one core, by every partitioner fitted to the workload.

Posts, range queries (0.01 % of the space, mix N by default), nearest and top-terms subscriptions are those of the
other benchmarks. Partitioners and the plain grid that a store begins with take turns; ``ratio_grid`` is the plain
grid's time over theirs, for objects, ``queries_ratio_grid`` the same for queries. Before anything is timed, pairs that
match are looked for on the workers: each must meet, and once unless the partitioner says otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sightline.bench.loads import two_sets
from sightline.bench.partition import WORKERS, chosen, compiled
from sightline.bench.six_types import block_of_tables, evenly, nearest_form, top_terms_form
from sightline.bench.timing import PROGRESS, bytes_of, interleaved, rounded
from sightline.bench.workload import AREA, MIXES, STEP_US, Mix, range_queries, taken
from sightline.bench.workload import subscriptions as nearest_subscriptions
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.registry import DEFAULT_STANDING, STANDING_INDEXES
from sightline.index.standing.block import KIND_RANGE, QueryBlock
from sightline.model.errors import BadConfig
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.grid import GridRouting
from sightline.partition.history import History
from sightline.partition.protocol import Routing

PLAIN_GRID = "plain grid"
TOP_TERMS = 1_000
HISTORY = 200_000  # objects that a partitioning is fitted to, at most
ASKED = 6_000  # searches of the history
MET_POSTS = 2_000  # posts whose matches are looked for


def run(
    objects: int = 200_000,
    queries: int = 200_000,
    subscriptions: int = 10_000,
    workers: int = WORKERS,
    mix: Mix = "N",
    rounds: int = 5,
    seed: int = 7,
    dataset: Path | None = None,
    partitioners: str | None = None,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure; medians of interleaved rounds.

    Parameters
    ----------
    queries : int
        Standing range queries.
    subscriptions : int
        Standing nearest queries; there are 1,000 top-terms ones besides, or a tenth of these.
    partitioners : str, optional
        Names separated by commas; all of them by default.

    Raises
    ------
    AssertionError
        An object and a query that match do not meet, or meet twice without notice.
    """
    if mix not in MIXES:
        raise BadConfig("unknown mix of keywords", value=mix, allowed=", ".join(MIXES))
    if quick:
        objects, queries, rounds = min(objects, 20_000), min(queries, 10_000), min(rounds, 2)
        subscriptions = min(subscriptions, 1_000)
    names, space = chosen(partitioners), Space()
    posts = two_sets(objects, max(queries, objects), seed, dataset)
    past = taken(posts.source, evenly(len(posts.source), min(objects, HISTORY)))
    boxes = range_queries(posts.source, queries, mix, AREA, seed, posts.bounds)
    standing = _standing(boxes, posts.source, subscriptions, mix, seed)
    searches = range_queries(posts.source, min(queries, ASKED), mix, AREA, seed + 1, posts.bounds)
    asked = block_of_tables([searches, nearest_form(searches), top_terms_form(searches)], 0, 1)
    history = History(past, standing, asked, max(1, len(past) * STEP_US))
    matches = _matches(standing, posts.objects)
    build_s: dict[str, float] = {}
    fitted: dict[str, Routing] = {PLAIN_GRID: GridRouting.start(space, workers)}
    for name in names:
        PROGRESS.info("fitting %s", name)
        kind = compiled(name, history, space, workers)
        began = time.perf_counter()
        fitted[name] = kind.fitted(history, space, workers)
        build_s[name] = time.perf_counter() - began
    for name, routing in fitted.items():
        check_meetings(name, routing, posts.objects, standing, matches)
    PROGRESS.info("routing")
    object_s = interleaved({name: _objects(one, posts.objects) for name, one in fitted.items()}, rounds)
    query_s = interleaved({name: _queries(one, standing) for name, one in fitted.items()}, rounds)
    metrics = {
        name: rounded({
            "objects_per_s": len(posts.objects) / object_s[name],
            "queries_per_s": len(standing) / query_s[name],
            "ratio_grid": object_s[PLAIN_GRID] / object_s[name],
            "queries_ratio_grid": query_s[PLAIN_GRID] / query_s[name],
            "build_s": build_s[name],
            "leaves": fitted[name].leaf_table().num_rows,
            "bytes": bytes_of(fitted[name].to_arrays()),
        })
        for name in names
    }  # fmt: skip
    return {
        "params": {
            "objects": len(posts.objects), "queries": queries, "subscriptions": subscriptions, "workers": workers,
            "mix": mix, "rounds": rounds, "seed": seed, "area": AREA, "fitted_to": len(past), "partitioners": names,
            "dataset": None if dataset is None else str(dataset),
        },
        "metrics": metrics,
        "baseline": rounded({
            "objects_per_s": len(posts.objects) / object_s[PLAIN_GRID],
            "queries_per_s": len(standing) / query_s[PLAIN_GRID],
        }),
        "table": [{"partitioner": name, **figures} for name, figures in metrics.items()],
    }  # fmt: skip


def check_meetings(
    name: str, routing: Routing, objects: ObjectColumns, standing: QueryBlock, matches: MatchPairs
) -> None:
    """Check that objects and queries that match meet; ``AssertionError`` when they do not."""
    routes, stands = routing.router().route_objects(objects), routing.route_queries(standing)
    gets, holds = (np.zeros((rows, routing.workers), np.bool_) for rows in (len(objects), len(standing)))
    gets[routes.row, routes.worker] = True
    holds[stands.query, stands.worker] = True
    met = (gets[matches.object] & holds[matches.query]).sum(axis=1)
    missed, twice = int((met == 0).sum()), 0 if routing.duplicates else int((met > 1).sum())
    if missed or twice:
        message = f"{name}: of {met.size} pairs that match {missed} do not meet, {twice} meet more than once"
        raise AssertionError(message)


def _standing(boxes: pa.Table, source: ObjectColumns, nearest: int, mix: Mix, seed: int) -> QueryBlock:
    counted = top_terms_form(boxes.slice(0, min(TOP_TERMS, max(1, nearest // 10))))
    return block_of_tables([boxes, nearest_subscriptions(nearest, seed, source, mix), counted], MIN_US, MAX_US)


def _matches(standing: QueryBlock, objects: ObjectColumns) -> MatchPairs:
    """Pairs of range queries and some posts, in rows of the whole block and of all posts."""
    rows = evenly(len(objects), MET_POSTS)
    ranges = np.flatnonzero(standing.kind == KIND_RANGE)
    found = STANDING_INDEXES[DEFAULT_STANDING].build(standing.take(ranges), Space()).match(taken(objects, rows))
    return MatchPairs(rows[found.object].astype(np.int32), ranges[found.query].astype(np.int32), found.candidates)


def _objects(routing: Routing, objects: ObjectColumns) -> Callable[[], object]:
    return lambda: routing.router().route_objects(objects)


def _queries(routing: Routing, standing: QueryBlock) -> Callable[[], object]:
    return lambda: routing.route_queries(standing)
