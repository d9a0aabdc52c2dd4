"""The k most frequent terms of counts: what every object index answers top-terms questions with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I64
from sightline.index.protocol import TopTerms

__all__ = ["top_from_counts", "top_of"]


def top_from_counts(counts: I64, k: int) -> TopTerms:
    """The k most frequent of all terms (``counts`` by term id) and every tie at the k-th count."""
    terms = np.flatnonzero(counts)
    return top_of(terms, counts[terms], k)


def top_of(terms: npt.NDArray[np.integer], counts: I64, k: int, bound: int = 0) -> TopTerms:
    """The k most frequent of ``terms`` and every tie at the k-th count; other terms occur at most ``bound`` times.

    All ties are named because strings, which the index does not compare, decide between them.
    """
    if counts.size <= k:
        return TopTerms(terms.astype(np.int64), counts, bound)
    kth = np.partition(counts, counts.size - k)[counts.size - k]
    keep = counts >= kth
    others = counts[~keep]
    return TopTerms(terms[keep].astype(np.int64), counts[keep], max(bound, int(others.max()) if others.size else 0))
