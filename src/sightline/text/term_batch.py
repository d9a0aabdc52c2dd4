"""Terms of many rows, flat: the form in which text travels from the tokeniser to every index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import frozen
from sightline.flat.records import FlatRecord
from sightline.text.dictionary import TermDictionary
from sightline.text.postings_kernels import RowSink, gather_rows, remap_rows, renumber_rows

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
MAX_COUNT = 65535


@dataclass(frozen=True, eq=False)
class TermBatch(FlatRecord):
    """Terms of each row as compressed rows over a dictionary.

    Parameters
    ----------
    offsets : int64[rows+1]
        Row i has the postings ``offsets[i]:offsets[i+1]``.
    ids : int32[nnz]
        Term numbers, ascending and distinct in a row.
    counts : uint16[nnz]
        Occurrences in the row, 65,535 for more; 0 for a tag term.
    words : int32[rows]
        Words of the row, repeats included, stop words and tags not.
    dictionary : TermDictionary
    """

    offsets: I64
    ids: I32
    counts: npt.NDArray[np.uint16]
    words: I32
    dictionary: Annotated[TermDictionary, "dictionary_"]

    def __len__(self) -> int:
        return int(self.words.size)

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> TermBatch:
        """The given rows, in that order; the dictionary keeps only their terms, in the same order as before."""
        rows = np.asarray(rows, np.int64)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum((self.offsets[1:] - self.offsets[:-1])[rows])))
        ids, counts = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.uint16)
        number = np.full(len(self.dictionary), -1, np.int32)
        gather_rows(self.offsets, self.ids, self.counts, frozen(rows, np.int64), offsets, ids, counts, number)
        kept = self.dictionary.take(np.flatnonzero(number >= 0))
        return TermBatch(offsets, ids, counts, self.words[rows], kept)

    @staticmethod
    def concat(batches: Sequence[TermBatch]) -> TermBatch:
        """Rows of all batches (same seed and hash bits), one after the other."""
        if len(batches) == 1:
            return batches[0]
        dictionary, remaps = TermDictionary.merge([batch.dictionary for batch in batches])
        ends = np.cumsum([0] + [batch.ids.size for batch in batches])
        ids = np.concatenate([np.zeros(0, np.int32), *(batch.ids for batch in batches)])
        counts = np.concatenate([np.zeros(0, np.uint16), *(batch.counts for batch in batches)])
        words = np.concatenate([np.zeros(0, np.int32), *(batch.words for batch in batches)])
        offsets = [np.zeros(1, np.int64)]
        for batch, remap, (start, end) in zip(batches, remaps, pairwise(ends.tolist()), strict=True):
            if start > 0:  # the first batch has its own numbers
                remap_rows(batch.offsets, frozen(remap), ids[start:end], counts[start:end])
            offsets.append(batch.offsets[1:] + start)
        return TermBatch(np.concatenate(offsets), ids, counts, words, dictionary)

    @classmethod
    def empty(cls) -> TermBatch:
        """No rows."""
        return cls.concat([])

    def row_strings(self, row: int) -> list[str]:
        """Terms of one row, for messages and tests."""
        ids = self.ids[self.offsets[row] : self.offsets[row + 1]]
        terms: list[str] = self.dictionary.strings().take(ids).to_pylist()
        return terms


def saturated(counts: I32) -> npt.NDArray[np.uint16]:
    """Counts as they are stored."""
    return np.minimum(counts, MAX_COUNT).astype(np.uint16)


def renumber(offsets: I64, ids: I32, counts: I32, remap: I32, terms: int) -> RowSink:
    """Postings under other term numbers below ``terms``: -1 drops, equal ones are summed; rows sorted again."""
    rows = RowSink(
        np.zeros(offsets.size, np.int64), np.empty(ids.size, np.int32), np.empty(ids.size, np.int32),
        np.zeros(offsets.size - 1, np.int32), np.full(terms, -1, np.int64),
    )  # fmt: skip
    renumber_rows(frozen(offsets), frozen(ids), frozen(counts), frozen(remap), rows)
    used = int(rows.offsets[-1])
    return rows._replace(ids=rows.ids[:used].copy(), counts=rows.counts[:used].copy())
