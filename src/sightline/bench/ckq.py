"""Nearest subscriptions: ``balls`` against the inverted file alone (KOP's index, DkM-SKS section 3.1).

The workload is that of DkM-SKS section 5.1: subscriptions of at most five words of one post, any of which may match, k
from 1 to 10. Posts stream in batches; the flat state keeps the k nearest. After the warm-up both indexes get the same
posts and radii, in turn, the slow one fewer of them, and what each spends per post is compared. The baseline is
itself compared with a NumPy brute force over all subscriptions, and the state of a sample of subscriptions with one
that knows no index.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sightline.bench.workload import HASH_SEED, posts, subscriptions, taken
from sightline.flat.arrays import I64
from sightline.index.protocol import NearestBounds, ObjectColumns
from sightline.index.standing.balls import BallsIndex, NearestState
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.inverted import InvertedIndex
from sightline.index.standing.scan import ScanNearest
from sightline.model.config import StoreConfig
from sightline.model.time import MAX_US, MIN_US

CHECKED_SUBSCRIPTIONS = 200  # subscriptions compared with the brute force
INVERTED_OBJECTS = 2_000  # posts per round for the baseline
NUMPY_OBJECTS = 20


def run(
    subscriptions: int = 1_000_000,
    objects: int = 1_000_000,
    batch_rows: int = 100_000,
    rounds: int = 5,
    seed: int = 7,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure after a warm-up of ``objects`` posts; ``quick`` is a twentieth of the subscriptions and posts.

    Raises
    ------
    AssertionError
        The indexes disagree, or the state is not that of the brute force.
    """
    if quick:
        subscriptions, objects, rounds = min(subscriptions, 50_000), min(objects, 50_000), min(rounds, 2)
        batch_rows = min(batch_rows, 25_000)
    config = StoreConfig(seed=HASH_SEED)
    block = any_of_block(subscriptions, seed, config)
    balls, built = _timed(lambda: BallsIndex.build(block, config.space))
    inverted = InvertedIndex.build(block, config.space)
    _compile(block, balls, inverted)

    state = NearestState(block)
    shown = posts(objects + batch_rows, seed + 2)
    cold_s, entered, checked = 0.0, 0, 0
    for number, batch in _batches(shown, objects, batch_rows):
        update, seconds = _timed(lambda b=batch, f=number: state.update(balls, b, f))
        cold_s += seconds
        entered, checked = entered + update.entered, checked + update.checked
    sample = _check(block, state, taken(shown, np.arange(objects)), config)

    steady = taken(shown, np.arange(objects, objects + batch_rows))
    few = taken(steady, np.arange(min(len(steady), INVERTED_OBJECTS)))
    bounds = state.bounds()
    fast, slow, plain = [], [], []
    for _ in range(rounds):
        found, seconds = _timed(lambda: balls.candidates(steady, bounds))
        fast.append(seconds / len(steady))
        _same(balls, inverted, few, bounds)
        slow.append(_timed(lambda: inverted.candidates(few, bounds))[1] / len(few))
    brute = ScanNearest.build(block, config.space)
    fewest = taken(few, np.arange(min(len(few), NUMPY_OBJECTS)))
    _same(brute, inverted, fewest, bounds)
    plain.append(_timed(lambda: brute.candidates(fewest, bounds))[1] / len(fewest))
    last, seconds = _timed(lambda: state.update(balls, steady, objects))
    ours, theirs = float(np.median(fast)), float(np.median(slow))
    size = balls.nbytes() + state.nbytes
    return {
        "params": {
            "subscriptions": subscriptions,
            "objects": objects,
            "batch_rows": batch_rows,
            "rounds": rounds,
            "inverted_objects": len(few),
            "numpy_objects": len(fewest),
            "seed": seed,
            "quick": quick,
        },
        "metrics": {
            "objects_per_s": round(1 / ours),
            "ratio_inverted": round(theirs / ours, 2),
            "bytes_per_subscription": round(size / subscriptions, 1),
            "index_bytes_per_subscription": round(balls.nbytes() / subscriptions, 1),
            "state_bytes_per_subscription": round(state.nbytes / subscriptions, 1),
            "inverted_objects_per_s": round(1 / theirs),
            "inverted_vs_numpy": round(float(np.median(plain)) / theirs, 2),
            "cold_objects_per_s": round(objects / cold_s),
            "update_objects_per_s": round(len(steady) / seconds),
            "updates_per_object": round(last.entered / len(steady), 3),
            "candidates_per_object": round(len(found.object) / len(steady), 3),
            "entries_per_object": round(found.checked / len(steady), 1),
            "warm_up_updates_per_object": round(entered / objects, 3),
            "warm_up_entries_per_object": round(checked / objects, 1),
            "build_us_per_subscription": round(built / subscriptions * 1e6, 3),
            "words_per_subscription": round(len(block.conj_query) / subscriptions, 3),
            "checked": sample,
        },
    }


