"""R-tree with inverted lists per leaf and a term-frequency table in every node: SSTD's index of objects.

SSTD leaves the structure to the literature; its section 6.1 adds term frequencies to every node for STQ, and 7.1
names an R-tree with inverted lists as what was measured. Our reading:

* Bulk loaded top down by sort-tile-recursive: the rows of a node are sorted by longitude, cut into slices, these by
  latitude into children. All nodes but the last of a level are full, so neither children nor rows are stored.
* A leaf has an inverted list per term. An inner node has a table: ascending terms, each with the objects below that
  have it and a mask of the children that do. So one lookup prunes up to 16 children by keyword, as in an IR-tree.
* SRQ: depth first through the nodes that meet box and time and, for some conjunct, have all of its positive terms.
  SKQ: best first by the least distance to a node's box, with the same masks. STQ: a node wholly inside region and time
  adds its table and is not entered; nodes on the boundary are.

Deviations: the tree is sealed with its segment and takes no insertions; sorted tables instead of hash tables, which are
mapped without parsing and take no empty slots; polygons are counted row by row.

Memory, of a million synthetic posts with 11 terms each: 147 bytes per object, of which rows and forward lists take 76,
the lists of the leaves 42 and all tables 29; `postings` has 130 over the same rows. Of 410,161 map notes: 154 and 138.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sightline.flat.arrays import F64, I32, I64, frozen
from sightline.index.objects import rtree_kernels as _kernels
from sightline.index.objects.blocks._kernels import BlockArrays, FrequencyTables
from sightline.index.objects.blocks.arrays import NO_TABLES, asked_of, build_blocks, open_blocks, open_tables
from sightline.index.objects.blocks.reader import BlockReader
from sightline.index.protocol import Conjunct, ObjectColumns

__all__ = ["RTreeIndex", "RTreeParams"]


@dataclass(frozen=True, slots=True)
class RTreeParams:
    """Sizes of nodes; SSTD gives none."""

    leaf: int = 128  # rows of a leaf, 1 to 256: a posting is one byte
    fanout: int = 16  # children of a node, 2 to 16: a mask has 16 bits

    def __post_init__(self) -> None:
        if not (1 <= self.leaf <= 256 and 2 <= self.fanout <= 16):
            raise ValueError(f"a leaf has 1 to 256 rows and a node 2 to 16 children: {self.leaf}, {self.fanout}")


class RTreeIndex(BlockReader):
    """Frozen R-tree over one segment."""

    @classmethod
    def build(
        cls, objects: ObjectColumns, bounds: tuple[float, float, float, float], params: RTreeParams | None = None
    ) -> tuple[I64, dict[str, Any]]:
        """Order the rows, cut them into leaves, merge tables upwards; ``bounds`` are not needed."""
        params = params or RTreeParams()
        n, terms = len(objects), len(objects.terms.dictionary)
        order = str_order(objects.lon, objects.lat, params)
        firsts = np.append(np.arange(0, n, params.leaf), n)
        levels = [0, firsts.size - 1]
        while (size := levels[-1] - levels[-2]) > 1:
            levels.append(levels[-1] + -(-size // params.fanout))
        blocks = build_blocks(objects, order, firsts, np.array(levels), params.fanout, np.uint8)
        tables = _tables(blocks, params.fanout, terms)
        return order, {**blocks._asdict(), **tables._asdict(), "shape": np.array([params.fanout, terms])}

    @classmethod
    def open(cls, arrays: Callable[[str], Any], rows: int) -> Self:
        """Reader over (mapped) arrays."""
        fanout, terms = (int(v) for v in arrays("shape"))
        return cls(open_blocks(arrays), open_tables(arrays), fanout, terms)

    def range(self, conjuncts: Sequence[Conjunct], pieces: F64, lo_us: int, hi_us: int) -> I64:
        """Rows inside any piece and the time that satisfy any conjunct, ascending and distinct."""
        rows, opened, looked = _kernels.range_rows(
            self._arrays, self._tables, self._fanout, asked_of(conjuncts), frozen(pieces, np.float64), lo_us, hi_us
        )
        self._tally(opened, looked)
        return rows if len(conjuncts) < 2 else np.sort(rows)


def str_order(lon: F64, lat: F64, params: RTreeParams) -> I64:
    """Order of the rows in which every node of every level is a run: sort-tile-recursive, from the root down."""
    n = lon.size
    order = np.arange(n, dtype=np.int64)
    sizes = [params.leaf]
    while sizes[-1] < n:
        sizes.append(sizes[-1] * params.fanout)
    for size, child in zip(sizes[:0:-1], sizes[-2::-1], strict=True):
        children = -(-min(size, n) // child)
        slice_rows = child * -(-children // round(children**0.5))
        for first in range(0, n, size):
            node = order[first : first + size]
            node[:] = node[np.argsort(lon[node], kind="stable")]
            for begin in range(0, node.size, slice_rows):
                tile = node[begin : begin + slice_rows]
                tile[:] = tile[np.argsort(lat[tile], kind="stable")]
    return order


def _tables(blocks: BlockArrays, fanout: int, terms: int) -> FrequencyTables:
    """Tables of all inner nodes, level by level; the first are merged from the lengths of the leaves' lists."""
    lengths = np.diff(blocks.list_ends, prepend=blocks.list_ends.dtype.type(0))
    begins = blocks.lists[:-1][np.diff(blocks.lists) > 0]
    lengths[begins] = blocks.list_ends[begins]
    below: tuple[I64, I32, I32] = (blocks.lists, blocks.list_terms, lengths)
    parts = []
    for _ in range(blocks.levels.size - 2):
        part = FrequencyTables(
            *_kernels.merge_tables(
                frozen(below[0], np.int64), frozen(below[1], np.int32), frozen(below[2], np.int32), fanout, terms
            )
        )
        parts.append(part)
        below = part[:3]
    if not parts:
        return NO_TABLES
    ends = np.cumsum([0, *(int(part.starts[-1]) for part in parts)])
    joined = np.concatenate([[0], *(part.starts[1:] + end for part, end in zip(parts, ends, strict=False))])
    return FrequencyTables(joined, *(np.concatenate(columns) for columns in list(zip(*parts, strict=True))[1:]))
