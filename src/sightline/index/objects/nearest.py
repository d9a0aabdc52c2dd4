"""Order of nearest answers inside a segment."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import I64

__all__ = ["kth_distance", "nearest_first"]


def kth_distance(distance_mm: I64, k: int) -> int:
    """The k-th smallest of at least k distances."""
    return int(np.partition(distance_mm, k - 1)[k - 1])


def nearest_first(rows: I64, distance_mm: I64, k: int) -> tuple[I64, I64]:
    """The k nearest rows and every tie at the k-th distance, by distance, then row."""
    if rows.size > k:
        keep = distance_mm <= kth_distance(distance_mm, k)
        rows, distance_mm = rows[keep], distance_mm[keep]
    order = np.lexsort((rows, distance_mm))
    return rows[order], distance_mm[order]
