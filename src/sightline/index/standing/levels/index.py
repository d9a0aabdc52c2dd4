"""Levels: range queries in grids of a few cell sizes, one small table of terms per cell; the default.

A design of our own on the ground of GI2 (PS2Stream section 6): a conjunct is posted under its rarest term in every
cell that its boxes meet. What differs:

* **Cell before term.** GI2's one hash over (cell, term) scatters what an object needs. Here a cell has its own table
  of terms, and its entries lie together. Batches come along a space-filling curve, so the next object mostly finds
  the cell, its table and its entries in the cache.
* **Several cell sizes**, but only if they pay: :mod:`~sightline.index.standing.levels.choice` weighs, from the sizes,
  places and terms of the block itself, a probe more per term against fewer candidates and copies. Regions that are all
  alike get one grid. A term's gate tells at which levels it is worth a probe.
* **Entries of 20 bytes.** The box, clipped to the cell, is four numbers of 14 bits, tested by one subtraction.
* Queries of one term come last in their run and are scanned without a branch on what cannot be foretold.

Against ``gi2`` in the same runs (CPU time on a busy machine, 100,000 objects along the curve, 1-3 keywords per query,
with and without the 100 most frequent words): regions of 0.01 % of the space, 2.1 to 2.3 times as fast with 200,000
queries and 1.6 to 1.8 times with a million; sizes mixed from 0.0001 % to 1 %, 1.8 to 2.5 and 1.4 to 1.9 times, in a
fifth of the bytes. There it looks at up to three times as many candidates: ``gi2`` may copy a region 64 times.
Rejected: cells just larger than each region, on as many levels as that takes (five on the mixed sizes): fewest
copies, but 0.9 times as fast as ``gi2`` where frequent words are asked for, with three times its candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, frozen
from sightline.flat.records import FlatRecord
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing._kernels import Posted
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.entries import Checks, posted, sort_order, space_grid
from sightline.index.standing.levels import _kernels
from sightline.index.standing.levels._kernels import MAX_DEPTH, LevelArrays
from sightline.index.standing.levels.choice import choose_depths
from sightline.model.space import Space

__all__ = ["LevelsIndex"]

WORDS = 10.0  # terms of an object, for the choice of depths
CROWD_DEPTH = 8  # of the cells in which the choice knows how crowded a place is
SAMPLE = 1 << 15  # conjuncts that the choice looks at
FIRST_ROOM = 1 << 18  # pairs of the first output buffer


@dataclass(frozen=True, eq=False)
class LevelsIndex(FlatRecord):
    """Frozen index over a block."""

    arrays: LevelArrays
    checks: Checks

    @classmethod
    def build(cls, block: QueryBlock, space: Space, frequency: npt.ArrayLike | None = None) -> Self:
        """Index a block; ``frequency`` ranks its terms (default: number of conjuncts that have the term)."""
        grid = space_grid(_bounds(block.piece_box))
        table, verified = posted(block, grid, frequency)
        wildcard = len(block.dictionary)
        choice = choose_depths(_census(table, block.pos, wildcard))
        depths = frozen(choice.depths, np.int32)
        bases = frozen(np.concatenate([[0], np.cumsum(4 ** depths[:-1].astype(np.int64))]), np.int64)
        how = table, frozen(choice.level_of, np.int32), depths, bases, wildcard
        copies = _kernels.levels_spread(*how, np.empty(0, np.int64), np.empty((0, 5), np.int32))
        keys, raw = np.empty(copies, np.int64), np.empty((copies, 5), np.int32)
        _kernels.levels_spread(*how, keys, raw)
        order = frozen(sort_order(keys), np.int64)
        ordered = frozen(keys[order], np.int64)
        cells, slots = _kernels.levels_count(ordered, wildcard + 1)
        index = LevelArrays(
            grid,
            depths,
            np.zeros(wildcard + 1, np.uint16),
            np.full((cells + cells // 2 + 1, 2), -1, np.int64),
            np.full(slots, -1, np.int64),
            np.empty((copies, 5), np.int32),
        )
        _kernels.levels_fill(order, ordered, frozen(raw, np.int32), bases, index)
        return cls(index, Checks.of(block, space, verified))

    def match(self, objects: ObjectColumns) -> MatchPairs:
        """All pairs, each once; see :class:`~sightline.index.protocol.StandingIndex`."""
        return self.checks.match(_kernels.levels_match, self.arrays, objects, FIRST_ROOM)


def _census(table: Posted, keywords: I32, wildcard: int) -> F64:
    """What the choice of depths is made from; objects are taken to lie, and to speak, like the queries do."""
    weight = np.ones(wildcard + 1)  # every object has the wildcard
    weight[:wildcard] = np.minimum(1.0, np.bincount(keywords, minlength=wildcard) * (WORDS / max(1, keywords.size)))
    # Share of the pieces whose centres lie south-west of every corner of a coarse grid.
    x, y = (((table.box[:, k] >> 1) + (table.box[:, k + 2] >> 1)) >> (31 - CROWD_DEPTH) for k in (0, 1))
    crowd = np.bincount((y << CROWD_DEPTH) + x, minlength=4**CROWD_DEPTH).reshape(2**CROWD_DEPTH, -1)
    sums = np.zeros((2**CROWD_DEPTH + 1, 2**CROWD_DEPTH + 1))
    sums[1:, 1:] = crowd.cumsum(0).cumsum(1) / max(1, len(table.box))
    census = np.zeros((MAX_DEPTH + 1, MAX_DEPTH + 1, 3))
    step = 1 + table.conj_query.size // SAMPLE
    _kernels.levels_census(table, step, frozen(weight, np.float64), CROWD_DEPTH, frozen(sums, np.float64), census)
    return census * step


def _bounds(boxes: F64) -> tuple[float, float, float, float]:
    """The box of all pieces: levels are counted from it, so that a block of one city is cut as finely as the world."""
    if boxes.size == 0:
        return 0.0, 0.0, 0.0, 0.0
    return (float(boxes[:, 0].min()), float(boxes[:, 1].min()), float(boxes[:, 2].max()), float(boxes[:, 3].max()))
