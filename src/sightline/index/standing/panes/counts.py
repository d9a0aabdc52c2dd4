"""Term counts of tables by pane, flat: what is counted, sent, stored and added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I32, I64, frozen
from sightline.index.standing.panes._kernels import count_runs, flag_terms, sum_runs
from sightline.text.dictionary import TermDictionary

__all__ = ["PaneCounts", "concat_counts", "count_slots", "sum_counts"]

FIRST_ROOM = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class PaneCounts:
    """Slots, each a pane of a table with its rows (term, objects). Whose table that is, the owner of the counts knows.

    Parameters
    ----------
    table, pane : int64[slots]
        Ascending by table, then pane.
    offsets : int64[slots + 1]
    term, count : int32[rows], int64[rows]
    dictionary : of the terms
    """

    table: I64
    pane: I64
    offsets: I64
    term: I32
    count: I64
    dictionary: TermDictionary

    @property
    def rows(self) -> int:
        """Number of (slot, term) counts."""
        return int(self.term.size)

    @classmethod
    def empty(cls) -> PaneCounts:
        """No slots."""
        none = np.empty(0, np.int64)
        return cls(none, none, np.zeros(1, np.int64), np.empty(0, np.int32), none, TermDictionary.empty())

    def take(self, slots: npt.NDArray[np.int64]) -> PaneCounts:
        """The given slots, which ascend."""
        if len(slots) == len(self.table):
            return self
        sizes = np.diff(self.offsets)[slots]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][slots] - offsets[:-1], sizes)
        picked = PaneCounts(
            self.table[slots], self.pane[slots], offsets, self.term[rows], self.count[rows], self.dictionary
        )
        return picked.compact()

    def compact(self) -> PaneCounts:
        """The same counts; a dictionary of which less than half occurs keeps only those terms."""
        used = np.zeros(len(self.dictionary), np.uint8)
        flag_terms(frozen(self.term, np.int32), used)
        kept = np.flatnonzero(used)
        if 2 * kept.size >= used.size:
            return self
        number = (np.cumsum(used, dtype=np.int64) - 1).astype(np.int32)
        return replace(self, term=number[self.term], dictionary=self.dictionary.take(kept))


def count_slots(
    table: I64, pane: I64, starts: I64, members: I32, offsets: I64, ids: I32, dictionary: TermDictionary
) -> PaneCounts:
    """Count the terms of the objects ``members[starts[s]:starts[s + 1]]`` of each slot; a term once per object."""
    begin, objects = frozen(starts, np.int64), frozen(members, np.int32)
    lists = frozen(offsets, np.int64), frozen(ids, np.int32)
    counter, ends = np.zeros(len(dictionary), np.int32), np.zeros(table.size + 1, np.int64)
    parts: list[tuple[I32, I64]] = [(np.empty(0, np.int32), np.empty(0, np.int64))]
    slot, done, room = 0, 0, FIRST_ROOM
    while slot < table.size:
        out = np.empty(room, np.int32), np.empty(room, np.int64)
        first = slot
        slot, n = count_runs(begin, objects, *lists, slot, counter, ends[1:], *out)
        ends[1 + first : 1 + slot] += done
        done += n
        parts.append((out[0][:n], out[1][:n]))
        room *= 2
    term, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PaneCounts(table, pane, ends, term, count, dictionary).compact()


def concat_counts(parts: Sequence[PaneCounts]) -> PaneCounts:
    """Slots of all parts one after the other, under one dictionary; equal slots stay apart."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return PaneCounts.empty()
    dictionary, remaps = TermDictionary.merge([part.dictionary for part in parts])
    base = np.cumsum([0] + [part.rows for part in parts])
    offsets = [part.offsets[:-1] + first for part, first in zip(parts, base, strict=False)]
    return PaneCounts(
        np.concatenate([part.table for part in parts]),
        np.concatenate([part.pane for part in parts]),
        np.concatenate([*offsets, base[-1:]]),
        np.concatenate([r[p.term] for p, r in zip(parts, remaps, strict=True)]),
        np.concatenate([part.count for part in parts]),
        dictionary,
    )


def sum_counts(parts: Sequence[PaneCounts]) -> PaneCounts:
    """Counts of all parts, equal slots added up; every part has ascending slots, each once."""
    parts = [part for part in parts if part.rows]
    if len(parts) <= 1:
        return parts[0] if parts else PaneCounts.empty()
    joined = concat_counts(parts)
    order = np.lexsort((joined.pane, joined.table))
    table, pane = joined.table[order], joined.pane[order]
    fresh = np.ones(order.size, np.bool_)
    fresh[1:] = (table[1:] != table[:-1]) | (pane[1:] != pane[:-1])
    starts = np.flatnonzero(fresh)
    ends = np.zeros(starts.size + 1, np.int64)
    out = np.empty(joined.rows, np.int32), np.empty(joined.rows, np.int64)
    n = sum_runs(
        frozen(np.append(starts, order.size), np.int64),
        frozen(joined.offsets[:-1][order], np.int64),
        frozen(joined.offsets[1:][order], np.int64),
        frozen(joined.term, np.int32),
        frozen(joined.count, np.int64),
        np.zeros(len(joined.dictionary), np.int64),
        ends[1:],
        *out,
    )
    return PaneCounts(table[starts], pane[starts], ends, out[0][:n].copy(), out[1][:n].copy(), joined.dictionary)
