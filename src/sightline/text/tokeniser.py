"""Text columns to terms, by kernels over Arrow's UTF-8 buffers.

ASCII rows and rows whose characters need no context are read byte by byte. The others are normalised by
``unicodedata``, all rows of a call in one string: U+10FFFF between them is never assigned (so it occurs in no row
after unassigned characters became spaces), merges with nothing under NFKC and ends the search of the final-sigma rule.
Stop words and stemming are applied to distinct terms, not to rows.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import frozen
from sightline.model._unicode14 import normalise, tables
from sightline.model.text_config import TextConfig
from sightline.text._kernels import DONE, scan_rows
from sightline.text.arrow_rows import byte_rows
from sightline.text.cutting_kernels import BLOCK_BYTES, BLOCK_ROWS, WHOLE, CharTables, CutWords, Texts, classify
from sightline.text.dictionary import TermDictionary, dictionary_of, hash_key, table_size
from sightline.text.lookup_kernels import TermSink, fill_slots
from sightline.text.postings_kernels import RowSink
from sightline.text.term_batch import TermBatch, renumber, saturated

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
T = TypeVar("T", bound=np.generic)
_BETWEEN = "\U0010ffff"
# First sizes: a new term and a posting every so many bytes. Room that is not used is never made real.
_FIRST_TERMS, _BYTES_PER_TERM, _BYTES_PER_POSTING = 4096, 16, 3


@cache
def char_tables() -> CharTables:
    """The Unicode tables."""
    return CharTables(*tables())


def tokenise(
    texts: pa.Array | pa.ChunkedArray, config: TextConfig | None = None, seed: int = 0, hash_bits: int = 64
) -> TermBatch:
    """Terms of every row (valid UTF-8, no nulls) of a string or large_string column.

    Parameters
    ----------
    texts : pa.StringArray, pa.LargeStringArray or ChunkedArray
    config : TextConfig, optional
        Stop words and stemmer; plain by default.
    seed : int
        Seed of the term hashes, one per store.
    hash_bits : int
        Bits of a hash kept; below 64 only to force collisions in tests.
    """
    config = config or TextConfig()
    data, offsets = byte_rows(texts)
    kinds = np.empty(offsets.size - 1, np.uint8)
    classify(char_tables(), data, offsets, kinds)
    whole_data, whole_offsets = _normalised(data, offsets, np.flatnonzero(kinds == WHOLE))
    source = Texts(data, offsets, frozen(kinds), whole_data, whole_offsets)
    rows, sink = _scan(source, hash_key(seed, hash_bits))
    dictionary = dictionary_of(sink)
    if not config.is_plain:
        remap, dictionary = _read_terms(dictionary, config, seed, hash_bits)
        rows = renumber(rows.offsets, rows.ids, rows.counts, remap, len(dictionary))
    return TermBatch(rows.offsets, rows.ids, saturated(rows.counts), rows.words, dictionary)


def _normalised(data: U8, offsets: I64, rows: npt.NDArray[np.intp]) -> tuple[U8, I64]:
    """Normalised bytes of some rows and where each begins."""
    parts = []
    raw = data.data
    for start, end in zip(offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True):
        parts.append(str(raw[start:end], "utf-8").replace(_BETWEEN, " "))
    encoded = [part.encode() for part in normalise_many(parts)]
    ends = np.cumsum(np.fromiter((len(part) for part in encoded), np.int64, len(encoded)))
    joined = np.frombuffer(b"".join(encoded), np.uint8)
    return frozen(joined), frozen(np.concatenate((np.zeros(1, np.int64), ends)))


def normalise_many(texts: list[str]) -> list[str]:
    """Normalise texts without U+10FFFF in one call."""
    return normalise(_BETWEEN.join(texts)).split(_BETWEEN) if texts else []


def _scan(source: Texts, key: tuple[np.uint64, np.uint64]) -> tuple[RowSink, TermSink]:
    """Run the kernel, growing what is full."""
    count = source.kinds.size
    total = int(source.offsets[-1] - source.offsets[0]) + source.whole_data.size
    block = max(_longest(source.offsets), _longest(source.whole_offsets), min(BLOCK_BYTES, total))
    expected = max(_FIRST_TERMS, total // _BYTES_PER_TERM)
    terms = expected + block
    sink = TermSink(
        np.empty(terms, np.int64), np.zeros(terms + 1, np.int64), np.empty(8 * expected + 3 * block + 8, np.uint8),
        np.full(table_size(terms), -1, np.int32), np.zeros(1, np.int64),
    )  # fmt: skip
    nnz = total // _BYTES_PER_POSTING + block
    rows = RowSink(
        np.zeros(count + 1, np.int64), np.empty(nnz, np.int32), np.empty(nnz, np.int32),
        np.zeros(count, np.int32), np.empty(0, np.int64),
    )  # fmt: skip
    heads, words, state = np.empty((terms, 2), np.uint64), _words(block), np.zeros(3, np.int64)
    while scan_rows(char_tables(), source, sink, heads, rows, words, state, key) != DONE:
        rows, sink, heads = _grown(rows, sink, heads, int(state[1]), block)
    used = int(state[1])
    return rows._replace(ids=rows.ids[:used].copy(), counts=rows.counts[:used].copy()), sink


def _words(size: int) -> CutWords:
    """Room for the words of rows of so many bytes."""
    masks = size // 64 + 1
    flags = np.empty(masks, (np.uint64, 8))
    return CutWords(
        np.empty(2 * size + 8, np.uint8), flags.view(np.uint8).ravel(), flags.ravel(), np.empty(masks, np.uint64),
        np.empty(BLOCK_ROWS, np.int64), np.empty(size + 1, np.int64), np.empty(size + 1, np.int64),
        np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size, np.int64),
    )  # fmt: skip


def _longest(offsets: I64) -> int:
    return int(np.diff(offsets).max(initial=0))


def _grown(rows: RowSink, sink: TermSink, heads: U64, postings: int, block: int) -> tuple[RowSink, TermSink, U64]:
    """Buffers with room for at least one more block; what has room already is kept."""
    if postings + block > rows.ids.size:
        wanted = 2 * rows.ids.size + block
        rows = rows._replace(ids=_resized(rows.ids, wanted, 0), counts=_resized(rows.counts, wanted, 0))
    terms = int(sink.size[0])
    used = int(sink.offsets[terms])
    if terms + block > sink.hashes.size:
        wanted = 2 * sink.hashes.size + block
        hashes, offsets = _resized(sink.hashes, wanted, 0), _resized(sink.offsets, wanted + 1, 0)
        slots = np.full(table_size(wanted), -1, np.int32)
        fill_slots(frozen(hashes[:terms]), slots)
        sink = sink._replace(hashes=hashes, offsets=offsets, slots=slots)
        heads = np.concatenate((heads, np.empty((wanted - len(heads), 2), np.uint64)))
    if used + 3 * block + 8 > sink.data.size:
        sink = sink._replace(data=_resized(sink.data, 2 * sink.data.size + 3 * block, 0))
    return rows, sink, heads


def _resized(array: npt.NDArray[T], size: int, rest: int) -> npt.NDArray[T]:
    larger = np.full(size, rest, array.dtype)
    larger[: array.size] = array
    return larger


def _read_terms(
    dictionary: TermDictionary, config: TextConfig, seed: int, hash_bits: int
) -> tuple[npt.NDArray[np.int32], TermDictionary]:
    """Stop words and stems: new number of each term (-1 dropped) and the new dictionary."""
    read = config.reader()
    numbers: dict[str, int] = {}
    remap = np.full(len(dictionary), -1, np.int32)
    for i, term in enumerate(dictionary.strings().to_pylist()):
        wanted = term if term[0] in "#@" else read(term)
        if wanted is not None:
            remap[i] = numbers.setdefault(wanted, len(numbers))
    return remap, TermDictionary.from_strings(list(numbers), seed, hash_bits)
