"""Few rows of many slots that are enough for most reports.

A window of an hour is the sum of hundreds of slots with a long tail of terms that cannot be among its first k. The
rows of a slot are stored with its largest counts in front and a bound on the others. The terms that lead somewhere are
counted exactly everywhere; a term that leads nowhere has at most the sum of the bounds (the stopping rule of Fagin's
threshold algorithm), and a report whose k-th count is above that needs nothing else. Strings of the tail are not
even looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sightline.flat.arrays import I64, frozen
from sightline.index.standing.panes._kernels import lead_slots, pick_rows
from sightline.index.standing.panes.counts import PaneCounts
from sightline.text.dictionary import TermDictionary

__all__ = ["LEADERS", "leaders_first", "leading_counts"]

LEADERS = 128  # rows in front of a slot; reports of more terms than this read everything


def leaders_first(counts: PaneCounts) -> tuple[PaneCounts, I64]:
    """The counts with the leading rows of each slot in front, and the largest count after those, 0 where all lead."""
    term, count = counts.term.copy(), counts.count.copy()
    tail = np.empty(counts.table.size, np.int64)
    lead_slots(frozen(counts.offsets, np.int64), LEADERS, term, count, tail)
    return replace(counts, term=term, count=count), tail


def leading_counts(parts: Sequence[tuple[PaneCounts, I64]]) -> PaneCounts:
    """The given slots of each part, one after the other, with the rows of the terms that lead in any of them."""
    led = [counts.dictionary.take(_leading_terms(counts, slots)) for counts, slots in parts]
    dictionary = TermDictionary.merge(led)[0]
    table, pane, term, count = [], [], [], []
    offsets = [np.zeros(1, np.int64)]
    rows = 0
    for counts, slots in parts:
        wanted = np.full(len(counts.dictionary), -1, np.int32)
        known = counts.dictionary.lookup(dictionary)
        found = np.flatnonzero(known >= 0)
        wanted[known[found]] = found
        room = int(np.diff(counts.offsets)[slots].sum())
        ends, out = np.empty(slots.size, np.int64), (np.empty(room, np.int32), np.empty(room, np.int64))
        n = pick_rows(
            frozen(slots, np.int64),
            frozen(counts.offsets, np.int64),
            frozen(counts.term, np.int32),
            frozen(counts.count, np.int64),
            frozen(wanted, np.int32),
            ends,
            *out,
        )
        table.append(counts.table[slots])
        pane.append(counts.pane[slots])
        offsets.append(ends + rows)
        term.append(out[0][:n])
        count.append(out[1][:n])
        rows += n
    return PaneCounts(
        np.concatenate(table),
        np.concatenate(pane),
        np.concatenate(offsets),
        np.concatenate(term),
        np.concatenate(count),
        dictionary,
    )


def _leading_terms(counts: PaneCounts, slots: I64) -> I64:
    """Terms in front of the slots."""
    low = counts.offsets[:-1][slots]
    sizes = np.minimum(np.diff(counts.offsets)[slots], LEADERS)
    ends = np.cumsum(sizes)
    rows = np.arange(ends[-1] if slots.size else 0) + np.repeat(low - ends + sizes, sizes)
    used = np.zeros(len(counts.dictionary), np.bool_)
    used[counts.term[rows]] = True
    return np.flatnonzero(used)
