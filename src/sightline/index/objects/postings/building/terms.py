"""Which terms have a bit, which have postings and where, which are known by frequency."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.index.arrays import I32, I64, Flag, frozen
from sightline.index.objects.postings.building import _kernels
from sightline.index.objects.postings.building.params import PostingsParams

__all__ = ["Terms", "terms_of"]

_SMALL = 1 << 12  # frequencies up to this are told apart when the largest are looked for


class Terms(NamedTuple):
    """The terms of a segment by frequency."""

    heads: I32  # [3, h] ids, the rows that have each, its plane or -1
    planed: I32  # those heads that have a plane instead of postings
    runners: I32  # [2, runners + 1] ids and frequencies
    starts: I32  # [terms + 1] postings


def terms_of(ids: I32, terms: int, rows: int, params: PostingsParams) -> Terms:
    """Count the terms of all rows and divide them."""
    frequency = np.zeros(terms, np.int32)
    _kernels.frequencies(ids, frequency)
    heads = _heads(frequency, params.head)
    tail = np.ones(terms, np.bool_)
    tail[heads] = False
    listed = tail | (frequency < rows / params.dense)
    starts = _kernels.starts_of(frozen(frequency, np.int32), frozen(listed, np.bool_))
    planed = np.flatnonzero(~listed[heads]).astype(np.int32)
    plane = np.full(heads.size, -1, np.int32)
    plane[planed] = np.arange(planed.size)
    told = np.stack([heads.astype(np.int32), frequency[heads], plane])
    return Terms(told, planed, _runners(frequency, tail, params.runners), frozen(starts, np.int32))


def _heads(frequency: I32, head: int) -> I64:
    """Ids of the most frequent terms, ascending."""
    return np.sort(_most_frequent(frequency, head))


def _runners(frequency: I32, tail: Flag, most: int) -> I32:
    """The most frequent terms of the tail by frequency, descending, and one line more that bounds all others."""
    terms = np.flatnonzero(tail)
    terms = terms[_most_frequent(frequency[terms], most + 1)]
    terms = terms[np.argsort(-frequency[terms], kind="stable")]
    out = np.stack([terms, frequency[terms]]).astype(np.int32)
    return out if terms.size > most else np.hstack([out, np.array([[-1], [0]], np.int32)])


def _most_frequent(frequency: I32, most: int) -> I64:
    """Places of the largest numbers, in any order; of equal ones at the bound some.

    Words are Zipf-distributed: a count of how often each small frequency occurs leaves few to choose from, and takes a
    tenth of a selection among all.
    """
    if frequency.size <= most:
        return np.arange(frequency.size)
    occur = np.bincount(np.minimum(frequency, _SMALL))
    at_least = np.cumsum(occur[::-1])[::-1]  # terms of this frequency or more
    bound = int(np.flatnonzero(at_least >= most)[-1])
    places = np.flatnonzero(frequency >= bound)
    chosen: I64 = places[np.argpartition(frequency[places], places.size - most)[places.size - most :]]
    return chosen
