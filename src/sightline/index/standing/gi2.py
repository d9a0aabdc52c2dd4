"""GI2: a grid of inverted lists over queries (PS2Stream section 6), flat and with inlined entries.

Each conjunct is posted under its rarest term in every cell its boxes meet; an object reads the lists of its own cell
and terms, and of the root cell that holds the queries too large to be copied around. This is the baseline that other
indexes of range queries are measured against, so it has what makes any of them fast: entries of 32 bytes carry the
quantised box and the two next-rarest terms (:mod:`~sightline.index.standing.entries`).

Deviations from the paper: one hash over (cell, term) instead of a hash per cell; large regions at a root; immutable.
Deletion is lazy as in the paper: a dropped query stays in its lists and is skipped, here by the byte per query that
``match`` takes, until the next rebuild leaves it out. Rows are never reused, so no version is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, frozen
from sightline.flat.records import FlatRecord
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing import gi2_kernels as _kernels
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.entries import Checks, posted, sort_order, space_grid
from sightline.index.standing.gi2_kernels import SIDE, Gi2Arrays
from sightline.model.space import Space

__all__ = ["Gi2Index"]

MAX_CELLS = 64  # a query that meets more cells stands at the root
LOAD = 0.7  # filled share of the slots
FIRST_ROOM = 1 << 18  # pairs of the first output buffer


@dataclass(frozen=True, eq=False)
class Gi2Index(FlatRecord):
    """Frozen GI2 over a block."""

    arrays: Gi2Arrays
    checks: Checks

    @classmethod
    def build(cls, block: QueryBlock, space: Space, frequency: npt.ArrayLike | None = None) -> Self:
        """Index a block; ``frequency`` ranks its terms (default: number of conjuncts that have the term)."""
        grid = space_grid(space.bounds)
        table, verified = posted(block, grid, frequency)
        stride, cells = len(block.dictionary) + 1, frozen(_cells(table.box), np.float64)
        nothing = np.empty(0, np.int64), np.empty((0, 2), np.int32)
        copies = _kernels.gi2_spread(table, cells, MAX_CELLS, stride, *nothing)
        keys, source = np.empty(copies, np.int64), np.empty((copies, 2), np.int32)
        _kernels.gi2_spread(table, cells, MAX_CELLS, stride, keys, source)
        order = sort_order(keys)
        runs = int(np.count_nonzero(np.diff(keys[order]))) + 1
        index = Gi2Arrays(
            grid,
            cells,
            np.zeros(stride, np.uint8),
            np.full(int(runs / LOAD) + 1, -1, np.int64),
            np.empty((copies, 8), np.int32),
        )
        _kernels.gi2_fill(
            frozen(order, np.int64), frozen(keys, np.int64), frozen(source, np.int32), table, stride, index
        )
        return cls(index, Checks.of(block, space, verified))

    def match(self, objects: ObjectColumns) -> MatchPairs:
        """All pairs, each once; see :class:`~sightline.index.protocol.StandingIndex`."""
        return self.checks.match(_kernels.gi2_match, self.arrays, objects, FIRST_ROOM)


def _cells(boxes: I32) -> F64:
    """Origin and scale of the grid: the box of the pieces' centres, so that cells are where the queries are."""
    if boxes.size == 0:
        return np.zeros(4)
    x, y = boxes[:, 0] / 2 + boxes[:, 2] / 2, boxes[:, 1] / 2 + boxes[:, 3] / 2
    width, height = float(np.ptp(x)), float(np.ptp(y))
    return np.array([x.min(), y.min(), SIDE / width if width else 0.0, SIDE / height if height else 0.0])