def any_of_block(n: int, seed: int, config: StoreConfig) -> QueryBlock:
    """Subscriptions that any of their words satisfies; made from lists, because parsing a million ORs takes minutes."""
    block = QueryBlock.from_table(subscriptions(n, seed, any_of=False), np.arange(n), MIN_US, MAX_US, config)
    words = np.diff(block.pos_offsets)
    each = np.arange(len(block.pos) + 1, dtype=np.int64)
    return replace(block, conj_query=np.repeat(block.conj_query, words), pos_offsets=each, neg_offsets=each * 0)


def _batches(objects: ObjectColumns, stop: int, rows: int) -> Iterator[tuple[int, ObjectColumns]]:
    for first in range(0, stop, rows):
        yield first, taken(objects, np.arange(first, min(first + rows, stop)))


def _compile(block: QueryBlock, *indexes: BallsIndex | InvertedIndex) -> None:
    """Run every kernel once, on posts that are not measured."""
    few = posts(10, 1)
    for index in indexes:
        NearestState(block).update(index, few)


def _same(one: Any, other: Any, objects: ObjectColumns, bounds: NearestBounds) -> None:
    """Both find the same pairs within the radii (k = 0: none is left out)."""
    within = bounds._replace(k=np.zeros_like(bounds.k))
    first, second = (_keys(index.candidates(objects, within)) for index in (one, other))
    if not np.array_equal(first, second):
        names = f"{type(one).__name__} and {type(other).__name__}"
        message = f"{names} differ: {first.shape[1]} and {second.shape[1]} pairs"
        raise AssertionError(message)


def _keys(pairs: Any) -> I64:
    order = np.lexsort((pairs.query, pairs.object))
    columns = (pairs.object, pairs.query, pairs.distance_mm)
    return np.stack([np.asarray(column, np.int64)[order] for column in columns])


def _check(block: QueryBlock, state: NearestState, objects: ObjectColumns, config: StoreConfig) -> int:
    """Compare the state of some subscriptions with all their pairs, sorted; returns how many were compared."""
    rows = np.unique(np.linspace(0, len(block) - 1, min(CHECKED_SUBSCRIPTIONS, len(block))).astype(np.int64))
    part = block.take(rows)
    everything = NearestState(part).bounds()._replace(k=np.zeros(len(rows), np.int32))
    pairs = ScanNearest.build(part, config.space).candidates(objects, everything)
    order = np.lexsort((pairs.object, pairs.distance_mm, pairs.query))
    query, row, distance = pairs.query[order], pairs.object[order], pairs.distance_mm[order]
    for j, number in enumerate(rows.tolist()):
        own = slice(*np.searchsorted(query, [j, j + 1]).tolist())
        wanted = list(zip(distance[own].tolist(), row[own].tolist(), strict=True))[: int(block.k[number])]
        if state.of(number) != wanted:
            message = f"subscription {number} keeps {state.of(number)}, the brute force {wanted}"
            raise AssertionError(message)
    return len(rows)


def _timed(call: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began
