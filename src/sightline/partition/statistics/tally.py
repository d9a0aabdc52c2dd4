"""Counting queries: cells they overlap, keywords, how many of them, how long they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, U8, frozen
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, QueryBlock
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.cost.sstd import CRQ
from sightline.partition.reach import nearest_pieces
from sightline.partition.statistics._kernels import mark_boxes
from sightline.partition.statistics.keywords import KeywordMasses
from sightline.partition.statistics.pyramid import Pyramid

__all__ = ["BINS", "LONGEST", "UNBOUNDED", "CountedQueries", "QueryTally", "dense", "queries_of", "sparse"]

#: Numbers of keywords told apart: 0 to 15, and 16 or more.
LONGEST = 16

#: Durations are told apart by powers of two of a microsecond; the last bin has no end.
UNBOUNDED = 64
BINS = UNBOUNDED + 1


class CountedQueries(NamedTuple):
    """What is counted of queries; columns of a block, terms by hash."""

    kind: U8
    start: I64
    end: I64
    at: F64
    piece_query: I32
    piece_box: F64
    conj_query: I32
    sizes: I64  # positive terms of each conjunct
    terms: I64  # their hashes

    def types(self, *, asked: bool) -> I64:
        """Type of each query: its kind, 3 higher if it stands (the order of SRQ, SKQ, STQ, CRQ, CKQ, CTQ)."""
        return self.kind.astype(np.int64) + (0 if asked else CRQ)


def queries_of(blocks: Sequence[QueryBlock]) -> CountedQueries:
    """The queries of at least one block, one after the other; no dictionaries are merged, no texts copied."""
    first = np.cumsum([0, *(len(block) for block in blocks)])[:-1].astype(np.int32)
    return CountedQueries(
        kind=np.concatenate([block.kind for block in blocks]),
        start=np.concatenate([block.start for block in blocks]),
        end=np.concatenate([block.end for block in blocks]),
        at=np.concatenate([block.at for block in blocks]),
        piece_query=np.concatenate([block.piece_query + f for block, f in zip(blocks, first, strict=True)]),
        piece_box=np.concatenate([block.piece_box for block in blocks]),
        conj_query=np.concatenate([block.conj_query + f for block, f in zip(blocks, first, strict=True)]),
        sizes=np.concatenate([np.diff(block.pos_offsets) for block in blocks]),
        terms=np.concatenate([block.dictionary.hashes[block.pos] for block in blocks]),
    )


class QueryTally:
    """Counts of queries, all six types; grows as they come.

    A query of several conjuncts counts each as a query of its own with a share of the weight (ours: the paper has
    conjunctions only). Negative terms do not count. A conjunct without positive terms has 0 keywords, which every
    list covers.
    """

    def __init__(self, space: Space, levels: int) -> None:
        self.space = space
        self.pyramid = Pyramid(space.bounds, levels)
        self.marks: I64 = np.zeros((6, self.pyramid.marks), np.int64)
        self.lengths: F64 = np.zeros((6, LONGEST + 1))
        self.durations: F64 = np.zeros((6, BINS))
        self.seconds: F64 = np.zeros((6, BINS))
        self.keywords = KeywordMasses.empty()

    def overlaps(self) -> F64:
        """Queries of each type that overlap each cell, [6, cells]."""
        return self.pyramid.from_marks(self.marks)

    def describe(self, queries: CountedQueries, most_terms: int, *, asked: bool) -> None:
        """Count keywords, their numbers and durations."""
        kind, conj_query = queries.types(asked=asked), queries.conj_query
        self._durations(queries, kind)
        share = 1.0 / np.maximum(np.bincount(conj_query, minlength=len(kind)), 1)[conj_query]
        at = kind[conj_query] * (LONGEST + 1) + np.minimum(queries.sizes, LONGEST)
        self.lengths += np.bincount(at, share, minlength=self.lengths.size).reshape(self.lengths.shape)
        if not asked:
            return
        weight, asker = np.repeat(share, queries.sizes), np.repeat(queries.kind[conj_query], queries.sizes)
        weights = [weight * (asker == KIND_RANGE), weight * (asker == KIND_NEAREST)]
        self.keywords = self.keywords.merged(KeywordMasses.of(queries.terms, weights), most_terms)

    def _durations(self, queries: CountedQueries, kind: I64) -> None:
        bounded = (queries.start != MIN_US) & (queries.end != MAX_US)
        lasts = np.maximum(np.where(bounded, queries.end, 0) - np.where(bounded, queries.start, 0), 0)
        power = np.minimum(np.frexp(lasts.astype(np.float64))[1], UNBOUNDED - 1)
        at = kind * BINS + np.where(bounded, power, UNBOUNDED)
        shape, size = self.durations.shape, self.durations.size
        self.durations += np.bincount(at, minlength=size).reshape(shape)
        self.seconds += np.bincount(at, lasts / 1e6, minlength=size).reshape(shape)

    def locate(self, queries: CountedQueries, reach_mm: npt.ArrayLike | None = None, *, asked: bool) -> None:
        """Count the cells that queries overlap.

        ``reach_mm`` is the k-th distance of each query, read for nearest ones only; without it they count where they
        stand, which they certainly visit.
        """
        bounds, levels = frozen(self.pyramid.bounds, np.float64), self.pyramid.levels
        kind = queries.types(asked=asked)
        near = np.flatnonzero(queries.kind == KIND_NEAREST)
        placed = np.where(queries.kind == KIND_NEAREST, -1, kind)
        mark_boxes(
            frozen(queries.piece_query, np.int32), frozen(queries.piece_box, np.float64), frozen(placed, np.int64),
            bounds, levels, self.marks,
        )  # fmt: skip
        if not near.size:
            return
        at = queries.at[near]
        if reach_mm is None:
            query, box = np.arange(len(near), dtype=np.int32), np.concatenate([at, at], axis=1)
        else:
            query, box = nearest_pieces(at, np.asarray(reach_mm, np.int64)[near], self.space)
        mark_boxes(
            frozen(query, np.int32), frozen(box, np.float64), frozen(kind[near], np.int64), bounds, levels, self.marks
        )


def sparse(name: str, array: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """An array that is mostly 0, as two: where it is not, and what it is there."""
    flat = array.reshape(-1)
    at = np.flatnonzero(flat)
    return {f"{name}_at": at.astype(np.int32), name: flat[at]}


def dense(name: str, arrays: Mapping[str, npt.NDArray[Any]], shape: tuple[int, ...]) -> F64:
    """Inverse of :func:`sparse`."""
    out = np.zeros(shape)
    out.reshape(-1)[arrays[f"{name}_at"]] = arrays[name]
    return out
