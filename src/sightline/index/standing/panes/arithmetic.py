"""Panes of continuous top-terms queries: count once, report many overlapping windows.

A query reports the windows ``(t_i - T, t_i]`` with ``t_i = anchor + i * every``. Cutting time at every t_i and at every
t_i - T gives *paired panes*: one pane per period when T is a multiple of ``every``, else two, and every window is a run
of whole panes. Period p is ``(t_{p-1}, t_p]``; its panes are ``2 p`` (up to the cut) and ``2 p + 1`` (after it, always
there). SSTD keeps one hash table per group of windows; panes are our reading of sharing what windows have in common.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I64

__all__ = [
    "NO_PANE",
    "last_window",
    "pane_end",
    "pane_of",
    "panes_of_window",
    "windows_of_pane",
]

#: Pane of an instant that lies in no window (gaps between windows when T < every).
NO_PANE = -(2**63)


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
