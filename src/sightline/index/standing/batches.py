"""What every standing index does with a batch of objects before and after its kernel."""

from __future__ import annotations

import numpy as np

from sightline.geo.contains import inside_pairs
from sightline.geo.region_table import RegionTable
from sightline.index.arrays import I32, frozen
from sightline.index.protocol import ObjectColumns
from sightline.index.standing._kernels import Batch
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary

__all__ = ["exact_regions", "object_batch"]


def object_batch(objects: ObjectColumns, dictionary: TermDictionary) -> Batch:
    """The objects as kernels take them; terms are compared with the index's once per distinct term."""
    return Batch(
        frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), frozen(objects.terms.offsets, np.int64),
        frozen(objects.terms.ids, np.int32), frozen(dictionary.lookup(objects.terms.dictionary), np.int32),
    )


def exact_regions(regions: RegionTable, space: Space, objects: ObjectColumns, rows: I32,
                  queries: I32) -> tuple[I32, I32]:
    """The pairs inside circles and polygons, of which a kernel knows the boxes only; boxes are exact already."""
    doubtful = np.flatnonzero(regions.kind[queries] != 0)
    keep = np.ones(rows.size, np.bool_)
    keep[doubtful] = inside_pairs(regions, space, queries[doubtful], objects.lon[rows[doubtful]],
                                  objects.lat[rows[doubtful]])
    return rows[keep], queries[keep]
