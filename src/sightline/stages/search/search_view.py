"""The segments of one version of a store as a search sees them: bounds as arrays, files opened when asked.

A view is made once per version and shared by threads; to prune is one vectorised test over all segments, without an
object per segment. There is no filter of terms in the log: a warm lookup in a segment's own dictionary takes 2 us, and
a segment of 200,000 posts has 77,000 terms, for which even a filter with errors would need some 100 KB per log entry.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from sightline.flat.arrays import F64, I64, U8
from sightline.index.objects.segment import Segment
from sightline.index.objects.strings import StringColumn, readable, taken
from sightline.index.protocol import ObjectReader
from sightline.stages.exchange import schema as payload
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.read import INSTANT
from sightline.store.array_file import ArrayFile
from sightline.store.kinds import FileKind
from sightline.store.snapshot import Snapshot

OBJECT_SCHEMA = pa.schema(
    [("id", pa.string()), ("lon", pa.float64()), ("lat", pa.float64()), ("ts", INSTANT), ("text", pa.string())]
)
NUMBER_COLUMNS = {"lon": pa.float64(), "lat": pa.float64(), "ts": INSTANT}  # flat arrays of every segment
FEW_SEGMENTS = 8  # segments that plain comparisons prune faster than those of arrays

T = TypeVar("T")


class Fate:
    """What became of a segment: searched, or why not. Plain numbers: an array meets those of an enum 3 us later."""

    SEARCHED: Final = 0
    TIME: Final = 1
    PLACE: Final = 2
    TERMS: Final = 3
    OLDER: Final = 4  # than the objects that fill a limit
    FARTHER: Final = 5  # than the k nearest of other segments


class Columns(NamedTuple):
    """Columns of an answer: every one, and those that are not numbers."""

    every: pa.Schema
    other: pa.Schema

    @classmethod
    def of(cls, schema: pa.Schema) -> Columns:
        """From all columns."""
        return cls(schema, pa.schema([field for field in schema if field.name not in NUMBER_COLUMNS]))


class OpenSegment:
    """A mapped segment and its readers; safe for threads.

    A reader counts its work, so only one thread uses it at a time; there are as many as threads ever met here.
    """

    def __init__(self, file: ArrayFile) -> None:
        self.segment = Segment.from_file(file)
        self._idle: list[ObjectReader] = []

    def ask(self, question: Callable[[ObjectReader], T]) -> tuple[T, int]:
        """The reader's answer, and how many candidates it looked at."""
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = self.segment.reader()
        before = reader.work.candidates
        answer = question(reader)
        looked = reader.work.candidates - before
        self._idle.append(reader)
        return answer, looked

    @cached_property
    def _content(self) -> dict[str, StringColumn | pa.Array | pa.ChunkedArray]:
        """The columns other than numbers, mapped; one array each unless a column has more than 2 GB."""
        table = self.segment.table
        return {name: readable(table[name]) for name in table.column_names if name not in NUMBER_COLUMNS}

    def take(self, rows: I64, columns: pa.Schema) -> list[pa.Array]:
        """Some rows of columns other than numbers; those that came later than the segment are null."""
        have = [name for name in columns.names if name in self._content]
        found = dict(zip(have, taken([self._content[name] for name in have], rows), strict=True))
        return [
            _one_array(found[field.name]) if field.name in found else pa.nulls(len(rows), field.type)
            for field in columns
        ]


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


class SegmentsView:
    """Segments committed at one version."""

    def __init__(self, snapshot: Snapshot, store: str) -> None:
        self.version, self.high_us, self._store = snapshot.version, snapshot.high_us, store
        self.entries = snapshot.entries(FileKind.SEGMENT)
        count = len(self.entries)
        self.rows: I64 = np.fromiter((entry.rows for entry in self.entries), np.int64, count)
        self.low: I64 = np.fromiter((entry.low for entry in self.entries), np.int64, count)
        self.high: I64 = np.fromiter((entry.high for entry in self.entries), np.int64, count)
        self.bbox: F64 = np.array([entry.meta["bbox"] for entry in self.entries], np.float64).reshape(-1, 4)
        self._edges = self.bbox * (1, 1, -1, -1)  # of which all must be at most those of a box, see `meets`
        self._few = self.bbox[:FEW_SEGMENTS].tolist()
        self._times = (int(self.low.min()), int(self.high.max())) if count else (0, 0)
        self.columns = Columns.of(pa.unify_schemas([OBJECT_SCHEMA, payload.decode(snapshot.schema)]))

    def __len__(self) -> int:
        return len(self.entries)

    def open(self, segment: int) -> OpenSegment:
        """A segment by its place; ``FileNotFoundError`` when it was merged away and swept."""
        return FILES.get(self._store, self.entries[segment].name, "search", OpenSegment)

    def pruned(self, span: tuple[int, int], boxes: F64 | None) -> U8:
        """Per segment: Fate.TIME or Fate.PLACE if it cannot hold an answer, else Fate.SEARCHED."""
        if boxes is None:
            fate: U8 = np.zeros(len(self), np.uint8)
        else:
            fate = (~self.meets(boxes)).view(np.uint8) * np.uint8(Fate.PLACE)
        if not (span[0] <= self._times[0] and self._times[1] <= span[1]):
            fate[(self.high < span[0]) | (self.low > span[1])] = Fate.TIME
        return fate

    def meets(self, boxes: F64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which segments have a bounding box that meets any of some boxes; all are closed."""
        if len(self) <= FEW_SEGMENTS:
            said = [
                any(
                    w <= east and e >= west and s <= north and n >= south for west, south, east, north in boxes.tolist()
                )
                for w, s, e, n in self._few
            ]
            return np.array(said, np.bool_)
        meets = np.zeros(len(self), np.bool_)
        for west, south, east, north in boxes.tolist():
            meets |= (self._edges <= (east, north, -west, -south)).all(axis=1)
        return meets

    @cached_property
    def nothing(self) -> pa.Table:
        """No objects."""
        return self.columns.every.empty_table()
