"""Counting and dealing for the kd^t-tree: terms of a node, keys of its queries, units into bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, Flag
from sightline.jit import kernel
from sightline.partition.cost._kernels import steady_load
from sightline.text.postings_kernels import rarest_term

_NO_TERM, _HAS_KEY = -1, -2


class SampleText(NamedTuple):
    """Terms of a sample, all numbered alike, in the order of their hashes.

    Object i has ``ids[offsets[i]:offsets[i+1]]``. Piece p belongs to query ``query[p]``; query q has the distinct
    positive keywords ``words[word_offsets[q]:word_offsets[q+1]]`` and the conjuncts ``conj[q]:conj[q+1]``, whose
    positive terms are in ``pos``. ``wild`` queries have a conjunct without positive terms, or are not range queries.
    """

    offsets: I64
    ids: I32
    query: I32
    word_offsets: I64
    words: I32
    conj: I64
    pos_offsets: I64
    pos: I32
    wild: Flag


class Units(NamedTuple):
    """What is dealt: unit u has the objects and the queries of its runs, each once."""

    object_offsets: I64
    objects: I32
    query_offsets: I64
    queries: I32


@kernel
def term_counts(objects: I32, text: SampleText, terms: int) -> I32:
    """How many of some objects have each term."""
    count = np.zeros(terms, np.int32)
    for i in objects:
        for j in range(text.offsets[i], text.offsets[i + 1]):
            count[text.ids[j]] += 1
    return count


@kernel
def similarity(objects: I32, queries: I32, text: SampleText, terms: int) -> float:
    """Cosine of the term counts of objects and of queries; 1 where either has no terms (ours)."""
    count = term_counts(objects, text, terms)
    wanted = np.zeros(terms, np.int32)
    for p in queries:
        q = text.query[p]
        for j in range(text.word_offsets[q], text.word_offsets[q + 1]):
            wanted[text.words[j]] += 1
    both, left, right = 0.0, 0.0, 0.0
    for t in range(terms):
        x, y = float(count[t]), float(wanted[t])
        both += x * y
        left += x * x
        right += y * y
    if left == 0.0 or right == 0.0:
        return 1.0
    return float(min(1.0, both / (np.sqrt(left) * np.sqrt(right))))


@kernel
def keys_of(queries: I32, text: SampleText, count: I32, hashes: I64) -> tuple[I64, I32, Flag]:
    """Pairs (position in ``queries``, key) of all conjuncts, and which queries are wild and have no keys.

    The key of a conjunct is its term with the least count, ties to the smallest hash.
    """
    size = 0
    for p in queries:
        size += text.conj[text.query[p] + 1] - text.conj[text.query[p]]
    at, key = np.empty(size, np.int64), np.empty(size, np.int32)
    wild = np.zeros(len(queries), np.bool_)
    n = 0
    for i in range(len(queries)):
        q = text.query[queries[i]]
        if text.wild[q]:
            wild[i] = True
            continue
        for c in range(text.conj[q], text.conj[q + 1]):
            at[n], key[n] = i, rarest_term(text.pos, text.pos_offsets[c], text.pos_offsets[c + 1], count, hashes)
            n += 1
    return at[:n], key[:n], wild


@kernel
def key_postings(objects: I32, text: SampleText, slot: I32, keys: int) -> tuple[I64, I32, I32]:
    """Positions in ``objects`` that have each key, as runs; and each object's smallest term if it has no key.

    ``slot`` numbers the keys among all terms (-1: not a key). The third array is -2 for objects with a key, -1 for
    objects without terms.
    """
    runs = np.zeros(keys + 1, np.int64)
    last = np.full(keys, -1, np.int32)
    smallest = np.full(len(objects), _NO_TERM, np.int32)
    for i in range(len(objects)):
        for j in range(text.offsets[objects[i]], text.offsets[objects[i] + 1]):
            term = text.ids[j]
            k = slot[term]
            if k >= 0:
                smallest[i] = _HAS_KEY
                if last[k] != i:  # two strings may share a hash
                    last[k] = i
                    runs[k + 1] += 1
            elif smallest[i] == _NO_TERM or term < smallest[i]:
                smallest[i] = term  # a number below 0 stays: it has a key
    for k in range(keys):
        runs[k + 1] += runs[k]
    rows = np.empty(runs[keys], np.int32)
    end = runs[:-1].copy()
    for i in range(len(objects)):
        for j in range(text.offsets[objects[i]], text.offsets[objects[i] + 1]):
            k = slot[text.ids[j]]
            if k >= 0 and (end[k] == runs[k] or rows[end[k] - 1] != i):
                rows[end[k]] = i
                end[k] += 1
    return runs, rows, smallest


class PlacedRows(NamedTuple):
    """Which rows are in which bins: chains of entries, because most rows are in few bins."""

    last: I32  # per row its latest entry, -1 for none
    row: I32
    into: I32
    before: I32


@kernel
def nowhere(rows: int, entries: int) -> PlacedRows:
    """No row in any bin, and room for so many entries."""
    entry = np.empty(entries, np.int32), np.empty(entries, np.int32), np.empty(entries, np.int32)
    return PlacedRows(np.full(rows, -1, np.int32), entry[0], entry[1], entry[2])


@kernel
def put(placed: PlacedRows, used: int, row: int, target: int) -> int:
    """Put a row into a bin unless it is there; the number of entries afterwards."""
    e = placed.last[row]
    while e >= 0:
        if placed.into[e] == target:
            return used
        e = placed.before[e]
    placed.row[used], placed.into[used], placed.before[used] = row, target, placed.last[row]
    placed.last[row] = used
    return used + 1


@kernel
def overlaps(placed: PlacedRows, rows: I32, first: int, end: int, counts: I64) -> None:
    """How many of ``rows[first:end]`` each bin has."""
    counts[:] = 0
    for j in range(first, end):
        e = placed.last[rows[j]]
        while e >= 0:
            counts[placed.into[e]] += 1
            e = placed.before[e]


@kernel
def deal(
    units: Units, order: I64, home: I32, queries: int, wild: int, bins: int, costs: F64
) -> tuple[I32, F64, I32, I32, I32, I32]:
    """Deal units into bins, in the given order, by the rule of MergeNodesIntoPartitions (section IV-B).

    A unit goes where it adds the least load, unless that raises L_max/L_min: then to the lightest bin. Empty bins are
    filled first (ours: the ratio is infinite until then). Ties go to the bin with fewer units, then to the lower
    number. ``home[o]`` is a bin that has object o from the beginning (-1: none); ``wild`` more queries are in all bins.
    Returns the bin of each unit, the loads, the pairs (object, bin) and the pairs (query, bin).
    """
    objects_in, queries_in = np.zeros(bins, np.int64), np.full(bins, wild, np.int64)
    placed_objects = nowhere(len(home), len(home) + len(units.objects))
    placed_queries = nowhere(queries, len(units.queries))
    some_objects, some_queries = 0, 0
    for o in range(len(home)):
        if home[o] >= 0:
            some_objects = put(placed_objects, some_objects, o, home[o])
            objects_in[home[o]] += 1
    load, after, held = np.empty(bins, np.float64), np.empty(bins, np.float64), np.zeros(bins, np.int64)
    for b in range(bins):
        load[b] = steady_load(costs, objects_in[b], queries_in[b])
    bin_of = np.zeros(len(units.object_offsets) - 1, np.int32)
    old_objects, old_queries = np.empty(bins, np.int64), np.empty(bins, np.int64)
    for u in order:
        first_object, end_object = units.object_offsets[u], units.object_offsets[u + 1]
        first_query, end_query = units.query_offsets[u], units.query_offsets[u + 1]
        overlaps(placed_objects, units.objects, first_object, end_object, old_objects)
        overlaps(placed_queries, units.queries, first_query, end_query, old_queries)
        lightest, best, top = 0, 0, load[0]
        for b in range(bins):
            more_objects = objects_in[b] + (end_object - first_object) - old_objects[b]
            more_queries = queries_in[b] + (end_query - first_query) - old_queries[b]
            after[b] = steady_load(costs, more_objects, more_queries)
            top = max(top, load[b])
            rise, least = after[b] - load[b], after[best] - load[best]
            if rise < least or (rise == least and held[b] < held[best]):
                best = b
            if load[b] < load[lightest] or (load[b] == load[lightest] and held[b] < held[lightest]):
                lightest = b
        target = lightest
        if load[lightest] > 0.0:
            bottom = after[best]
            for b in range(bins):
                if b != best:
                    bottom = min(bottom, load[b])
            if max(top, after[best]) * load[lightest] <= top * bottom:
                target = best
        bin_of[u] = target
        for j in range(first_object, end_object):
            some_objects = put(placed_objects, some_objects, units.objects[j], target)
        for j in range(first_query, end_query):
            some_queries = put(placed_queries, some_queries, units.queries[j], target)
        objects_in[target] += (end_object - first_object) - old_objects[target]
        queries_in[target] += (end_query - first_query) - old_queries[target]
        load[target] = after[target]
        held[target] += 1
    return (
        bin_of, load, placed_objects.row[:some_objects], placed_objects.into[:some_objects],
        placed_queries.row[:some_queries], placed_queries.into[:some_queries],
    )  # fmt: skip
