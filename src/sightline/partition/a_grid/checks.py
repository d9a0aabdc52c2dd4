"""Tornado's q_l: the queries that an object is checked against, from a sample of the workload (section 4.1).

The paper calls q_l the queries that share a keyword with the object; what an evaluator spends is the queries that its
index makes it check. So q_l is counted as such an index would (ours): a spatial pyramid, every conjunct of a query
posted under its least frequent positive term in the at most 2 x 2 cells that cover its box; match-all conjuncts and
top-term queries in a list that every object is checked against. Frequencies are those of the sample's objects.
"""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import F64, I64, frozen, offsets_of, places_in
from sightline.flat.records import frozen_fields
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.partition.a_grid._kernels import PYRAMID, PyramidPostings, candidates_checked, pyramid_keys
from sightline.text.postings_kernels import rarest_terms

__all__ = ["queries_checked"]


def queries_checked(objects: ObjectColumns, standing: QueryBlock, bounds: F64) -> I64:
    """q_l of every object; terms are the same if their hashes are."""
    terms, number = np.unique(standing.dictionary.hashes, return_inverse=True)
    term_of = places_in(terms, objects.terms.dictionary.hashes)
    used = term_of[objects.terms.ids]
    frequency = np.bincount(used[used >= 0], minlength=len(terms))
    postings = _posted(standing, number, frequency, bounds)
    return candidates_checked(
        frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), frozen(bounds, np.float64),
        objects.terms.offsets, objects.terms.ids, frozen(term_of, np.int32),
        postings,
    )  # fmt: skip


def _posted(standing: QueryBlock, number: I64, frequency: I64, bounds: F64) -> PyramidPostings:
    wildcard = len(frequency)
    key = rarest_terms(standing.pos_offsets, standing.pos, standing.dictionary.hashes, frozen(frequency[number]))
    term = np.append(number, wildcard)[key]  # -1: the wildcard
    keys = pyramid_keys(
        standing.conj_query, frozen(term, np.int32), frozen(offsets_of(standing.piece_query, len(standing))),
        standing.piece_box, frozen(bounds, np.float64),
    )  # fmt: skip
    keys.sort()
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[begins]
    first = np.searchsorted(distinct, np.arange(wildcard + 2) * PYRAMID)
    return frozen_fields(PyramidPostings, (first, distinct % PYRAMID, np.diff(begins, append=len(keys))))
