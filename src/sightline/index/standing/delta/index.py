"""A mutable index of range queries: the delta over an immutable base.

Queries are chained under (pyramid cell, rarest term): a table leads to the newest entry of a pair, and every entry to
the one before it. Inserting is one probe and two writes per entry and moves nothing; only when the table is 5/8 full
is it entered into one twice as large. A piece stands at the deepest pyramid level where it meets at most four cells,
so there is no grid to choose before the queries are known. Entries carry box and next-rarest terms, as GI2's do
(:mod:`~sightline.index.standing.gi2`). PS2Stream section 6 inserts into GI2's lists in place and deletes lazily; this
is that, for a table of flat arrays which is written to a file as it is.

Rarest is by the conjuncts inserted so far: what was inserted early may stand under a term that became frequent since.
That costs entries looked at, never an answer, and ends with the next base. Lists of terms are kept only for the
conjuncts that need verification (a negative, or more than three positives).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, U8, frozen, offsets_of
from sightline.flat.records import frozen_fields
from sightline.geo.region_table import RegionTable
from sightline.index._kernels import Conjuncts
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing._kernels import key_terms
from sightline.index.standing.batches import collect_pairs, exact_regions, object_batch
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.delta import _kernels
from sightline.index.standing.delta._kernels import WILDCARD, DeltaArrays
from sightline.index.standing.delta.growing import GrowingArray, GrowingLists
from sightline.index.standing.keywords import spread_rows
from sightline.index.standing.pyramid import pyramid_grid
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary
from sightline.text.growing import GrowingDictionary

__all__ = ["DeltaIndex"]

FIRST_ROOM = 1 << 16  # pairs of the first output buffer; it doubles when full


class DeltaIndex:
    """Queries numbered in order of insertion."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], space: Space) -> None:
        self._space, self._grid = space, pyramid_grid(space)
        self._terms = GrowingDictionary(TermDictionary.from_arrays(arrays, prefix="term_"))
        self._slots: I64 = arrays["slots"]
        self._used: I64 = np.array(arrays["used"], np.int64)
        self._levels: GrowingArray[np.uint8] = GrowingArray(arrays["levels"])
        self._frequency: GrowingArray[np.int64] = GrowingArray(arrays["frequency"])
        self._boxes: GrowingArray[np.float64] = GrowingArray(arrays["boxes"])
        self._entries: GrowingArray[np.int32] = GrowingArray(arrays["entries"])
        self._alive: GrowingArray[np.uint8] = GrowingArray(arrays["alive"])
        self._pos: GrowingLists[np.int32] = GrowingLists(arrays["pos_offsets"], arrays["pos"])
        self._neg: GrowingLists[np.int32] = GrowingLists(arrays["neg_offsets"], arrays["neg"])
        self._kind: GrowingArray[np.uint8] = GrowingArray(arrays["region_kind"])
        self._params: GrowingArray[np.float64] = GrowingArray(arrays["region_params"])
        self._polygons: GrowingLists[np.uint8] = GrowingLists(
            arrays["region_polygon_offsets"], arrays["region_polygon_data"]
        )
        self._plain = bool((arrays["region_kind"] == 0).all())

    def __len__(self) -> int:
        return len(self._alive)

    @classmethod
    def empty(cls, space: Space) -> Self:
        """No queries."""
        none: U8 = np.empty(0, np.uint8)
        start: I64 = np.zeros(1, np.int64)
        ids: I32 = np.empty(0, np.int32)
        levels: U8 = np.zeros(1, np.uint8)
        arrays: dict[str, npt.NDArray[Any]] = {
            **RegionTable.from_boxes(np.empty((0, 4))).to_arrays("region_"),
            **TermDictionary.empty().to_arrays("term_"),
            "pos_offsets": start,
            "pos": ids,
            "neg_offsets": start,
            "neg": ids,
            "levels": levels,
            "alive": none,
            "slots": np.full((8, 2), -1, np.int64),
            "used": np.zeros(2, np.int64),
            "frequency": np.zeros(1, np.int64),
            "boxes": np.empty((0, 4)),
            "entries": np.empty((0, 5), np.int32),
        }
        return cls(arrays, space)

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """An index that starts with a block."""
        made = cls.empty(space)
        made.insert(block)
        return made

    def insert(self, block: QueryBlock) -> int:
        """Add the queries of a block, in their order; returns the row of the first. The block is not kept."""
        first = len(self)
        remap = self._terms.intern(block.dictionary) + np.int32(1)
        lists = frozen_fields(Conjuncts, (block.pos_offsets, remap[block.pos], block.neg_offsets, remap[block.neg]))
        new_terms = len(self._terms) + 1 - len(self._levels)
        self._levels.lengthen(new_terms)
        np.add.at(self._frequency.lengthen(new_terms), lists.pos, 1)
        terms = frozen(key_terms(lists, frozen(self._frequency.rows, np.int64), WILDCARD), np.int32)
        verify = self._keep_lists(lists, np.flatnonzero(terms[:, 3]), len(terms))
        self._insert_regions(block.regions)
        self._alive.lengthen(len(block), 1)
        self._chain(block, terms, verify, first)
        return first

    def delete(self, rows: npt.NDArray[np.integer[Any]]) -> None:
        """Forget some queries; their entries stay until the index is built anew."""
        self._alive.lengthen(0)[rows] = 0

    def match(self, objects: ObjectColumns) -> MatchPairs:
        """All pairs, each once; see :class:`~sightline.index.protocol.StandingIndex`."""
        batch = object_batch(objects, self._terms.dictionary())
        batch = batch._replace(remap=frozen(batch.remap + np.int32(1), np.int32))
        delta = frozen_fields(DeltaArrays, self._arrays())
        lists = frozen_fields(Conjuncts, self._lists())
        present = np.zeros(len(self._levels), np.uint8)
        present[WILDCARD] = 1
        stamp = np.full(len(self), -1, np.int32)
        run = partial(_kernels.delta_match, delta, lists, batch, present, stamp)
        pairs = collect_pairs(run, len(objects), FIRST_ROOM)
        if self._plain:
            return pairs
        return MatchPairs(
            *exact_regions(self._regions(), self._space, objects, pairs.object, pairs.query), pairs.candidates
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Flat arrays of the index as it is now; the next insertion may write over them."""
        return {
            **DeltaArrays(*self._arrays())._asdict(),
            **Conjuncts(*self._lists())._asdict(),
            "used": self._used,
            "frequency": self._frequency.rows,
            **self._regions().to_arrays("region_"),
            **self._terms.dictionary().to_arrays("term_"),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], space: Space) -> Self:
        """Index over (mapped) arrays; they are copied if it is changed."""
        return cls(arrays, space)

    def _arrays(self) -> tuple[F64, U8, I64, F64, I32, U8]:
        return (self._grid, self._levels.rows, self._slots, self._boxes.rows, self._entries.rows, self._alive.rows)

    def _lists(self) -> tuple[I64, I32, I64, I32]:
        return self._pos.offsets.rows, self._pos.items.rows, self._neg.offsets.rows, self._neg.items.rows

    def _regions(self) -> RegionTable:
        return RegionTable(self._kind.rows, self._params.rows, self._polygons.offsets.rows, self._polygons.items.rows)

    def _insert_regions(self, regions: RegionTable) -> None:
        self._kind.extend(regions.kind)
        self._params.extend(regions.params)
        self._polygons.extend(regions.polygon_offsets, regions.polygon_data)
        self._plain = self._plain and bool((regions.kind == 0).all())

    def _keep_lists(self, lists: Conjuncts, hard: I64, conjuncts: int) -> I32:
        """Keep the lists of some conjuncts; per conjunct of the block, the number of its list or -1."""
        verify = np.full(conjuncts, -1, np.int32)
        verify[hard] = np.arange(len(hard)) + len(self._pos.offsets) - 1
        for kept, offsets, items in (
            (self._pos, lists.pos_offsets, lists.pos),
            (self._neg, lists.neg_offsets, lists.neg),
        ):
            new_offsets, places = spread_rows(offsets, hard)
            kept.extend(new_offsets, items[places])
        return verify

    def _chain(self, block: QueryBlock, terms: I32, verify: I32, first: int) -> None:
        conj_query, box = block.conj_query, block.piece_box
        pieces = frozen(offsets_of(block.piece_query, len(block)), np.int64)
        copies = _kernels.delta_copies(conj_query, pieces, box, self._grid)
        self._reserve(int(self._used[1]) + copies)
        conjuncts = np.bincount(block.conj_query, minlength=len(block))
        shared = (conjuncts * np.diff(pieces) > 1).astype(np.uint8)
        boxes, entries = self._boxes.lengthen(copies, None), self._entries.lengthen(copies, None)
        delta = DeltaArrays(self._grid, self._levels.rows, self._slots, boxes, entries, self._alive.rows)
        _kernels.delta_insert(
            delta, self._used, conj_query, pieces, box, terms, frozen(verify, np.int32), frozen(shared, np.uint8), first
        )

    def _reserve(self, keys: int) -> None:
        """Make the table ready for so many keys, at most 5/8 full."""
        size = int(self._slots.shape[0])
        while 8 * keys > 5 * size:
            size *= 2
        if size > self._slots.shape[0]:
            slots = np.full((size, 2), -1, np.int64)
            _kernels.delta_rehash(frozen(self._slots, np.int64), slots)
            self._slots = slots
        elif not self._slots.flags.writeable:
            self._slots = self._slots.copy()
