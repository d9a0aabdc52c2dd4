"""Inlined entries: a candidate is decided where it is read.

An index copies, next to each other, what rejects a query: its box as whole numbers and its next-rarest terms. Only
what passes is looked up elsewhere, and only where the entry cannot tell:

* a point on the edge of the quantised box: quantising is monotone, so strictly between the quantised bounds is
  inside, beyond them outside, and a tie is decided by the exact float box, kept once per piece;
* conjuncts of more than three terms or with negative ones: their lists are kept, no others;
* circles and polygons, of which the entry has the bounding pieces: their rows of the region table are kept.

:class:`Checks` is that rest, the same for every index with inlined entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of
from sightline.flat.records import FlatRecord, frozen_fields
from sightline.geo.region_table import RegionTable
from sightline.index._kernels import Conjuncts
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing._kernels import (
    Exact,
    MatchScratch,
    Posted,
    key_terms,
    quantise_boxes,
)
from sightline.index.standing.batches import collect_pairs, exact_regions, object_batch
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.keywords import spread_rows
from sightline.model.errors import BadQuery
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary

__all__ = ["Checks", "posted", "sort_order", "space_grid"]

#: ``kernel(index, exact, batch, scratch, first, n, out_object, out_query)``: (row to resume at, pairs, entries).
MatchKernel = Callable[..., tuple[int, int, int]]
MAX_TERMS = 1 << 30


@dataclass(frozen=True)
class Checks(FlatRecord):
    """What is needed beside the entries to match a block."""

    exact: Exact
    shaped: I32  # rows of the block that are circles or polygons, ascending
    regions: Annotated[RegionTable, "region_"]  # of those
    dictionary: Annotated[TermDictionary, "term_"]
    space: Space

    @classmethod
    def of(cls, block: QueryBlock, space: Space, verified: I64) -> Checks:
        """The rest of a block of which the given conjuncts need verification."""
        lists = block.conjuncts
        pos_offsets, pos = spread_rows(lists.pos_offsets, verified)
        neg_offsets, neg = spread_rows(lists.neg_offsets, verified)
        kept = Conjuncts(pos_offsets, lists.pos[pos], neg_offsets, lists.neg[neg])
        several = len(block.piece_query) != len(block)
        first: Any = offsets_of(block.piece_query, len(block)) if several else ()
        shaped = np.flatnonzero(block.regions.kind != 0)
        exact = Exact(block.piece_box, first, kept)
        return cls(exact, shaped.astype(np.int32), block.regions.take(shaped), block.dictionary, space)

    @property
    def queries(self) -> int:
        """Queries of the block."""
        return int((self.exact.first_piece.size or len(self.exact.box) + 1) - 1)

    @cached_property
    def _region_rows(self) -> I32:
        rows = np.full(self.queries, -1, np.int32)
        rows[self.shaped] = np.arange(self.shaped.size, dtype=np.int32)
        return rows

    def match(self, kernel: MatchKernel, index: Any, objects: ObjectColumns, room: int) -> MatchPairs:
        """All pairs that a kernel finds over its index, inside their regions."""
        batch, scratch = object_batch(objects, self.dictionary), self._scratch()
        pairs = collect_pairs(partial(kernel, index, self.exact, batch, scratch), len(objects), room)
        if self.shaped.size == 0:
            return pairs
        kept = exact_regions(self.regions, self.space, objects, pairs.object, pairs.query, self._region_rows)
        return MatchPairs(*kept, pairs.candidates)

    def _scratch(self) -> MatchScratch:
        present = np.zeros(len(self.dictionary) + 1, np.uint8)
        present[-1] = 1
        return MatchScratch(present, np.zeros(self.queries, np.int32))


def posted(block: QueryBlock, grid: F64, frequency: npt.ArrayLike | None) -> tuple[Posted, I64]:
    """What to spread over cells, and the conjuncts that need verification.

    ``frequency`` ranks the block's terms; the default is the number of conjuncts that ask for a term.
    """
    wildcard = len(block.dictionary)
    if wildcard >= MAX_TERMS:
        raise BadQuery("too many distinct keywords", value=wildcard, allowed=f"fewer than {MAX_TERMS}")
    rank = np.bincount(block.pos, minlength=wildcard) if frequency is None else np.asarray(frequency)
    table = key_terms(block.conjuncts, frozen(rank, np.int64), wildcard)
    verified = np.flatnonzero(table[:, 3])
    table[verified, 2] = wildcard + 1 + np.arange(verified.size)
    piece_offsets = offsets_of(block.piece_query, len(block))
    conjuncts = np.bincount(block.conj_query, minlength=len(block))
    several = conjuncts * np.diff(piece_offsets) > 1
    conj_query = np.where(several[block.conj_query], -1 - block.conj_query, block.conj_query)
    box = np.empty((len(block.piece_box), 4), np.int32)
    quantise_boxes(block.piece_box, grid, box)
    return frozen_fields(Posted, (conj_query, table[:, :3], piece_offsets, box)), verified


def space_grid(bounds: tuple[float, float, float, float]) -> F64:
    """Origin and steps per unit, x before y, with which places inside the bounds become numbers of 31 bits."""
    x1, y1, x2, y2 = bounds
    # A side without extent gets scale 0: every place on it is a tie.
    scale = [(2.0**31 - 1.0) / side if side > 1e-9 else 0.0 for side in (x2 - x1, y2 - y1)]
    return frozen([x1, y1, *scale], np.float64)


def sort_order(keys: I64) -> I64:
    """Positions that sort non-negative keys.

    Where key and position fit one int64 they are sorted as one number, several times faster than an argsort.
    """
    width = int(keys.size).bit_length()
    if keys.size and int(keys.max()).bit_length() + width <= 63:
        packed = np.sort((keys << width) | np.arange(keys.size))
        order: I64 = packed & ((1 << width) - 1)
        return order
    return np.argsort(keys)
