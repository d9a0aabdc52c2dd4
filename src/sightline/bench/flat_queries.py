"""Range queries and posts as plain numbers: the same words, numbered once, for every contestant of a benchmark."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing.block import QueryBlock

__all__ = ["MAX_WORDS", "FlatObjects", "FlatQueries", "flat_objects", "flat_queries", "pair_keys", "same_pairs"]

MAX_WORDS = 3


class FlatQueries(NamedTuple):
    """Boxes, and up to three words of each query, the rarest first and -1 where there are fewer."""

    words: npt.NDArray[np.int32]
    west: F64
    south: F64
    east: F64
    north: F64

    def __len__(self) -> int:
        return int(self.west.size)


class FlatObjects(NamedTuple):
    """Places, and the words of each post as lists, in the numbers of the queries (the largest: asked by none)."""

    lon: F64
    lat: F64
    offsets: I64
    words: I32

    def __len__(self) -> int:
        return int(self.lon.size)

    def row(self, i: int) -> I32:
        """Words of one post."""
        return self.words[self.offsets[i] : self.offsets[i + 1]]

    def lists(self) -> pa.ListArray:
        """Words as an Arrow column."""
        return pa.ListArray.from_arrays(pa.array(self.offsets.astype(np.int32)), pa.array(self.words))


def flat_queries(block: QueryBlock) -> FlatQueries:
    """Plain form of a block of box queries with one to three keywords, all of which must occur."""
    frequency = np.bincount(block.pos, minlength=len(block.dictionary))
    sizes = np.diff(block.pos_offsets)
    if len(block.conj_query) != len(block) or block.neg.size or sizes.max(initial=0) > MAX_WORDS:
        raise ValueError(f"a plain query is one conjunct of at most {MAX_WORDS} words")
    row = np.repeat(np.arange(len(block)), sizes)
    rarest_first = block.pos[np.lexsort((block.pos, frequency[block.pos], row))]
    words = np.full((len(block), MAX_WORDS), -1, np.int32)
    words[row, np.arange(row.size) - np.repeat(block.pos_offsets[:-1], sizes)] = rarest_first
    west, south, east, north = (np.ascontiguousarray(edge) for edge in block.regions.params.T)
    return FlatQueries(words, west, south, east, north)


def flat_objects(objects: ObjectColumns, block: QueryBlock) -> FlatObjects:
    """Plain form of posts; a word that no query has gets a number above the queries' words."""
    number = block.dictionary.lookup(objects.terms.dictionary)
    unasked = len(block.dictionary) + np.arange(number.size, dtype=np.int32)
    words = np.where(number < 0, unasked, number).astype(np.int32)[objects.terms.ids]
    return FlatObjects(objects.lon, objects.lat, objects.terms.offsets, words)


def pair_keys(rows: npt.NDArray[np.integer], queries: npt.NDArray[np.integer]) -> I64:
    """Pairs as sorted numbers, for comparison."""
    return np.sort(rows.astype(np.int64) << 32 | queries.astype(np.int64))


def same_pairs(
    name: str, expected: MatchPairs, rows: npt.ArrayLike, queries: npt.ArrayLike, sample: I64 | None = None
) -> None:
    """Check a contestant's pairs, of some posts or of all, against the default index's.

    Raises
    ------
    AssertionError
        They differ: a figure of this run would compare different work.
    """
    asked = slice(None) if sample is None else np.isin(expected.object, sample)
    wanted = pair_keys(expected.object[asked], expected.query[asked])
    found = pair_keys(np.asarray(rows, np.int64), np.asarray(queries, np.int64))
    if not np.array_equal(wanted, found):
        missing, extra = np.setdiff1d(wanted, found).size, np.setdiff1d(found, wanted).size
        message = f"{name} disagrees with the default index: {missing} pairs missing, {extra} more, of {wanted.size}"
        raise AssertionError(message)
