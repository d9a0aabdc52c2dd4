"""Rows found in several segments, put in the order of the semantics page and gathered once.

Ordering works on numbers, at most two arrays; only rows that these leave tied are compared by id, place and text, and
with a limit only those at its edge or before it. Columns are then taken of the rows that remain, no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.flat.arrays import I64
from sightline.flat.columns import column_of, values_of
from sightline.index.objects.strings import readable, taken
from sightline.stages.search.search_view import NUMBER_COLUMNS, OBJECT_SCHEMA, Columns, OpenSegment

GATHERED_ROWS = 1 << 20  # rows gathered at a time: a column of strings holds 2 GB
TIE_COLUMNS = Columns.of(OBJECT_SCHEMA)
TIES = [(name, "ascending") for name in ("group", "id", "lon", "lat", "text")]


class FoundRows:
    """Rows of some opened segments, segment after segment: ``row[i]`` of ``segments[part[i]]``."""

    def __init__(self, segments: Sequence[OpenSegment], rows: Sequence[I64]) -> None:
        self.segments, self.counts = segments, [len(some) for some in rows]
        self.row: I64 = np.concatenate(rows)
        self.part: I64 = np.repeat(np.arange(len(rows)), self.counts)

    def __len__(self) -> int:
        return len(self.row)

    def keep(self, which: npt.NDArray[np.bool_]) -> None:
        """Drop the other rows."""
        self.row, self.part = self.row[which], self.part[which]
        self.counts = np.bincount(self.part, minlength=len(self.segments)).tolist()

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """``lon``, ``lat`` or ``ts`` of all rows."""
        begin, parts = 0, []
        for opened, count in zip(self.segments, self.counts, strict=True):
            parts.append(getattr(opened.segment, name)[self.row[begin : begin + count]])
            begin += count
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def ordered(self, keys: Sequence[I64], limit: int | None = None) -> I64:
        """Places of the first ``limit`` rows by ``keys`` (smaller first), then id, lon, lat, text."""
        order: I64 = np.arange(len(self))
        if limit is not None and limit < len(self):
            order = np.flatnonzero(keys[0] <= np.partition(keys[0], limit - 1)[limit - 1])
        order = order[np.lexsort([key[order] for key in reversed(keys)])]
        tied = np.ones(max(len(order) - 1, 0), np.bool_)  # with the row before
        for key in keys:
            ranked = key[order]
            tied &= ranked[1:] == ranked[:-1]
        if limit is not None and limit < len(order):
            beyond = np.flatnonzero(~tied[limit - 1 :])
            end = limit + int(beyond[0]) if len(beyond) else len(order)
            order, tied = order[:end], tied[: end - 1]
        if tied.any():
            order = self._untied(order, tied)
        return order[:limit]

    def _untied(self, order: I64, tied: npt.NDArray[np.bool_]) -> I64:
        among = np.zeros(len(order), np.bool_)
        among[1:] |= tied
        among[:-1] |= tied
        group = np.concatenate(([0], np.cumsum(~tied)))[among]
        rows = self.table(order[among], TIE_COLUMNS).append_column("group", column_of(group))
        order = order.copy()
        order[among] = order[among][values_of(pc.sort_indices(rows, sort_keys=TIES))]
        return order

    def table(self, at: I64, columns: Columns) -> pa.Table:
        """The rows at some places, in that order."""
        blocks = [at[begin : begin + GATHERED_ROWS] for begin in range(0, len(at), GATHERED_ROWS)]
        return pa.Table.from_batches([self._batch(block, columns) for block in blocks], schema=columns.every)

    def _batch(self, at: I64, columns: Columns) -> pa.RecordBatch:
        row, part = self.row[at], self.part[at]
        if len(self.segments) == 1 or (part == part[0]).all():
            opened = self.segments[int(part[0])]
            numbers = {name: getattr(opened.segment, name)[row] for name in NUMBER_COLUMNS}
            rest = opened.take(row, columns.other)
        else:
            by_part = np.argsort(part, kind="stable")
            split = np.split(row[by_part], np.cumsum(np.bincount(part, minlength=len(self.segments)))[:-1])
            asked = [(opened, some) for opened, some in zip(self.segments, split, strict=True) if len(some)]
            place = np.empty(len(row), np.int64)
            place[by_part] = np.arange(len(row))
            numbers = {
                name: np.concatenate([getattr(opened.segment, name)[some] for opened, some in asked])[place]
                for name in NUMBER_COLUMNS
            }
            parts = zip(*(opened.take(some, columns.other) for opened, some in asked), strict=True)
            rest = taken([readable(pa.concat_arrays(part)) for part in parts], place)
        arrays = dict(zip(columns.other.names, rest, strict=True))
        for name, values in numbers.items():
            arrays[name] = pa.Array.from_buffers(NUMBER_COLUMNS[name], len(at), [None, pa.py_buffer(values)])
        return pa.RecordBatch.from_arrays([arrays[name] for name in columns.every.names], schema=columns.every)
