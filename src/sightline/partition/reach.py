"""How far nearest queries reach: the circles in which they find their k among the objects of a history.

The search region of a kNN query is the circle around its place through its k-th result (SSTD 4.1.1, DkM-SKS 3.2: the
ball B(s)). Ours: the query is evaluated on all objects of the history whatever their time, because the history is a
sample of the recent past and a new subscription has seen none of it; the region counts as the box around the circle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64
from sightline.geo._kernels import BOX
from sightline.geo.bounds import table_pieces
from sightline.geo.region_table import RegionTable
from sightline.index.protocol import NO_BOUND, ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space
from sightline.partition.sample import ObjectSample

__all__ = ["nearest_pieces", "nearest_reach"]


def nearest_reach(block: QueryBlock, objects: ObjectColumns, space: Space) -> I64:
    """Distance in whole millimetres to the k-th nearest object that satisfies the keywords, :data:`NO_BOUND` where
    fewer do. Every query of the block must be a nearest one."""
    sample = ObjectSample.of(objects, space.is_geographic)
    reach, _ = sample.reach_mm(sample.words(block), np.arange(len(block)), block.at, block.k)
    return reach


def nearest_pieces(at: F64, reach_mm: npt.ArrayLike, space: Space) -> tuple[I32, F64]:
    """Boxes around the search circles: row of each, ascending, and west, south, east, north."""
    reach = np.asarray(reach_mm, np.int64)
    bounded = reach != NO_BOUND
    circles = RegionTable.from_circles(at[:, 0], at[:, 1], np.where(bounded, reach, 0))
    params = np.where(bounded[:, None], circles.params, space.bounds)
    return table_pieces(replace(circles, kind=np.where(bounded, circles.kind, np.uint8(BOX)), params=params), space)
