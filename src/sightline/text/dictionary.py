"""Distinct terms of a batch or segment: strings, their hashes, and a table to find them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import frozen
from sightline.flat.records import FlatRecord
from sightline.text.arrow_rows import byte_rows
from sightline.text.lookup_kernels import TermSink, fill_slots, find_terms, hash_rows, intern_terms, take_terms

U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Key = tuple[np.uint64, np.uint64]
_EMPTY_SLOTS = np.zeros(0, np.int32)
_INT32_MAX = 2**31 - 1
_UINT32_MAX = 2**32 - 1


def hash_key(seed: int, hash_bits: int) -> Key:
    """Seed and mask as the kernels take them."""
    if not 1 <= hash_bits <= 64:
        message = f"hash_bits is {hash_bits}, allowed: 1 to 64"
        raise ValueError(message)
    return np.uint64(seed % 2**64), np.uint64(2**hash_bits - 1)


def table_size(terms: int) -> int:
    """Slots for so many terms: a power of two, at most half full."""
    return 1 << max(3, (2 * terms).bit_length())


@dataclass(frozen=True, eq=False)
class TermDictionary(FlatRecord):
    """Terms numbered 0..d-1. Two strings that share a hash are two terms.

    Parameters
    ----------
    hashes : int64[d]
    offsets : int64[d+1]
        Term i is ``data[offsets[i]:offsets[i+1]]``.
    data : uint8[]
        UTF-8.
    slots : int32[2^m], optional
        Open addressing by ``hash & (2^m - 1)``, linear probing, -1 empty; built at first use when left out.
    """

    hashes: I64
    offsets: I64
    data: U8
    slots: I32 = field(default_factory=lambda: _EMPTY_SLOTS, repr=False)

    def __len__(self) -> int:
        return int(self.hashes.size)

    @property
    def table(self) -> I32:
        """The slots, filled if need be."""
        if self.slots.size == 0:
            slots = np.full(table_size(len(self)), -1, np.int32)
            fill_slots(self.hashes, slots)
            object.__setattr__(self, "slots", frozen(slots))
        return self.slots

    @property
    def _arrays(self) -> tuple[I64, I64, U8]:
        """As kernels take it."""
        return self.hashes, self.offsets, self.data

    @classmethod
    def empty(cls) -> TermDictionary:
        """No terms."""
        return cls(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint8))

    @classmethod
    def from_strings(cls, strings: Sequence[str] | pa.Array, seed: int, hash_bits: int = 64) -> TermDictionary:
        """Terms in the given order; they must be distinct."""
        made = cls.hashed(strings, seed, hash_bits)
        if len(made) and not np.array_equal(made.lookup(made), np.arange(len(made))):
            repeated = int(np.flatnonzero(made.lookup(made) != np.arange(len(made)))[0])
            message = f"terms of a dictionary must be distinct; {made.strings()[repeated].as_py()!r} is repeated"
            raise ValueError(message)
        return made

    @classmethod
    def hashed(cls, strings: Sequence[str] | pa.Array, seed: int, hash_bits: int = 64) -> TermDictionary:
        """Strings to be looked up elsewhere; nothing checks that they are distinct."""
        data, offsets = byte_rows(strings) if isinstance(strings, pa.Array) else _encoded(strings)
        hashes = np.empty(offsets.size - 1, np.int64)
        hash_rows(data, offsets, *hash_key(seed, hash_bits), hashes)
        return cls(hashes, offsets - offsets[0], data[offsets[0] : offsets[-1]])

    def strings(self) -> pa.Array:
        """The terms as an Arrow string array (large_string above 2 GB)."""
        if self.data.size > _INT32_MAX:
            buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
            return pa.Array.from_buffers(pa.large_string(), len(self), buffers)
        buffers = [None, pa.py_buffer(self.offsets.astype(np.int32)), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.string(), len(self), buffers)

    def lookup(self, other: TermDictionary) -> I32:
        """This dictionary's number of each of another's terms (same seed and hash bits), -1 where absent."""
        out = np.empty(len(other), np.int32)
        find_terms(*self._arrays, self.table, other._arrays, out)
        return out

    def lookup_strings(self, strings: Sequence[str] | pa.Array, seed: int, hash_bits: int = 64) -> I32:
        """Number of each string, -1 where absent; repeats allowed."""
        return self.lookup(self.hashed(strings, seed, hash_bits))

    def take(self, terms: npt.NDArray[np.integer[Any]]) -> TermDictionary:
        """The given terms, in that order."""
        terms = np.asarray(terms, np.int64)
        offsets = np.zeros(terms.size + 1, np.int64)
        np.cumsum(self.offsets[1:][terms] - self.offsets[:-1][terms], out=offsets[1:])
        hashes, data = np.empty(terms.size, np.int64), np.empty(offsets[-1], np.uint8)
        take_terms(self._arrays, frozen(terms, np.int64), hashes, offsets, data)
        return TermDictionary(hashes, offsets, data)

    @staticmethod
    def merge(dictionaries: Sequence[TermDictionary]) -> tuple[TermDictionary, list[I32]]:
        """The union, in order of first appearance, and for each part the new numbers of its terms."""
        terms = sum(len(one) for one in dictionaries)
        size = np.zeros(1, np.int64)
        data = np.empty(sum(int(one.data.size) for one in dictionaries), np.uint8)
        slots = np.full(table_size(terms), -1, np.int32)
        sink = TermSink(np.empty(terms, np.int64), np.zeros(terms + 1, np.int64), data, slots, size)
        remaps = []
        for one in dictionaries:
            if size[0] == 0:
                remaps.append(_first_terms(sink, one))
                continue
            remap = np.empty(len(one), np.int32)
            intern_terms(sink, *one._arrays, remap)
            remaps.append(remap)
        return dictionary_of(sink), remaps

    def to_arrays(self, prefix: str = "", *, slots: bool = True) -> dict[str, npt.NDArray[Any]]:
        """Flat arrays, with the table if asked for; offsets in four bytes where the terms have less than 4 GB."""
        narrow = self.offsets.astype(np.uint32) if self.data.size <= _UINT32_MAX else self.offsets
        named = {"hashes": self.hashes, "offsets": narrow, "data": self.data}
        return {prefix + name: array for name, array in (named | ({"slots": self.table} if slots else {})).items()}


def _first_terms(sink: TermSink, first: TermDictionary) -> I32:
    """Enter a dictionary into an empty one as it is: nothing has to be looked up."""
    terms, used = len(first), int(first.offsets[-1])
    sink.hashes[:terms], sink.offsets[: terms + 1], sink.data[:used] = first.hashes, first.offsets, first.data
    fill_slots(first.hashes, sink.slots)
    sink.size[0] = terms
    return np.arange(terms, dtype=np.int32)


def dictionary_of(sink: TermSink) -> TermDictionary:
    """Freeze what a kernel wrote; its table may be much too large and is built anew when it is needed."""
    terms = int(sink.size[0])
    used = int(sink.offsets[terms])
    return TermDictionary(sink.hashes[:terms].copy(), sink.offsets[: terms + 1].copy(), sink.data[:used].copy())


def _encoded(strings: Sequence[str]) -> tuple[U8, I64]:
    """The bytes of some strings and where each begins; not by way of Arrow, which imports pandas (`flat.columns`)."""
    rows = [string.encode() for string in strings]
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return frozen(np.frombuffer(b"".join(rows), np.uint8), np.uint8), frozen(ends, np.int64)
