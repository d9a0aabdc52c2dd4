"""What every standing index does with a batch of objects before, around and after its kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sightline.flat.arrays import I32, frozen
from sightline.geo.contains import inside_pairs
from sightline.geo.region_table import RegionTable
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing._kernels import ObjectBatch
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary

__all__ = ["collect_pairs", "exact_regions", "object_batch"]

#: A kernel from an object row on, with the pairs already in the two columns: (row to resume at, pairs, entries).
Run = Callable[[int, int, I32, I32], tuple[int, int, int]]


def object_batch(objects: ObjectColumns, dictionary: TermDictionary) -> ObjectBatch:
    """The objects as kernels take them; terms are compared with the index's once per distinct term."""
    return ObjectBatch(
        frozen(objects.lon, np.float64),
        frozen(objects.lat, np.float64),
        objects.terms.offsets,
        objects.terms.ids,
        frozen(dictionary.lookup(objects.terms.dictionary), np.int32),
    )


def collect_pairs(run: Run, rows: int, room: int) -> MatchPairs:
    """Run a kernel over all rows with buffers that grow to what the rows so far foretell, 2 to 16 times.

    Most batches copy their pairs once, from the first small buffer; memory that was foretold and not touched is
    never made real.
    """
    first, n, looked = 0, 0, 0
    out = np.empty(room, np.int32), np.empty(room, np.int32)
    while first < rows:
        first, n, entries = run(first, n, *out)
        looked += entries
        if first < rows:
            room = min(max(2 * room, int(1.25 * n * (rows / max(first, 1)))), 16 * room)
            grown = np.empty(room, np.int32), np.empty(room, np.int32)
            for old, new in zip(out, grown, strict=True):
                new[:n] = old[:n]
            out = grown
    return MatchPairs(out[0][:n], out[1][:n], looked)


def exact_regions(
    regions: RegionTable, space: Space, objects: ObjectColumns, rows: I32, queries: I32, table_rows: I32 | None = None
) -> tuple[I32, I32]:
    """The pairs inside circles and polygons, of which a kernel knows the boxes only; boxes are exact already.

    ``table_rows`` gives the row in ``regions`` of every query, -1 for boxes that it leaves out; default: the same row.
    """
    which = queries if table_rows is None else table_rows[queries]
    shaped = which >= 0
    shaped[shaped] = regions.kind[which[shaped]] != 0
    doubtful = np.flatnonzero(shaped)
    keep = np.ones(rows.size, np.bool_)
    keep[doubtful] = inside_pairs(
        regions, space, which[doubtful], objects.lon[rows[doubtful]], objects.lat[rows[doubtful]]
    )
    return rows[keep], queries[keep]
