"""How far nearest queries look: their k-th distance among the objects of a history.

The search region of a kNN query is the circle around its place through its k-th result (SSTD 4.1.1). Ours: the
query is evaluated on all objects of the history whatever their time, because the history is a sample of the recent
past and a new subscription has seen none of it; the region counts as the box around the circle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.geo._kernels import BOX
from sightline.geo.bounds import table_pieces
from sightline.geo.distance import EARTH_RADIUS_M
from sightline.geo.region_table import RegionTable
from sightline.index.arrays import F64, I32, I64, frozen, frozen_fields, offsets_of
from sightline.index.protocol import NO_BOUND, ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space
from sightline.partition.statistics._kernels import Corpus, Wanted, invert, kth_squares

__all__ = ["nearest_pieces", "nearest_reach"]


def nearest_reach(block: QueryBlock, objects: ObjectColumns, space: Space) -> I64:
    """Distance in whole millimetres to the k-th nearest object that satisfies the keywords, :data:`NO_BOUND` where
    fewer do. Every query of the block must be a nearest one."""
    terms = objects.terms
    offsets, ids = frozen(terms.offsets, np.int64), frozen(terms.ids, np.int32)
    starts, rows = invert(offsets, ids, len(terms.dictionary))
    points = _points(objects.lon, objects.lat, space)
    corpus = frozen_fields(
        Corpus, (np.float64, np.int64, np.int32, np.int64, np.int32), (points, offsets, ids, starts, rows)
    )
    number = terms.dictionary.lookup(block.dictionary)
    wanted = frozen_fields(
        Wanted, (np.float64, np.int64, np.int64, np.int64, np.int32, np.int64, np.int32),
        (_points(block.at[:, 0], block.at[:, 1], space), block.k, offsets_of(block.conj_query, len(block)),
         block.pos_offsets, number[block.pos], block.neg_offsets, number[block.neg]),
    )  # fmt: skip
    chord = np.sqrt(kth_squares(corpus, wanted))
    found = np.isfinite(chord)
    if space.is_geographic:
        metres = 2.0 * EARTH_RADIUS_M * np.arcsin(np.minimum(chord / 2.0, 1.0))
    else:
        metres = chord
    out = np.full(len(block), NO_BOUND, np.int64)
    out[found] = np.ceil(1000.0 * metres[found]).astype(np.int64)
    return out


def nearest_pieces(at: F64, reach_mm: npt.ArrayLike, space: Space) -> tuple[I32, F64]:
    """Boxes around the search circles: row of each, ascending, and west, south, east, north."""
    reach = np.asarray(reach_mm, np.int64)
    bounded = reach != NO_BOUND
    table = RegionTable.from_circles(at[:, 0], at[:, 1], np.where(bounded, reach, 0))
    table.kind[~bounded] = BOX
    table.params[~bounded] = space.bounds
    return table_pieces(table, space)


def _points(lon: F64, lat: F64, space: Space) -> F64:
    """Places as vectors whose straight distance orders them as their distance does."""
    if not space.is_geographic:
        return np.column_stack([lon, lat, np.zeros(len(lon))])
    x, y = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
