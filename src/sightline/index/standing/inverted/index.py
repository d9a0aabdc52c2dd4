"""Inverted file over nearest queries (SSTD section 6, DkM-SKS section 5: grid and inverted file over kNN balls).

Each conjunct is posted once, under its rarest term, with the query's place inline. A term's entries follow the curve;
runs of 16 and of 256 have a box, and per batch the largest radius among them, so an object skips all queries whose
ball it cannot reach. Boxes and limits are straight-line in three dimensions (unit sphere, or the plane with z = 0):
no poles, no antimeridian, no trigonometry per candidate. The exact rounded distance decides at the end.

Deviation: the papers keep balls in grid cells and move them as radii shrink; here radii are an argument, places never
move, and a query whose radius is still unbounded needs no overflow list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sightline.geo.curve import curve_keys
from sightline.geo.distance import EARTH_RADIUS_M
from sightline.index.arrays import F64, I32, I64, frozen, frozen_fields, offsets_of
from sightline.index.protocol import NearestPairs, ObjectColumns
from sightline.index.standing._kernels import CONJUNCT_TYPES, Conjuncts, key_terms
from sightline.index.standing.batches import object_batch
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.inverted import _kernels
from sightline.index.standing.inverted._kernels import FAN, InvertedArrays
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary

__all__ = ["InvertedIndex"]

FIRST_ROOM = 1 << 18


class InvertedIndex:
    """Frozen inverted file over the nearest queries of a block (rows are those of the block)."""

    def __init__(self, arrays: InvertedArrays, lists: Conjuncts, dictionary: TermDictionary, space: Space) -> None:
        self._arrays, self._lists, self._dictionary, self._space = arrays, lists, dictionary, space

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Self:
        """Index a block."""
        terms = len(block.dictionary)
        rank = frozen(np.bincount(block.pos, minlength=terms), np.int64)
        table = key_terms(block.conjuncts, rank, terms)
        at = block.at[block.conj_query]
        order = np.lexsort((curve_keys(at[:, 0], at[:, 1], space.bounds), table[:, 0]))
        starts = offsets_of(table[order, 0], terms + 1)
        sizes = np.diff(starts)
        blocks, groups = _unit_offsets(sizes, FAN), _unit_offsets(sizes, FAN * FAN)
        points = _points(at[order, 0], at[order, 1], space)
        conj = order.astype(np.int32)
        query = block.conj_query[order]
        shared = np.bincount(block.conj_query, minlength=len(block))[query] > 1
        entries = np.column_stack([
            table[order, 1], table[order, 2], np.where(table[order, 3] != 0, -conj - 1, conj),
            np.where(shared, -query - 1, query),
        ])
        boxes = np.empty((int(blocks[-1]), 6)), np.empty((int(groups[-1]), 6))
        for units, span, box in ((blocks, FAN, boxes[0]), (groups, FAN * FAN, boxes[1])):
            _kernels.inverted_boxes(frozen(starts, np.int64), frozen(units, np.int64), frozen(points, np.float64),
                                    span, box)
        arrays = InvertedArrays(starts, blocks, groups, *boxes, points, entries, block.at)
        return cls(_frozen_arrays(arrays), block.conjuncts, block.dictionary, space)

    def candidates(self, objects: ObjectColumns, radius_mm: I64) -> NearestPairs:
        """All pairs within the radius of their query, each once."""
        index = self._arrays
        radius = frozen(radius_mm, np.int64)
        if radius.shape != (index.at.shape[0],):
            raise ValueError(f"{index.at.shape[0]} queries need as many radii, got shape {radius.shape}")
        batch = object_batch(objects, self._dictionary)
        limit = frozen(_limits(radius, self._space), np.float64)
        block_limit, group_limit = np.empty(index.block_box.shape[0]), np.empty(index.group_box.shape[0])
        _kernels.inverted_limits(index, limit, block_limit, group_limit)
        limits = limit, frozen(block_limit, np.float64), frozen(group_limit, np.float64)
        points = frozen(_points(objects.lon, objects.lat, self._space), np.float64)
        present = np.zeros(index.starts.size - 1, np.uint8)
        present[-1] = 1
        stamp = np.full(radius.size, -1, np.int32)
        found: list[tuple[I32, I32, I64]] = []
        first, looked, room = 0, 0, FIRST_ROOM
        while first < len(objects):
            out = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
            stopped, n, entries = _kernels.inverted_match(
                index, self._lists, batch, points, first, limits, radius, not self._space.is_geographic, present,
                stamp, *out)
            found.append((out[0][:n], out[1][:n], out[2][:n]))
            looked += entries
            first, room = stopped, room * 2
        if not found:
            return NearestPairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), looked)
        return NearestPairs(np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found]),
                            np.concatenate([f[2] for f in found]), looked)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Flat arrays of the index, with what it verifies against."""
        return {**self._arrays._asdict(), **self._lists._asdict(), **self._dictionary.to_arrays("term_")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], space: Space) -> Self:
        """Index over (mapped) arrays."""
        index = _frozen_arrays(InvertedArrays(*(arrays[name] for name in InvertedArrays._fields)))
        lists = frozen_fields(Conjuncts, CONJUNCT_TYPES, (arrays[name] for name in Conjuncts._fields))
        return cls(index, lists, TermDictionary.from_arrays(arrays, "term_"), space)


def _unit_offsets(sizes: I64, span: int) -> I64:
    """First unit of each list when lists are cut into units of ``span``."""
    out = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(-(-sizes // span), out=out[1:])
    return out


def _points(lon: F64, lat: F64, space: Space) -> F64:
    """Places in which straight-line distance orders as the space's distance does."""
    if not space.is_geographic:
        return np.column_stack([lon, lat, np.zeros(len(lon))])
    x, y = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])


def _limits(radius_mm: I64, space: Space) -> F64:
    """Squared straight-line reach of each radius, a little too large: a filter may keep too much, never too little.

    One millimetre covers the rounding of the distance; 1e-12 on the unit sphere, squared 6 m, that of the coordinates.
    """
    reach = (radius_mm.astype(np.float64) + 1.0) / 1000.0
    if not space.is_geographic:
        return (reach * (1.0 + 1e-9) + 1e-6 * max(1e-6, float(np.abs(space.bounds).max()))) ** 2
    chord = 2.0 * np.sin(np.minimum(reach / EARTH_RADIUS_M, np.pi) / 2.0)
    return chord * chord * (1.0 + 1e-9) + 1e-12


def _frozen_arrays(index: InvertedArrays) -> InvertedArrays:
    dtypes = (np.int64, np.int64, np.int64, np.float64, np.float64, np.float64, np.int32, np.float64)
    return frozen_fields(InvertedArrays, dtypes, index)
