"""Keywords of many standing queries as flat lists: queries -> conjuncts -> positive and negative term ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.flat.arrays import I32, I64, offsets_of, sorted_distinct
from sightline.model.config import StoreConfig
from sightline.model.dnf import Dnf
from sightline.model.errors import BadExpression
from sightline.model.expression import all_of, parse
from sightline.text.dictionary import TermDictionary
from sightline.text.tokeniser import tokenise

__all__ = ["KeywordTable", "compile_dnfs", "compile_expressions", "compile_lists", "spread_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class KeywordTable:
    """Conjuncts of n queries; ``conj_query`` ascends, term ids ascend inside a conjunct."""

    rows: int
    conj_query: I32
    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32
    dictionary: TermDictionary

    def columns(self) -> dict[str, Any]:
        """What a block of queries has of it, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "rows"}

    def take(self, rows: npt.NDArray[Any]) -> KeywordTable:
        """The keywords of the given queries, in that order (a query may repeat); terms they lack are dropped."""
        offsets, conj = spread_rows(offsets_of(self.conj_query, self.rows), rows)
        conj_query = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(offsets))
        pos_offsets, pos_rows = spread_rows(self.pos_offsets, conj)
        neg_offsets, neg_rows = spread_rows(self.neg_offsets, conj)
        pos, neg = self.pos[pos_rows], self.neg[neg_rows]
        used = np.zeros(len(self.dictionary.hashes), np.bool_)
        used[pos] = True
        used[neg] = True
        dictionary = self.dictionary
        if not used.all():
            kept = np.flatnonzero(used)
            renumber = (np.cumsum(used) - 1).astype(np.int32)  # monotone: lists stay ascending
            pos, neg, dictionary = renumber[pos], renumber[neg], dictionary.take(kept)
        return KeywordTable(len(rows), conj_query, pos_offsets, pos, neg_offsets, neg, dictionary)

    @staticmethod
    def concat(tables: Sequence[KeywordTable]) -> KeywordTable:
        """The keywords of all tables one after the other, over one dictionary."""
        dictionary, remaps = TermDictionary.merge([t.dictionary for t in tables])
        first = np.cumsum([0] + [t.rows for t in tables])
        conj_query = [t.conj_query + np.int32(f) for t, f in zip(tables, first, strict=False)]
        pos_offsets = _stack([t.pos_offsets for t in tables])
        neg_offsets = _stack([t.neg_offsets for t in tables])
        pos = np.concatenate([remap[t.pos] for t, remap in zip(tables, remaps, strict=True)])
        neg = np.concatenate([remap[t.neg] for t, remap in zip(tables, remaps, strict=True)])
        return KeywordTable(
            int(first[-1]),
            np.concatenate(conj_query),
            pos_offsets,
            _ascending(pos_offsets, pos),
            neg_offsets,
            _ascending(neg_offsets, neg),
            dictionary,
        )


def spread_rows(offsets: I64, rows: npt.NDArray[Any]) -> tuple[I64, I64]:
    """CSR gather: offsets of the lists of ``rows``, and the position of each of their items."""
    starts, sizes = offsets[:-1][rows], np.diff(offsets)[rows]
    out = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out, np.arange(out[-1], dtype=np.int64) + np.repeat(starts - out[:-1], sizes)


def compile_dnfs(dnfs: Sequence[Dnf], config: StoreConfig) -> KeywordTable:
    """Keywords given as one DNF per query."""
    numbers: dict[str, int] = {}
    conj_query: list[int] = []
    lists: tuple[list[list[int]], list[list[int]]] = ([], [])
    for row, dnf in enumerate(dnfs):
        for conjunct in dnf.conjuncts:
            conj_query.append(row)
            for terms, out in zip((conjunct.positive, conjunct.negative), lists, strict=True):
                out.append(sorted(numbers.setdefault(term, len(numbers)) for term in terms))
    dictionary = TermDictionary.from_strings(list(numbers), config.seed, config.hash_bits)
    (pos_offsets, pos), (neg_offsets, neg) = _flat(lists[0]), _flat(lists[1])
    return KeywordTable(len(dnfs), np.asarray(conj_query, np.int32), pos_offsets, pos, neg_offsets, neg, dictionary)


