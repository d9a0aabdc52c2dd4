"""A dictionary that takes in other dictionaries: terms are added, and never change their numbers."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import frozen
from sightline.text.dictionary import I32, TermDictionary, table_size
from sightline.text.lookup_kernels import TermSink, fill_slots, intern_terms

__all__ = ["GrowingDictionary"]


class GrowingDictionary:
    """Terms numbered in order of arrival; room grows by doubling, so that taking in k terms costs O(k)."""

    def __init__(self, start: TermDictionary) -> None:
        terms = len(start)
        self._sink = TermSink(
            start.hashes.copy(),
            start.offsets.copy(),
            start.data.copy(),
            start.table.copy(),
            np.array([terms], np.int64),
        )

    def __len__(self) -> int:
        return int(self._sink.size[0])

    def intern(self, other: TermDictionary) -> I32:
        """The number here of each of another's terms (same seed and hash bits); new ones are added."""
        self._reserve(len(self) + len(other), int(self._sink.offsets[len(self)]) + int(other.data.size))
        out = np.empty(len(other), np.int32)
        intern_terms(self._sink, other.hashes, other.offsets, other.data, out)
        return out

    def dictionary(self) -> TermDictionary:
        """The terms so far, over this object's own arrays: good until the next :meth:`intern`."""
        terms, sink = len(self), self._sink
        return TermDictionary(
            sink.hashes[:terms], sink.offsets[: terms + 1], sink.data[: sink.offsets[terms]], sink.slots
        )

    def _reserve(self, terms: int, data: int) -> None:
        sink, used = self._sink, len(self)
        if terms > sink.hashes.size:
            room = max(terms, 2 * sink.hashes.size)
            hashes, offsets = np.empty(room, np.int64), np.zeros(room + 1, np.int64)
            hashes[:used], offsets[: used + 1] = sink.hashes[:used], sink.offsets[: used + 1]
            sink = sink._replace(hashes=hashes, offsets=offsets)
        if data > sink.data.size:
            longer = np.empty(max(data, 2 * sink.data.size), np.uint8)
            longer[: sink.offsets[used]] = sink.data[: sink.offsets[used]]
            sink = sink._replace(data=longer)
        if table_size(terms) > sink.slots.size:
            slots = np.full(table_size(terms), -1, np.int32)
            fill_slots(frozen(sink.hashes[:used]), slots)
            sink = sink._replace(slots=slots)
        self._sink = sink
