"""Tornado's q_l: the queries that an object is checked against, from a sample of the workload (section 4.1).

The paper calls q_l the queries that share a keyword with the object; what an evaluator spends is the queries that its
index makes it check. So q_l is counted as such an index would (ours): a spatial pyramid, every conjunct of a query
posted under its least frequent positive term in the at most 2 x 2 cells that cover its box; match-all conjuncts and
top-term queries in a list that every object is checked against. Frequencies are those of the sample's objects.
"""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.partition.a_grid._kernels import PYRAMID, Postings, candidates_checked, pyramid_keys, rarest

__all__ = ["queries_checked"]


def queries_checked(objects: ObjectColumns, standing: QueryBlock, bounds: F64) -> I64:
    """q_l of every object; terms are the same if their hashes are."""
    terms, number = np.unique(standing.dictionary.hashes, return_inverse=True)
    term_of = _numbers(objects.terms.dictionary.hashes, terms)
    used = term_of[objects.terms.ids]
    frequency = np.bincount(used[used >= 0], minlength=len(terms))
    postings = _posted(standing, frozen(number, np.int32), frequency, bounds)
    return candidates_checked(
        frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), frozen(bounds, np.float64),
        frozen(objects.terms.offsets, np.int64), frozen(objects.terms.ids, np.int32), frozen(term_of, np.int32),
        postings,
    )  # fmt: skip


def _numbers(hashes: I64, terms: I64) -> I32:
    """Place of every hash among the ascending ones of the queries, -1 where absent."""
    if not len(terms):
        return np.full(len(hashes), -1, np.int32)
    place = np.minimum(np.searchsorted(terms, hashes), len(terms) - 1)
    return np.where(terms[place] == hashes, place, -1).astype(np.int32)


def _posted(standing: QueryBlock, number: I32, frequency: I64, bounds: F64) -> Postings:
    wildcard = len(frequency)
    term = rarest(
        frozen(standing.pos_offsets, np.int64), frozen(standing.pos, np.int32), number, frozen(frequency, np.int64)
    )
    keys = pyramid_keys(
        frozen(standing.conj_query, np.int32), frozen(term, np.int32),
        frozen(offsets_of(standing.piece_query, len(standing)), np.int64), frozen(standing.piece_box, np.float64),
        frozen(bounds, np.float64),
    )  # fmt: skip
    keys.sort()
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[begins]
    first = np.searchsorted(distinct, np.arange(wildcard + 2) * PYRAMID)
    return Postings(
        frozen(first, np.int64),
        frozen(distinct % PYRAMID, np.int32),
        frozen(np.diff(begins, append=len(keys)), np.int64),
    )
