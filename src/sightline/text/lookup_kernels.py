"""Kernels of the term table: hash terms, find them, number new ones.

A term is found by its hash and then by its bytes, so two terms that share a hash stay two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.jit import kernel

U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

Arrays = tuple[I64, I64, U8]  # hashes, offsets and data of a dictionary

_AHEAD = 32  # terms to enter that are read ahead
_MODULO = 0xFFFFFFFFFFFFFFFF  # compiled, this is the type of a product: nothing is left of it


class TermSink(NamedTuple):
    """Distinct terms under construction; ``size[0]`` is their number."""

    hashes: I64
    offsets: I64
    data: U8
    slots: I32
    size: I64


@kernel
def load8(data: U8, at: int | np.int64) -> np.uint64:
    """Eight bytes as one number, the first byte lowest: one instruction, as unsigned indexes are not checked."""
    first = np.uint64(at)
    out = np.uint64(0)
    for i in range(8):
        out |= np.uint64(data[first + np.uint64(i)]) << np.uint64(8 * i)
    return out


@kernel
def store8(data: U8, at: int | np.int64, value: np.uint64) -> None:
    """The reverse of `load8`, as cheap."""
    first = np.uint64(at)
    for i in range(8):
        data[first + np.uint64(i)] = np.uint8((value >> np.uint64(8 * i)) & np.uint64(255))


@kernel
def chunk(data: U8, start: int, end: int) -> np.uint64:
    """Up to eight bytes from ``start`` on as one number, the first byte lowest."""
    length = end - start
    if length > 0 and start + 8 <= data.size:
        spare = np.uint64(8 * max(8 - length, 0))
        return load8(data, start) << spare >> spare
    out = np.uint64(0)
    for i in range(min(8, length)):
        out |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return out


@kernel
def hash_bytes(data: U8, start: int, end: int, first: np.uint64, seed: np.uint64, mask: np.uint64) -> np.int64:
    """Seeded hash, eight bytes at a time, with the finaliser of MurmurHash3; ``first`` is the first chunk.

    Products are modulo 2^64. Where nothing is compiled they are Python's: those of two NumPy scalars warn.
    """
    h = int(first ^ seed ^ np.uint64(end - start)) * 0x9E3779B97F4A7C15 & _MODULO
    for i in range(start + 8, end, 8):
        h = int(h ^ (h >> np.uint64(32)) ^ chunk(data, i, end)) * 0x9E3779B97F4A7C15 & _MODULO
    h = int(h ^ (h >> np.uint64(33))) * 0xFF51AFD7ED558CCD & _MODULO
    h = int(h ^ (h >> np.uint64(33))) * 0xC4CEB9FE1A85EC53 & _MODULO
    return np.int64((h ^ (h >> np.uint64(33))) & mask)


@kernel
def hash_rows(data: U8, offsets: I64, seed: np.uint64, mask: np.uint64, out: I64) -> None:
    """Hash every row."""
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        out[i] = hash_bytes(data, start, end, chunk(data, start, end), seed, mask)


@kernel
def same(data: U8, start: int | np.int64, end: int | np.int64, other: U8, other_start: int, other_end: int) -> bool:
    """Whether two runs of bytes are equal."""
    if end - start != other_end - other_start:
        return False
    for i in range(end - start):
        if data[start + i] != other[other_start + i]:
            return False
    return True


@kernel
def copy_term(data: U8, start: int, end: int, out: U8, at: int | np.int64) -> None:
    """Bytes of a term to ``out[at:]``; the eight bytes after them may change too."""
    for i in range(0, end - start, 8):
        if at + i + 8 <= out.size:
            store8(out, at + i, chunk(data, start + i, end))
            continue
        for j in range(i, end - start):
            out[at + j] = data[start + j]


@kernel
def take_terms(dictionary: Arrays, terms: I64, out_hashes: I64, out_offsets: I64, out: U8) -> None:
    """Copy some terms, in the given order; ``out_offsets`` is there already."""
    hashes, offsets, data = dictionary
    for i in range(terms.size):
        out_hashes[i] = hashes[terms[i]]
    for i in range(terms.size):
        copy_term(data, offsets[terms[i]], offsets[terms[i] + 1], out, out_offsets[i])


@kernel
def fill_slots(hashes: I64, slots: I32) -> None:
    """Enter terms 0.. into an empty table (all -1) of a power-of-two size above their number."""
    mask = slots.size - 1
    for term in range(hashes.size):
        slot = hashes[term] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = term


@kernel
def find(
    hashes: I64, offsets: I64, terms: U8, slots: I32, h: np.int64, data: U8, start: int, end: int
) -> tuple[np.int64, np.int64]:
    """Term number of ``data[start:end]`` and its slot; -1 and the empty slot it would take when it is absent."""
    mask = slots.size - 1
    slot = h & mask
    while slots[slot] >= 0:
        term = np.int64(slots[slot])
        if hashes[term] == h and same(terms, offsets[term], offsets[term + 1], data, start, end):
            return term, slot
        slot = (slot + 1) & mask
    return np.int64(-1), slot


@kernel
def _touch(hashes: I64, offsets: I64, terms: U8, slots: I32, wanted: I64, first: int, last: int, out: I32) -> None:
    """Read what finding the next terms will read, all at once, so that cache misses overlap; ``out`` is scratch.

    It takes a quarter off entering terms of which half are known, and adds a third to finding terms of which most are
    absent, so `find_terms` does without.
    """
    mask = slots.size - 1
    for i in range(first, last):
        out[i] = slots[wanted[i] & mask]
    for i in range(first, last):
        term = max(np.int64(out[i]), np.int64(0))
        out[i] = np.int32(hashes[term] & 1) + terms[min(offsets[term], terms.size - 1)]


@kernel
def find_terms(hashes: I64, offsets: I64, data: U8, slots: I32, wanted: Arrays, out: I32) -> None:
    """Term number of each wanted (hashes, offsets, data) row, -1 where absent."""
    wanted_hashes, wanted_offsets, wanted_data = wanted
    for i in range(wanted_hashes.size):
        start, end = wanted_offsets[i], wanted_offsets[i + 1]
        out[i], _ = find(hashes, offsets, data, slots, wanted_hashes[i], wanted_data, start, end)


@kernel
def intern_terms(sink: TermSink, hashes: I64, offsets: I64, data: U8, out: I32) -> None:
    """Enter all terms of another dictionary (there is room) and give their new numbers."""
    own_hashes, own_offsets, own_data, slots, size = sink
    for i in range(hashes.size):
        if i % _AHEAD == 0 and own_data.size > 0:
            _touch(own_hashes, own_offsets, own_data, slots, hashes, i, min(i + _AHEAD, out.size), out)
        start, end = offsets[i], offsets[i + 1]
        term, slot = find(own_hashes, own_offsets, own_data, slots, hashes[i], data, start, end)
        if term < 0:
            term = size[0]
            tail = own_offsets[term]
            copy_term(data, start, end, own_data, tail)
            own_hashes[term] = hashes[i]
            own_offsets[term + 1] = tail + end - start
            slots[slot] = term
            size[0] = term + 1
        out[i] = term
