"""Cost formulas that run inside other kernels, and the loops the array forms need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.jit import kernel

#: Query types, in the order of every array of six.
SRQ, SKQ, STQ, CRQ, CKQ, CTQ = 0, 1, 2, 3, 4, 5


class CostModel(NamedTuple):
    """What SSTD's Equation 2 needs besides the partition itself; all arrays are read-only float64."""

    types: F64  # [6] Pr(srq), Pr(skq), Pr(stq), Pr(crq), Pr(ckq), Pr(ctq)
    srq_lengths: F64  # [l] Pr(|q.phi| = l) of SRQs, from l = 0
    skq_lengths: F64  # [l] the same of SKQs
    lifetimes: F64  # [3] mean lifetime of CRQs, CKQs, CTQs in seconds: sum over T of Pr(q.tau = T) T


@kernel
def covered(h: float, lengths: F64) -> float:
    """Equation 1: the chance that a query's keywords are all in a list of mass ``h``, sum over l of Pr(l) h^l."""
    total = 0.0
    for l in range(len(lengths) - 1, -1, -1):  # noqa: E741 (the paper's letter)
        total = total * h + lengths[l]
    return total


@kernel
def workload(model: CostModel, p: F64, objects: float, rate: float, h_srq: float, h_skq: float) -> float:
    """Equation 2: expected objects visited in a partition by a random query.

    ``p[6]`` are the probabilities that a query of each type overlaps the partition (its search region, for kNN),
    ``objects`` is |O|, ``rate`` E_P in objects per second, ``h_srq`` and ``h_skq`` the masses of the keyword list.
    """
    visited = model.types[SRQ] * p[SRQ] * covered(h_srq, model.srq_lengths)
    visited += model.types[SKQ] * p[SKQ] * covered(h_skq, model.skq_lengths)
    visited += model.types[STQ] * p[STQ]
    checked = model.types[CRQ] * p[CRQ] * model.lifetimes[0]
    checked += model.types[CKQ] * p[CKQ] * model.lifetimes[1]
    checked += model.types[CTQ] * p[CTQ] * model.lifetimes[2]
    return float(visited * objects + checked * rate)


@kernel
def workloads(model: CostModel, p: F64, objects: F64, rates: F64, h_srq: F64, h_skq: F64) -> F64:
    """:func:`workload` of n partitions; ``p`` is [n, 6], the others [n]."""
    out = np.empty(len(objects), np.float64)
    for i in range(len(objects)):
        out[i] = workload(model, p[i], objects[i], rates[i], h_srq[i], h_skq[i])
    return out


class QueryWords(NamedTuple):
    """Keywords of subscriptions: conjuncts of each, positive and negative terms of a conjunct (-1: nobody has it)."""

    conjuncts: I64
    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32


@kernel
def expected_matches(words: QueryWords, subscription: int, counts: I64, objects: int) -> float:
    """Equations 1 and 5 of DkM-SKS times |O_init|: the sum over the conjuncts of a subscription.

    ``objects`` is |O_R| (all objects for Equation 1), ``counts[t]`` how many of them have term t. The first positive
    term counts its objects, further ones multiply by the share of the objects that have them, negated ones by the
    share that lack them; without positive terms all objects are begun with.
    """
    if objects == 0:
        return 0.0
    total = 0.0
    for c in range(words.conjuncts[subscription], words.conjuncts[subscription + 1]):
        expected = float(objects)
        for p in range(words.pos_offsets[c], words.pos_offsets[c + 1]):
            having = float(counts[words.pos[p]]) if words.pos[p] >= 0 else 0.0
            expected = having if p == words.pos_offsets[c] else expected * (having / objects)
        for p in range(words.neg_offsets[c], words.neg_offsets[c + 1]):
            having = float(counts[words.neg[p]]) if words.neg[p] >= 0 else 0.0
            expected *= 1.0 - having / objects
        total += expected
    return total


@kernel
def subscription_costs(words: QueryWords, rows: I64, counts: I64, objects: int) -> F64:
    """:func:`expected_matches` of the subscriptions ``rows``."""
    out = np.empty(len(rows), np.float64)
    for i in range(len(rows)):
        out[i] = expected_matches(words, rows[i], counts, objects)
    return out


@kernel
def most_overlapping(rectangles: F64, boxes: F64) -> I32:
    """Equation 7 of DkM-SKS: the rectangle that shares most area with each box; ties by touching, then by number."""
    out = np.zeros(len(boxes), np.int32)
    for b in range(len(boxes)):
        best, touched = -1.0, False
        for r in range(len(rectangles)):
            width = min(rectangles[r, 2], boxes[b, 2]) - max(rectangles[r, 0], boxes[b, 0])
            height = min(rectangles[r, 3], boxes[b, 3]) - max(rectangles[r, 1], boxes[b, 1])
            touches = width >= 0.0 and height >= 0.0
            area = width * height if touches else 0.0
            if area > best or (area == best and touches and not touched):
                out[b], best, touched = r, area, touches
    return out


@kernel
def worker_load(costs: F64, objects: float, stored: float, inserted: float, deleted: float) -> float:
    """Definition 1 of PS2Stream with ``costs`` = (c1, c2, c3, c4)."""
    return float(costs[0] * objects * stored + costs[1] * objects + costs[2] * inserted + costs[3] * deleted)


@kernel
def steady_load(costs: F64, objects: float, queries: float) -> float:
    """:func:`worker_load` where every stored query is inserted once and deleted once."""
    return worker_load(costs, objects, queries, queries, queries)


@kernel
def worker_loads(costs: F64, objects: F64, stored: F64, inserted: F64, deleted: F64) -> F64:
    """:func:`worker_load` of n workers."""
    out = np.empty(len(objects), np.float64)
    for w in range(len(objects)):
        out[w] = worker_load(costs, objects[w], stored[w], inserted[w], deleted[w])
    return out
