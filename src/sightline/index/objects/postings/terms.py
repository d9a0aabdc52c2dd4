"""Which terms have a bit, which have postings and where, which are known by frequency."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64, Flag, frozen
from sightline.index.objects.postings import building_kernels as building
from sightline.index.objects.postings.params import PostingsParams

__all__ = ["Terms", "terms_of"]


class Terms(NamedTuple):
    """The terms of a segment by frequency."""

    heads: I32  # [3, h] ids, the rows that have each, its plane or -1
    planed: I32  # those heads that have a plane instead of postings
    runners: I32  # [2, runners + 1] ids and frequencies
    starts: I32  # [terms + 1] postings


def terms_of(ids: I32, terms: int, rows: int, params: PostingsParams) -> Terms:
    """Count the terms of all rows and divide them."""
    frequency = np.zeros(terms, np.int32)
    building.frequencies(ids, frequency)
    heads = _heads(frequency, params.head)
    tail = np.ones(terms, np.bool_)
    tail[heads] = False
    listed = tail | (frequency < rows / params.dense)
    starts = building.starts_of(frozen(frequency, np.int32), frozen(listed, np.bool_))
    planed = np.flatnonzero(~listed[heads]).astype(np.int32)
    plane = np.full(heads.size, -1, np.int32)
    plane[planed] = np.arange(planed.size)
    told = np.stack([heads.astype(np.int32), frequency[heads], plane])
    return Terms(told, planed, _runners(frequency, tail, params.runners), frozen(starts, np.int32))


def _heads(frequency: I32, head: int) -> I64:
    """Ids of the most frequent terms, ascending."""
    if frequency.size > head:
        kept: I64 = np.sort(np.argpartition(frequency, frequency.size - head)[frequency.size - head :])
        return kept
    return np.arange(frequency.size)


def _runners(frequency: I32, tail: Flag, most: int) -> I32:
    """The most frequent terms of the tail by frequency, descending, and one line more that bounds all others."""
    terms = np.flatnonzero(tail)
    if terms.size > most + 1:
        terms = terms[np.argpartition(frequency[terms], terms.size - most - 1)[terms.size - most - 1 :]]
    terms = terms[np.argsort(-frequency[terms], kind="stable")]
    out = np.stack([terms, frequency[terms]]).astype(np.int32)
    return out if terms.size > most else np.hstack([out, np.array([[-1], [0]], np.int32)])
