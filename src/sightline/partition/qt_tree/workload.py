"""What a history says about queries: the inputs of SSTD's cost model (section 4.1.1), by counting.

Deviations (ours): probabilities of a region are counted on the history's queries themselves, not looked up in a
quadtree, so every node has its own cell. M_srq, M_skq and the distributions of keyword numbers are those of the
whole space. Each conjunct of a query's DNF is a keyword set of its own, with an equal share of the query; one without
positive terms has none and is covered by every partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sightline.index.arrays import F64, I32, I64, U8, frozen, offsets_of
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, QueryBlock
from sightline.index.standing.keywords import spread_rows
from sightline.model.space import Space
from sightline.model.time import MAX_US, MIN_US
from sightline.partition.history import History
from sightline.partition.qt_tree._kernels import CONTINUOUS, Asked, count_reached, workload
from sightline.partition.reach import nearest_pieces, nearest_reach

__all__ = ["Workload"]

EVALUATED = 2000  # nearest queries whose k-th distance is looked up


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries of a history as Eq. 1 and 2 need them.

    ``turnover`` is the mean lifetime of CRQs, CKQs and CTQs over the history's span: the expected arrivals in a
    lifetime, E_P,O, of a partition that got n objects are ``n * turnover``. So textual children share E_obj by their
    numbers of objects. Without any query every object weighs 1, as if one STQ reached everything (ours).
    """

    bounds: F64
    query: I32  # pieces of the queries' regions, and whose they are
    box: F64
    kind: U8  # type of each query
    hashes: I64  # words with mass, ascending
    mass: F64  # [terms, 2] M_srq, M_skq
    lengths_srq: F64
    lengths_skq: F64
    turnover: F64  # [3]

    @classmethod
    def of(cls, history: History, space: Space) -> Self:
        """Count a history; its nearest queries are evaluated on its objects to know how far they reach."""
        asked, standing = history.asked, history.standing
        query, box = _pieces(asked, history.objects, space)
        more_query, more_box = _pieces(standing, history.objects, space)
        hashes, mass, lengths_srq, lengths_skq = _keywords(asked)
        return cls(
            bounds=frozen(space.bounds, np.float64),
            query=frozen(np.concatenate([query, more_query + np.int32(len(asked))]), np.int32),
            box=frozen(np.concatenate([box, more_box]), np.float64),
            kind=frozen(np.concatenate([asked.kind, standing.kind + np.uint8(CONTINUOUS)]), np.uint8),
            hashes=hashes,
            mass=mass,
            lengths_srq=lengths_srq,
            lengths_skq=lengths_skq,
            turnover=_turnover(standing, history.span_us),
        )

    @classmethod
    def unknown(cls, space: Space) -> Self:
        """No history."""
        none, any_number = np.zeros(0), frozen([1.0], np.float64)
        return cls(
            frozen(space.bounds, np.float64), frozen(none, np.int32), frozen(np.zeros((0, 4)), np.float64),
            frozen(none, np.uint8), frozen(none, np.int64), frozen(np.zeros((0, 2)), np.float64), any_number,
            any_number, np.ones(CONTINUOUS),
        )  # fmt: skip

    @property
    def asked(self) -> Asked:
        """Keywords, as kernels take them."""
        return Asked(self.mass, self.lengths_srq, self.lengths_skq)

    def reach(self, region: F64) -> F64:
        """Per type: probability that a random query is of this type and reaches the region."""
        if len(self.kind) == 0:
            return frozen([0, 0, 1, 0, 0, 0], np.float64)
        met = count_reached(self.query, self.box, self.kind, frozen(region, np.float64), self.bounds)
        return frozen(met / len(self.kind), np.float64)

    def of_partition(self, objects: int, h: F64, reach: F64) -> float:
        """W(P), Eq. 2, of a partition with so many objects, keyword masses H_srq and H_skq, and reach."""
        arrivals = frozen(objects * self.turnover, np.float64)
        return float(workload(objects, arrivals, float(h[0]), float(h[1]), reach, self.asked))


def _pieces(block: QueryBlock, objects: ObjectColumns, space: Space) -> tuple[I32, F64]:
    """Whose piece of a region, ascending, and the piece; of a nearest query the box of its search circle.

    Only ``EVALUATED`` nearest queries are searched for; each other one reaches as its neighbour in the block does.
    """
    nearest = np.flatnonzero(block.kind == KIND_NEAREST)
    if len(nearest) == 0 or len(objects) == 0:
        return block.piece_query, block.piece_box
    known = nearest[:: -(-len(nearest) // EVALUATED)]
    some = block.take(known)
    row, box = nearest_pieces(some.at, nearest_reach(some, objects, space), space)
    like = np.searchsorted(known, nearest, side="right") - 1
    ends, places = spread_rows(offsets_of(row, len(known)), like)
    own = block.kind[block.piece_query] != KIND_NEAREST
    query = np.concatenate([block.piece_query[own], np.repeat(nearest, np.diff(ends))])
    order = np.argsort(query, kind="stable")
    return query[order].astype(np.int32), np.concatenate([block.piece_box[own], box[places]])[order]


def _keywords(asked: QueryBlock) -> tuple[I64, F64, F64, F64]:
    """Hashes with their masses in M_srq and M_skq, and the two distributions of keyword numbers."""
    number = np.diff(asked.pos_offsets)
    share = 1.0 / np.bincount(asked.conj_query, minlength=len(asked))[asked.conj_query]
    mass, lengths = np.zeros((len(asked.dictionary), 2)), []
    for column, kind in enumerate((KIND_RANGE, KIND_NEAREST)):
        weight = np.where(asked.kind[asked.conj_query] == kind, share, 0.0)
        frequency = np.bincount(asked.pos, np.repeat(weight, number), minlength=len(mass))
        mass[:, column] = frequency / max(float(frequency.sum()), np.finfo(np.float64).tiny)
        counted = np.bincount(number[weight > 0], weight[weight > 0])
        lengths.append(counted / counted.sum() if len(counted) else np.ones(1))
    used = mass.any(axis=1)
    hashes, inverse = np.unique(asked.dictionary.hashes[used], return_inverse=True)
    summed = np.zeros((len(hashes), 2))
    np.add.at(summed, inverse, mass[used])
    return (
        frozen(hashes, np.int64),
        frozen(summed, np.float64),
        frozen(lengths[0], np.float64),
        frozen(lengths[1], np.float64),
    )


def _turnover(standing: QueryBlock, span_us: int) -> F64:
    """Mean lifetime of each continuous type over the span, 1 where there is nothing to go by.

    A lifetime without end counts as the longest known, at least the span (ours).
    """
    out = np.ones(CONTINUOUS)
    if len(standing) == 0 or span_us <= 0:
        return out
    bounded = (standing.start != MIN_US) & (standing.end != MAX_US)
    lifetime = np.where(bounded, standing.end.astype(np.float64) - standing.start.astype(np.float64), 0.0)
    lifetime[~bounded] = max(float(span_us), float(lifetime.max()))
    for kind in np.unique(standing.kind).tolist():
        out[kind] = lifetime[standing.kind == kind].mean() / span_us
    return out