def compile_expressions(column: pa.StringArray, config: StoreConfig) -> KeywordTable:
    """Keywords given as expressions; each distinct one is parsed once."""
    encoded = pc.dictionary_encode(pc.fill_null(column, ""))
    distinct = encoded.dictionary.to_pylist()
    table = compile_dnfs([parse(source).dnf(config.text) for source in distinct], config)
    return table.take(encoded.indices.to_numpy(zero_copy_only=False))


def compile_lists(column: pa.ListArray, config: StoreConfig) -> KeywordTable:
    """Keywords given as lists (AND); each distinct keyword is tokenised once, most of them in one kernel call."""
    column = column if column.null_count == 0 else pa.array(column.to_pylist(), column.type).fill_null([])
    values = column.flatten()
    if values.null_count:
        raise BadExpression("an item of keywords is null", allowed="str")
    encoded = pc.dictionary_encode(values)
    offsets, terms, dictionary = _keyword_terms(encoded.dictionary, config)
    sizes = np.diff(column.offsets.to_numpy().astype(np.int64))
    n = len(sizes)
    item_query = np.repeat(np.arange(n, dtype=np.int64), sizes)
    item_offsets, items = spread_rows(offsets, encoded.indices.to_numpy(zero_copy_only=False))
    query = np.repeat(item_query, np.diff(item_offsets))
    # Distinct (query, term) in one sort: a keyword may repeat, or share a term with another.
    width = max(1, len(dictionary.hashes))
    pairs = sorted_distinct(query * width + terms[items])
    pos_offsets = offsets_of(pairs // width, n)
    empty = np.zeros(n + 1, np.int64)
    return KeywordTable(
        n,
        np.arange(n, dtype=np.int32),
        pos_offsets,
        (pairs % width).astype(np.int32),
        empty,
        np.empty(0, np.int32),
        dictionary,
    )


def _keyword_terms(keywords: pa.StringArray, config: StoreConfig) -> tuple[I64, I64, TermDictionary]:
    """Terms that each keyword asks for, as lists of ids.

    As text, a keyword of one plain word has one term, and that is what it asks for. The rest (``#tag`` asks for the
    tag alone, several words for all of them, none is an error) goes through the definition.
    """
    batch = tokenise(keywords, config.text, config.seed, config.hash_bits)
    sizes = np.diff(batch.offsets)
    special = np.flatnonzero(sizes != 1)
    if special.size == 0:
        return batch.offsets, batch.ids.astype(np.int64), batch.dictionary
    asked = [all_of([keywords[int(i)].as_py()]).dnf(config.text).conjuncts[0].positive for i in special]
    # Every term of a keyword is a term of it as text, so the dictionary has them all.
    found = batch.dictionary.lookup_strings([t for terms in asked for t in terms], config.seed, config.hash_bits)
    counts = sizes.copy()
    counts[special] = [len(terms) for terms in asked]
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    row = np.repeat(np.arange(len(sizes)), counts)
    plain = (sizes == 1)[row]
    ids = np.empty(offsets[-1], np.int64)
    ids[plain] = batch.ids[batch.offsets[:-1][sizes == 1]]
    ids[~plain] = found
    return offsets, ids, batch.dictionary


def _flat(lists: Sequence[Sequence[int]]) -> tuple[I64, I32]:
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(items) for items in lists], out=offsets[1:])
    return offsets, np.asarray([item for items in lists for item in items], np.int32)


def _stack(offsets: Sequence[I64]) -> I64:
    """Offsets of lists put one after the other."""
    ends = np.cumsum([0] + [int(o[-1]) for o in offsets])
    return np.concatenate([*(o[:-1] + end for o, end in zip(offsets, ends, strict=False)), ends[-1:]]).astype(np.int64)


def _ascending(offsets: I64, ids: I32) -> I32:
    """Sort every list; merging dictionaries renumbers terms in any order."""
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return ids[np.lexsort((ids, row))]
