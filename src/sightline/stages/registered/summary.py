"""Which terms anybody at a worker waits for: what keeps objects from being sent where nothing can match them.

Tornado's textual summary (section 3.1), for every partitioner: of each conjunct of a range or nearest subscription one
positive term, the one that fewest subscriptions have; an object that has none of a worker's terms matches nothing
there. A conjunct without positive terms makes its workers wait for everything. Terms are hashes; two that share one
only cause an object too many.

Deviation: terms are not counted by reference. A base is made anew when much was dropped, and its summary with it;
until then a summary may name terms nobody waits for any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I64, Flag, frozen, places_in
from sightline.flat.records import FlatRecord
from sightline.index.standing.block import KIND_TOP_TERMS, QueryBlock
from sightline.partition import Routing
from sightline.partition.protocol import QueryRoutes
from sightline.stages.registered._kernels import awaited_pairs
from sightline.store.array_file import ArrayFile
from sightline.text.postings_kernels import rarest_terms
from sightline.text.term_batch import TermBatch


@dataclass(frozen=True, eq=False)
class Summary(FlatRecord):
    """Terms by ascending hash, who waits for each, and who waits for everything."""

    hashes: I64
    waits: Flag  # [terms, workers]
    wild: Flag  # [workers]


def open_summary(file: ArrayFile) -> Summary:
    """Map a summary."""
    return Summary.from_arrays({name: file.array(name) for name in file.names})


def summarise(block: QueryBlock, routing: Routing) -> Summary:
    """The summary of the range and nearest queries of a block."""
    kept = np.flatnonzero(block.kind != KIND_TOP_TERMS)
    block = block if len(kept) == len(block) else block.take(kept)
    return _summary(block, routing.route_queries(block), routing.workers)


def _summary(block: QueryBlock, routes: QueryRoutes, workers: int) -> Summary:
    stands = np.zeros((len(block), workers), np.bool_)
    stands[routes.query, routes.worker] = True
    sizes = np.diff(block.pos_offsets)
    wild = stands[block.conj_query[sizes == 0]].any(axis=0)
    listed = np.flatnonzero(sizes)
    fewest = frozen(np.bincount(block.pos, minlength=len(block.dictionary)), np.int64)
    term = rarest_terms(block.pos_offsets, block.pos, block.dictionary.hashes, fewest)[listed]
    hashes, place = np.unique(block.dictionary.hashes[term], return_inverse=True)
    waits = np.zeros((len(hashes), workers), np.bool_)
    for worker in range(workers):
        waits[place[stands[block.conj_query[listed], worker]], worker] = True
    return Summary(hashes, waits, wild)


def merged(summaries: Sequence[Summary]) -> Summary:
    """One summary for what several say (at least one)."""
    if len(summaries) == 1:
        return summaries[0]
    hashes, place = np.unique(np.concatenate([one.hashes for one in summaries]), return_inverse=True)
    waits = np.zeros((len(hashes), summaries[0].wild.size), np.bool_)
    np.logical_or.at(waits, place, np.concatenate([one.waits for one in summaries]))
    return Summary(hashes, waits, np.logical_or.reduce([one.wild for one in summaries]))


def awaited(
    summaries: Sequence[Summary], terms: TermBatch, row: npt.NDArray[np.int32], worker: npt.NDArray[np.int32]
) -> Flag:
    """Which pairs (row, worker) somebody at the worker may wait for; nobody does without any summary."""
    keep = np.zeros(row.size, np.bool_)
    if not summaries:
        return keep
    wild = np.logical_or.reduce([one.wild for one in summaries])
    waits = np.zeros((len(terms.dictionary), wild.size), np.bool_)
    for one in summaries:
        at = places_in(one.hashes, terms.dictionary.hashes)
        waits[at >= 0] |= one.waits[at[at >= 0]]
    awaited_pairs(
        frozen(terms.offsets, np.int64), frozen(terms.ids, np.int32), frozen(row, np.int32),
        frozen(worker, np.int32), frozen(waits, np.bool_), frozen(wild, np.bool_), keep,
    )  # fmt: skip
    return keep
