"""Grid and inverted file over the kNN balls of nearest queries (DkM-SKS section 4.3; SSTD section 6), the default.

The ball of a query has its place as centre and the distance of its k-th nearest object as radius; only an object
inside can change the answer. Each conjunct is posted under its rarest term, and the entries of a term follow the
curve. Runs of 16, 256 and 4,096 entries have the box of their balls, so an object skips all queries whose ball it
cannot be in. Balls and boxes are in three dimensions: no poles, no antimeridian, no trigonometry per candidate. The
exact rounded distance decides at the end. Boxes of balls beat what is simpler to keep: with 200,000 queries an object
read 14 runs of 16, 21 with the box of the places and the largest reach, 34 with a sphere and the largest reach.

Deviations. The papers cut space into cells, hold a query in every cell its ball overlaps, and move it as the ball
shrinks; here each entry stands once, and a box that has become too large (radii only shrink) is made anew when what
is below it is read. A query with fewer than k objects has an unbounded ball, which would stand in every cell of a
grid; here it makes the boxes above it unbounded until it is filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from sightline.flat.arrays import I64
from sightline.geo.curve import curve_keys
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.balls import _kernels
from sightline.index.standing.balls._kernels import FAN, LEVELS, BallNodes
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.inverted import InvertedIndex, NearestKernel, Reach, inverted_file
from sightline.model.space import Space

__all__ = ["BallsIndex"]


@dataclass(frozen=True, eq=False)
class BallsIndex(InvertedIndex):
    """Frozen inverted file along the curve, with boxes over its runs."""

    tree: BallNodes

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """Index a block."""
        parts = inverted_file(block, curve_keys(block.at[:, 0], block.at[:, 1], space.bounds))
        return cls(*parts, space, _nodes_over(parts[0].starts))

    def _kernel(self, reach: Reach) -> NearestKernel:
        return partial(_kernels.balls_match, self.tree, reach.node)

    def _order(self, objects: ObjectColumns) -> I64:
        """Along the curve, so that neighbours meet the same balls while these are in cache; but coarse to fine.

        A single sweep would approach each unfilled ball from afar, every object a little nearer than the one before,
        and shrink it thousands of times. So every 4^j-th object goes first, from the largest j down.
        """
        keys = curve_keys(objects.lon, objects.lat, self.space.bounds)
        along = np.arange(len(keys)) if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")
        return along[_coarse_to_fine(len(keys))]

    def _nodes(self) -> int:
        return int(self.tree.first[-1, -1])

    def _raise_nodes(self, reach: Reach) -> None:
        _kernels.box_all(self.arrays.starts, self.tree, reach.reaches.ball, reach.node)


def _coarse_to_fine(n: int) -> I64:
    """Places 0..n-1: the multiples of the largest power of 4, then of the next that are not yet there, and so on."""
    passes, step = [], 1
    while step < n:
        places = np.arange(0, n, step)
        passes.append(places[places % (4 * step) != 0])
        step *= 4
    passes.append(np.zeros(min(n, 1), np.int64))
    return np.concatenate(passes[::-1])


def _nodes_over(starts: I64) -> BallNodes:
    """Nodes of the lists of more than FAN entries; shorter ones are read as they are."""
    sizes = np.diff(starts)
    long = np.flatnonzero(sizes > FAN)
    tree = np.full(len(sizes), -1, np.int32)
    tree[long] = np.arange(len(long))
    first = np.zeros((len(long) + 1, LEVELS), np.int64)
    base = 0
    for level in range(LEVELS):
        counts = -(-sizes[long] // FAN ** (level + 1))
        first[1:, level] = np.cumsum(counts)
        first[:, level] += base
        base = int(first[-1, level])
    return BallNodes(tree, first)
