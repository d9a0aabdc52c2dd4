"""Passes over pairs (object, subscription); where matches are many, a micro-batch has tens of millions of them."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from sightline.jit import kernel

Ints = npt.NDArray[Any]


@kernel
def keep_alive(
    obj: Ints, query: Ints, ts: Ints, start: Ints, end: Ints, closed: Ints, dropped: Ints, out: Ints
) -> tuple[int, int]:
    """Places of the pairs whose object lies in the lifetime of its query; their number, and that of late ones."""
    kept = late = 0
    for i in range(len(obj)):
        q = query[i]
        at = ts[obj[i]]
        if dropped[q] or at < start[q] or at >= end[q]:
            continue
        if closed[q]:
            late += 1
            continue
        out[kept] = i
        kept += 1
    return kept, late


@kernel
def number_matched(obj: Ints, place: Ints) -> int:
    """Number the objects that occur in ``obj`` by row: place[row] = rank, -1 for the others; returns how many."""
    place[:] = -1
    for i in range(len(obj)):
        place[obj[i]] = 0
    matched = 0
    for row in range(len(place)):
        if place[row] == 0:
            place[row] = matched
            matched += 1
    return matched


@kernel
def count_queries(query: Ints, offsets: Ints) -> None:
    """Add the pairs of each query to offsets[query + 1]."""
    for i in range(len(query)):
        offsets[query[i] + 1] += 1


@kernel
def place_pairs(query: Ints, obj: Ints, cursor: Ints, out: Ints) -> None:
    """Counting sort: put each pair's object where its query's run goes on; stable."""
    for i in range(len(query)):
        q = query[i]
        out[cursor[q]] = obj[i]
        cursor[q] += 1


@kernel
def awaited_pairs(offsets: Ints, ids: Ints, row: Ints, worker: Ints, waits: Ints, wild: Ints, keep: Ints) -> None:
    """keep[j]: worker[j] waits for everything, or for a term of row[j]."""
    for j in range(row.size):
        found = wild[worker[j]]
        i = offsets[row[j]]
        while not found and i < offsets[row[j] + 1]:
            found = waits[ids[i], worker[j]]
            i += 1
        keep[j] = found
