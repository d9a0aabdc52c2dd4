"""Postings, head bits and tail maxima: what reading every term list gives."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I32, frozen
from sightline.index.objects.postings import building_kernels as building
from sightline.index.objects.postings._kernels import LARGE_BITS, SMALL_BITS
from sightline.index.objects.postings.building_kernels import HEAD, ROW_BITS, TERM_BITS
from sightline.index.objects.postings.terms import Terms

__all__ = ["Inversion"]

_STREAMS = 1 << 16  # numbers of 16 bits; a quarter of a billion terms


class Inversion:
    """Postings in two passes: first into buckets of terms, then within a bucket, whose lists fit a cache.

    The head and the runners need no second pass: there are few enough of them to write each to its place.
    """

    def __init__(self, rows: int, terms: Terms) -> None:
        words, runners = terms.starts.size - 1, terms.runners[0]
        self._frequent = frozen(runners[runners >= 0], np.int32)
        own, buckets = HEAD + self._frequent.size, ((words - 1) >> TERM_BITS) + 1
        if own + buckets > _STREAMS:
            raise ValueError(f"a segment holds at most {(_STREAMS - own) << TERM_BITS} different terms, not {words}")
        stream = np.empty(words, np.uint16)
        self._cursor, step = np.zeros(own + buckets, np.uint32), np.ones(own + buckets, np.uint32)
        written = building.make_streams(
            terms.starts, frozen(terms.heads[0], np.int32), self._frequent, stream, self._cursor
        )
        step[terms.planed], self._cursor[terms.planed] = 0, written  # no postings: they write one word, over and over
        self._stream, self._step, self._starts = frozen(stream, np.uint16), frozen(step, np.uint32), terms.starts
        self._out = np.empty(written + 1, np.uint32)
        self._marks = np.empty((((rows - 1) >> ROW_BITS) + 2, buckets), np.uint32)
        self.bits = np.empty(rows, np.uint64)
        self.small, self.large = (np.zeros((rows >> size) + 1, np.int32) for size in (SMALL_BITS, LARGE_BITS))

    def distribute(self, offsets: I32, ids: I32, first: int, last: int) -> None:
        """First pass over some rows, in order from row 0."""
        building.distribute(
            offsets, ids, first, last, self._stream, self._step, self._cursor, self._out, self._marks, self.bits
        )

    def settle(self, other: Executor) -> I32:
        """Second pass, half of it beside the other; the postings."""
        self._marks[-1] = self._cursor[self._cursor.size - self._marks.shape[1] :]
        building.maxima_of(self._out, self._starts, self._frequent, self.small, self.large)
        small, large = self.small.copy(), self.large.copy()
        begins = self._marks[0]
        half = int(np.searchsorted(begins, (int(self._starts[-1]) + self._out.size) // 2)) if begins.size > 1 else 0
        second = other.submit(self._settle, half, begins.size, small, large)
        self._settle(0, half, self.small, self.large)
        second.result()
        np.maximum(self.small, small, out=self.small)
        np.maximum(self.large, large, out=self.large)
        self._out.resize(int(self._starts[-1]), refcheck=False)  # gives the buckets back
        postings: npt.NDArray[np.int32] = self._out.view(np.int32)
        return postings

    def _settle(self, first: int, last: int, small: I32, large: I32) -> None:
        building.settle(
            self._out, self._marks, first, last, self._starts, self._stream, self._frequent.size + HEAD, small, large
        )
