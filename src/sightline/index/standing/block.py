"""Many standing queries as one set of flat arrays.

A block is what the store persists for a run of the control log, what a partitioner routes, and what the standing
indexes are built from. Regions and keywords are compiled once, here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64, U8, offsets_of
from sightline.flat.records import FlatRecord
from sightline.geo.bounds import table_pieces
from sightline.geo.region_table import RegionTable
from sightline.index._kernels import Conjuncts
from sightline.index.standing.bulk import QueryColumns, read_queries, read_table
from sightline.index.standing.keywords import KeywordTable, spread_rows
from sightline.index.standing.kinds import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS
from sightline.model.config import StoreConfig
from sightline.model.errors import BadQuery
from sightline.model.queries import Query
from sightline.model.time import MIN_US
from sightline.text.dictionary import TermDictionary

__all__ = ["KIND_NEAREST", "KIND_RANGE", "KIND_TOP_TERMS", "QueryBlock"]


@dataclass(frozen=True, slots=True, eq=False)
class QueryBlock(FlatRecord):
    """n standing queries; rows of the block are what indexes and pairs speak of.

    ``piece_query`` and ``conj_query`` ascend; every query has at least one piece and one conjunct (a match-all
    conjunct has no terms). Nearest queries have the whole space as their region. A CTQ reports at
    ``anchor + i * every``; the anchor is its start, or 0 when that is unbounded.
    """

    num: I64
    kind: U8
    start: I64
    end: I64
    regions: Annotated[RegionTable, "region_"]
    piece_query: I32
    piece_box: F64
    at: F64
    k: I32
    window: I64
    every: I64
    anchor: I64
    conj_query: I32
    pos_offsets: I64
    pos: I32
    neg_offsets: I64
    neg: I32
    dictionary: Annotated[TermDictionary, "term_"]
    ids: pa.StringArray
    queries: pa.StringArray

    def __len__(self) -> int:
        return int(self.num.shape[0])

    @property
    def conjuncts(self) -> Conjuncts:
        """The verification lists, as kernels take them."""
        return Conjuncts(self.pos_offsets, self.pos, self.neg_offsets, self.neg)

    @property
    def keywords(self) -> KeywordTable:
        """The keyword columns."""
        return KeywordTable(
            len(self), self.conj_query, self.pos_offsets, self.pos, self.neg_offsets, self.neg, self.dictionary
        )

    @classmethod
    def from_queries(
        cls,
        queries: Sequence[Query],
        ids: Sequence[str],
        nums: npt.ArrayLike,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        config: StoreConfig,
    ) -> QueryBlock:
        """Compile query objects; lifetimes are ``[start, end)`` in microseconds."""
        return cls._assemble(read_queries(queries, config), pa.array(ids, pa.string()), nums, starts, ends, config)

    @classmethod
    def from_table(
        cls,
        table: pa.Table,
        nums: npt.ArrayLike,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        config: StoreConfig,
        ids: Sequence[str] | pa.StringArray | None = None,
    ) -> QueryBlock:
        """Compile the bulk form of :mod:`~sightline.index.standing.bulk`, column by column.

        ``ids`` default to the column ``id``, or to the subscription numbers as text.
        """
        if ids is None and "id" in table.column_names:
            ids = table["id"].combine_chunks()
        if ids is None:
            ids = pa.array(np.broadcast_to(np.asarray(nums, np.int64), table.num_rows)).cast(pa.string())
        names: pa.StringArray = ids.cast(pa.string()) if isinstance(ids, pa.Array) else pa.array(ids, pa.string())
        return cls._assemble(read_table(table, config), names, nums, starts, ends, config)

    @classmethod
    def _assemble(
        cls,
        columns: QueryColumns,
        ids: pa.StringArray,
        nums: npt.ArrayLike,
        starts: npt.ArrayLike,
        ends: npt.ArrayLike,
        config: StoreConfig,
    ) -> QueryBlock:
        n = len(columns.kind)
        num, start, end = (
            np.ascontiguousarray(np.broadcast_to(np.asarray(v, np.int64), n)) for v in (nums, starts, ends)
        )
        if ids.null_count:
            raise BadQuery("a query has no id", value=f"row {ids.is_null().index(True).as_py()}", allowed="text")
        if len(ids) != n:
            raise ValueError(f"{n} queries have {len(ids)} ids")
        piece_query, piece_box = table_pieces(columns.regions, config.space)
        return cls(
            num=num,
            kind=columns.kind,
            start=start,
            end=end,
            regions=columns.regions,
            piece_query=piece_query,
            piece_box=piece_box,
            at=columns.at,
            k=columns.k,
            window=columns.window,
            every=columns.every,
            anchor=np.where(start == MIN_US, 0, start),
            **columns.keywords.columns(),
            ids=ids,
            queries=columns.queries,
        )

    def take(self, rows: npt.ArrayLike) -> QueryBlock:
        """The given queries, in the given order."""
        index = np.asarray(rows, np.int64)
        piece_offsets, pieces = spread_rows(offsets_of(self.piece_query, len(self)), index)
        words = self.keywords.take(index)
        picked = {
            name: getattr(self, name)[index]
            for name in ("num", "kind", "start", "end", "at", "k", "window", "every", "anchor")
        }
        return QueryBlock(
            **picked,
            regions=self.regions.take(index),
            piece_box=self.piece_box[pieces],
            piece_query=np.repeat(np.arange(len(index), dtype=np.int32), np.diff(piece_offsets)),
            **words.columns(),
            ids=self.ids.take(pa.array(index)),
            queries=self.queries.take(pa.array(index)),
        )

    @staticmethod
    def concat(blocks: Sequence[QueryBlock]) -> QueryBlock:
        """All queries of all blocks (at least one), one after the other."""
        if len(blocks) == 1:
            return blocks[0]
        first = np.cumsum([0] + [len(b) for b in blocks])
        words = KeywordTable.concat([b.keywords for b in blocks])
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(b, name) for b in blocks])
            for name in ("num", "kind", "start", "end", "piece_box", "at", "k", "window", "every", "anchor")
        }
        return QueryBlock(
            **joined,
            regions=RegionTable.concat([b.regions for b in blocks]),
            piece_query=np.concatenate([b.piece_query + np.int32(f) for b, f in zip(blocks, first, strict=False)]),
            **words.columns(),
            ids=pa.concat_arrays([b.ids for b in blocks]),
            queries=pa.concat_arrays([b.queries for b in blocks]),
        )
