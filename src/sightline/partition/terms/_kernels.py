"""Workers of terms, keys of conjuncts, and the routes that follow from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64
from sightline.jit import kernel
from sightline.partition.pairs_kernels import add_once, by_worker, with_room


class TermTable(NamedTuple):
    """Terms with a worker of their own; ``slots`` is open addressing by ``hash & (2^m - 1)``, -1 empty."""

    hashes: I64
    slots: I32
    frequency: I64
    worker: I32


@kernel
def find_hash(hashes: I64, slots: I32, wanted: np.int64) -> np.int64:
    """Number of the term with a hash, -1 if there is none."""
    mask = slots.size - 1
    slot = wanted & mask
    while slots[slot] >= 0:
        if hashes[slots[slot]] == wanted:
            return np.int64(slots[slot])
        slot = (slot + 1) & mask
    return np.int64(-1)


@kernel
def numbers_of(hashes: I64, slots: I32, wanted: I64) -> I32:
    """Number of each wanted term, -1 where absent."""
    out = np.empty(wanted.size, np.int32)
    for i in range(wanted.size):
        out[i] = find_hash(hashes, slots, wanted[i])
    return out


@kernel
def hashed_to(term: int, n: int) -> int:
    """One of n by the hash of a term, which is mixed already: folding its halves is enough, and overflows nowhere."""
    return ((term ^ (term >> 32)) & 0x7FFFFFFF) % n


@kernel
def all_hashed_to(terms: I64, n: int) -> I32:
    """:func:`hashed_to` of many."""
    out = np.empty(terms.size, np.int32)
    for i in range(terms.size):
        out[i] = hashed_to(terms[i], n)
    return out


@kernel
def places_of(table: TermTable, wanted: I64, workers: int) -> tuple[I32, I64]:
    """Worker and frequency of each wanted term; one that the table lacks is hashed, and has frequency 0."""
    worker, frequency = all_hashed_to(wanted, workers), np.zeros(wanted.size, np.int64)
    for i in range(wanted.size):
        term = find_hash(table.hashes, table.slots, wanted[i])
        if term >= 0:
            worker[i], frequency[i] = table.worker[term], table.frequency[term]
    return worker, frequency


@kernel
def routes_of_objects(offsets: I64, ids: I32, term_worker: I32, owner: I32, workers: int) -> tuple[I32, I32]:
    """Pairs (row, worker): the owner and the workers of the row's terms, each once, by worker, then row."""
    rows, to = np.empty(2 * owner.size + workers, np.int32), np.empty(2 * owner.size + workers, np.int32)
    seen = np.full(workers, -1, np.int64)
    pairs = 0
    for i in range(owner.size):
        rows, to = with_room(rows, to, pairs, workers)
        pairs = add_once(i, owner[i], seen, rows, to, pairs)
        for p in range(offsets[i], offsets[i + 1]):
            pairs = add_once(i, term_worker[ids[p]], seen, rows, to, pairs)
    return by_worker(rows, to, pairs, workers)


@kernel
def routes_of_queries(offsets: I64, conj_worker: I32, workers: int) -> tuple[I32, I32]:
    """Pairs (query, worker): the workers of its conjuncts, all workers for -1, each once, by worker, then query."""
    queries, to = np.empty(conj_worker.size + workers, np.int32), np.empty(conj_worker.size + workers, np.int32)
    seen = np.full(workers, -1, np.int64)
    pairs = 0
    for q in range(offsets.size - 1):
        queries, to = with_room(queries, to, pairs, workers)
        for c in range(offsets[q], offsets[q + 1]):
            if conj_worker[c] >= 0:
                pairs = add_once(q, conj_worker[c], seen, queries, to, pairs)
                continue
            for w in range(workers):
                pairs = add_once(q, w, seen, queries, to, pairs)
    return by_worker(queries, to, pairs, workers)
