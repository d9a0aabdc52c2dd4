"""Top terms of sliding windows: the pane that enters is added, the one that leaves subtracted.

One *series* is all windows of one query that are due. Its first k terms are chosen among the few that lead; how
that stays exact is in the kernel ``first_terms``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I32, I64, frozen
from sightline.index.standing.panes._kernels import FAILED, NOBODY, WINDOW, Runs, Slide, slide_windows
from sightline.index.standing.panes.counts import PaneCounts

__all__ = ["Series", "WindowTerms", "top_terms"]

FIRST_ROOM = 1 << 14


@dataclass(frozen=True, slots=True)
class Series:
    """Windows ``first`` to ``last`` of a query over some slots of the counts, in any order."""

    slots: npt.NDArray[np.int64]
    window: int
    every: int
    first: int
    last: int
    k: int


class WindowTerms(NamedTuple):
    """Rows of all series: number of the series, window, rank from 1, term of the counts' dictionary, objects."""

    series: I64
    window: I64
    rank: I32
    term: I32
    objects: I64


def top_terms(counts: PaneCounts, tail: I64, series: Iterable[Series]) -> tuple[WindowTerms, list[int]]:
    """Reports of the series, a window without objects has none; and the series that need the rows left out.

    ``tail[slot]`` bounds the count of any term that is left out of a slot; 0 where none is.
    """
    terms = len(counts.dictionary)
    # Between calls sums, flags and the list of leading terms are empty again.
    total, leads = np.zeros(terms, np.int64), np.zeros(terms, np.uint8)
    active, place, leading, heap = (np.empty(terms, np.int32) for _ in range(4))
    rows = frozen(counts.term, np.int32), frozen(counts.count, np.int64)
    names = frozen(counts.dictionary.offsets, np.int64), frozen(counts.dictionary.data, np.uint8)
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    failed: list[int] = []
    for number, one in enumerate(series):
        slots = one.slots[np.argsort(counts.pane[one.slots], kind="stable")]
        if slots.size == 0:
            continue
        pane = counts.pane[slots]
        runs = Runs(
            frozen(pane, np.int64),
            frozen(counts.offsets[:-1][slots], np.int64),
            frozen(counts.offsets[1:][slots], np.int64),
            frozen(tail[slots], np.int64),
            *rows,
            *names,
        )
        at = np.array([max(one.first, int(pane[0]) >> 1), 0, 0, 0, 0, NOBODY, 0, 0, 0], np.int64)
        slide = Slide(at, total, active, place, leading, leads, heap)
        room = max(FIRST_ROOM, min(one.k, terms))
        whole, rest = divmod(one.window, one.every)
        before = len(parts)
        while at[WINDOW] <= one.last:
            out = (
                np.empty(room, np.int64),
                np.empty(room, np.int32),
                np.empty(room, np.int32),
                np.empty(room, np.int64),
            )
            n = slide_windows(runs, slide, whole, int(rest > 0), one.last, one.k, *out)
            parts.append((np.full(n, number), *(column[:n].copy() for column in out)))
            room *= 2
        if at[FAILED]:
            failed.append(number)
            del parts[before:]
    if not parts:
        none = np.empty(0, np.int64)
        return WindowTerms(none, none, none.astype(np.int32), none.astype(np.int32), none), failed
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return WindowTerms(*columns), failed
