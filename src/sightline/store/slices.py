"""Cutting a batch by time, so that old data lies apart from new and merging stays within a slice.

A slice is ``[n * slice_us, (n + 1) * slice_us)``. Slices with few rows share a segment with their neighbours:
a batch that spans years would otherwise make thousands of files.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class SliceRows(NamedTuple):
    """Rows of the slices ``lo <= n < hi``; `rows` index the input, ascending."""

    lo: int
    hi: int
    rows: Int64s


def slice_of(ts_us: Int64s, slice_us: int) -> Int64s:
    """Slice number of each instant (floor, also before 1970)."""
    return np.floor_divide(ts_us, np.int64(slice_us))


def cut(ts_us: Int64s, slice_us: int, min_rows: int) -> list[SliceRows]:
    """Cut rows into groups of neighbouring slices, in time order; every row is in exactly one group.

    A slice with at least `min_rows` rows is a group of its own; runs of smaller ones are joined until they
    have as many. So there are at most ``2 * len(ts_us) / min_rows + 1`` groups. ``lo`` and ``hi`` are the
    slices that have rows, not the gaps around them.
    """
    if slice_us <= 0 or min_rows < 1:
        raise ValueError(f"slice_us {slice_us} and min_rows {min_rows} must be positive")
    if len(ts_us) == 0:
        return []
    numbers = slice_of(np.asarray(ts_us, np.int64), slice_us)
    order = np.argsort(numbers, kind="stable")
    distinct, starts = np.unique(numbers[order], return_index=True)
    counts = np.diff(np.append(starts, len(order)))
    groups: list[list[int]] = []  # first and last index into distinct, rows so far
    for at, count in enumerate(counts.tolist()):
        if groups and groups[-1][2] < min_rows and count < min_rows:
            groups[-1][1] = at
            groups[-1][2] += count
        else:
            groups.append([at, at, count])
    ends = np.append(starts, len(order))
    return [
        SliceRows(int(distinct[first]), int(distinct[last]) + 1, np.sort(order[ends[first] : ends[last + 1]]))
        for first, last, _ in groups
    ]


def stack_of(owner: str | int, lo: int, hi: int) -> str:
    """Merge stack of a group: the smallest aligned power-of-two run of slices that covers it.

    Aligned runs recur from batch to batch, so that wide groups meet each other in a few stacks.
    """
    if lo >= hi:
        raise ValueError(f"slices [{lo}, {hi}) are empty")
    size = 0
    while lo >> size != (hi - 1) >> size:
        size += 1
        if size > 63:  # the run crosses slice 0, which no aligned run does
            return f"{owner}/all"
    return f"{owner}/{lo >> size}+{size}" if size else f"{owner}/{lo}"
