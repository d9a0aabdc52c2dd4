"""Panes of continuous top-terms queries: count once, report many overlapping windows.

A query reports the windows ``(t_i - T, t_i]`` with ``t_i = anchor + i * every``. Cutting time at every t_i and at every
t_i - T gives *paired panes*: one pane per period when T is a multiple of ``every``, else two, and every window is a run
of whole panes. Period p is ``(t_{p-1}, t_p]``; its panes are ``2 p`` (up to the cut) and ``2 p + 1`` (after it, always
there). SSTD keeps one hash table per group of windows; panes are our reading of sharing what windows have in common.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.index._kernels import count_groups
from sightline.index.arrays import I32, I64, frozen
from sightline.index.protocol import ObjectColumns

__all__ = [
    "NO_PANE", "PaneCounts", "last_window", "pane_counts", "pane_end", "pane_of", "panes_of_window", "windows_of_pane",
]

#: Pane of an instant that lies in no window (gaps between windows when T < every).
NO_PANE = -(2**63)

FIRST_ROOM = 1 << 16


class PaneCounts(NamedTuple):
    """Objects per (query row, pane, term id of the batch), ordered by query and pane."""

    query: I32
    pane: I64
    term: I32
    objects: I64


def pane_of(ts: npt.ArrayLike, anchor: npt.ArrayLike, window: npt.ArrayLike, every: npt.ArrayLike) -> I64:
    """Pane of each instant (all arguments broadcast, microseconds); :data:`NO_PANE` where no window has it."""
    x = np.asarray(ts, np.int64) - np.asarray(anchor, np.int64)
    length, step = np.asarray(window, np.int64), np.asarray(every, np.int64)
    period = -((-x) // step)  # ceil: t_p itself belongs to period p
    into = x - (period - 1) * step  # in (0, step]
    late = into > (-length) % step
    pane: I64 = np.where(~late & (length < step), NO_PANE, 2 * period + late)
    return pane


def pane_end(pane: int, anchor: int, window: int, every: int) -> int:
    """Last instant of a pane, microseconds."""
    return anchor + (pane >> 1) * every - (0 if pane & 1 else every - (-window) % every)


def panes_of_window(i: int, window: int, every: int) -> range:
    """Panes that make up window i, ascending."""
    whole, rest = divmod(window, every)
    if rest == 0:
        return range(2 * (i - whole) + 3, 2 * i + 2, 2)
    return range(2 * (i - whole) + 1, 2 * i + 2)


def windows_of_pane(pane: int, window: int, every: int) -> range:
    """Windows that contain a pane; reports exist for i >= 1 only, which is the caller's cut."""
    whole, rest = divmod(window, every)
    period = pane >> 1
    if rest == 0 and not pane & 1:
        return range(0)
    return range(period, period + whole + (1 if rest and pane & 1 else 0))


def last_window(pane: npt.ArrayLike, window: npt.ArrayLike, every: npt.ArrayLike) -> I64:
    """Last window that contains each pane (all arguments broadcast); the panes are ones :func:`pane_of` gives."""
    panes, length, step = np.asarray(pane, np.int64), np.asarray(window, np.int64), np.asarray(every, np.int64)
    last: I64 = (panes >> 1) + length // step - 1 + ((length % step != 0) & (panes & 1 == 1))
    return last


def pane_counts(objects: ObjectColumns, object_rows: npt.NDArray[Any], query_rows: npt.NDArray[Any],
                panes: npt.NDArray[Any]) -> PaneCounts:
    """Aggregate pairs (object, query) that fall into ``panes``; a term counts once per object, NO_PANE pairs not."""
    used = np.flatnonzero(np.asarray(panes) != NO_PANE)
    rows, queries, pane = object_rows[used], query_rows[used], np.asarray(panes, np.int64)[used]
    order = np.lexsort((pane, queries))
    rows, queries, pane = rows[order], queries[order], pane[order]
    fresh = np.ones(rows.size, np.bool_)
    fresh[1:] = (np.diff(queries) != 0) | (np.diff(pane) != 0)
    first = np.flatnonzero(fresh)
    starts = frozen(np.append(first, rows.size), np.int64)
    offsets, ids = frozen(objects.terms.offsets, np.int64), frozen(objects.terms.ids, np.int32)
    members, counter = frozen(rows, np.int32), np.zeros(len(objects.terms.dictionary), np.int64)
    parts: list[tuple[I32, I32, I64]] = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))]
    group, room = 0, FIRST_ROOM
    while group < first.size:
        out = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
        group, n = count_groups(starts, members, offsets, ids, group, counter, *out)
        parts.append((out[0][:n], out[1][:n], out[2][:n]))
        room *= 2
    groups = first[np.concatenate([p[0] for p in parts])]
    return PaneCounts(queries[groups].astype(np.int32), pane[groups], np.concatenate([p[1] for p in parts]),
                      np.concatenate([p[2] for p in parts]))
