"""A sealed segment: an object index, its terms and the rows themselves, as one set of arrays.

All row-wise arrays and the Arrow columns share the order the index chose. ``lon``, ``lat`` and ``ts`` are stored
once, as arrays of the index; the other columns are one Arrow IPC file that is mapped without a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat import ipc
from sightline.flat.arrays import F64, I32, I64, U16, frozen, narrowed
from sightline.flat.columns import column_of
from sightline.index.objects import _kernels
from sightline.index.objects.strings import StringColumn, readable, taken
from sightline.index.protocol import ObjectColumns, ObjectReader
from sightline.index.registry import DEFAULT_OBJECTS, object_index
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.text.dictionary import TermDictionary
from sightline.text.term_batch import TermBatch

__all__ = ["TS_TYPE", "Segment", "SegmentData", "build_segment", "merge_segments"]

TS_TYPE = pa.timestamp("us", tz="UTC")
_STORED_ONCE = {"lon": pa.float64(), "lat": pa.float64(), "ts": TS_TYPE}

Bounds = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class SegmentData:
    """A segment ready to be written: ``write_array_file(path, data.arrays, data.meta)``."""

    arrays: dict[str, npt.NDArray[Any] | ipc.Pieces]
    meta: dict[str, Any]


class ArraySource(Protocol):
    """What a segment reads from; ``store.ArrayFile`` is one."""

    meta: dict[str, Any]

    def array(self, name: str) -> npt.NDArray[Any]:
        """A named array."""
        ...

    def buffer(self, name: str) -> pa.Buffer:
        """A named blob."""
        ...


def build_segment(
    objects: ObjectColumns, columns: pa.Table, index: str = DEFAULT_OBJECTS, bounds: Bounds = GEOGRAPHIC_BOUNDS
) -> SegmentData:
    """Index objects and put their rows in the index's order.

    Parameters
    ----------
    objects : ObjectColumns
        At least one row.
    columns : pa.Table
        The same rows: id, lon, lat, ts, text and payload.
    index : str
        Registered object index.
    bounds : tuple
        Bounds of the store's space.
    """
    n = len(objects)
    if n == 0 or columns.num_rows != n:
        raise ValueError(f"a segment needs one table row per object and at least one: {columns.num_rows} for {n}")
    order, arrays = object_index(index).build(objects, bounds)
    terms = objects.terms
    counts = np.empty(terms.counts.size, np.uint16)
    _kernels.gather_counts(frozen(order, np.int64), terms.offsets, terms.counts, counts)
    kept = columns.drop_columns([c for c, t in _STORED_ONCE.items() if columns.schema.field(c).type == t])
    content: dict[str, npt.NDArray[Any] | ipc.Pieces] = {
        **arrays,
        "counts": narrowed(counts),
        "words": narrowed(terms.words[order]),
        **terms.dictionary.to_arrays("term_"),
        "columns": ipc.file(kept.combine_chunks().take(column_of(order))),
    }
    meta = {
        "rows": n,
        "index": index,
        "columns": columns.column_names,
        "bbox": [
            float(objects.lon.min()),
            float(objects.lat.min()),
            float(objects.lon.max()),
            float(objects.lat.max()),
        ],
        "ts": [int(objects.ts.min()), int(objects.ts.max())],
        "bounds": [float(b) for b in bounds],
    }
    return SegmentData(content, meta)


class Segment:
    """Frozen reader; arrays are fetched when first needed."""

    def __init__(
        self, arrays: Callable[[str], npt.NDArray[Any]], blob: Callable[[str], pa.Buffer], meta: Mapping[str, Any]
    ) -> None:
        self._array, self._blob, self.meta = arrays, blob, meta

    @classmethod
    def from_file(cls, file: ArraySource) -> Self:
        """Segment over an open array file."""
        return cls(file.array, file.buffer, file.meta)

    @classmethod
    def from_data(cls, data: SegmentData) -> Self:
        """Segment over arrays in memory."""

        def blob(name: str) -> pa.Buffer:
            content = data.arrays[name]
            assert isinstance(content, ipc.Pieces), f"{name} is an array"
            return content.joined()

        return cls(lambda name: np.asarray(data.arrays[name]), blob, data.meta)

    def __len__(self) -> int:
        return int(self.meta["rows"])

    @property
    def bounds(self) -> Bounds:
        """Bounds of the space the index covers."""
        west, south, east, north = self.meta["bounds"]
        return west, south, east, north

    @cached_property
    def dictionary(self) -> TermDictionary:
        """Terms of the segment; their numbers are what the index speaks of."""
        names = ("hashes", "offsets", "data", "slots")
        return TermDictionary.from_arrays({name: self._array(f"term_{name}") for name in names})

    @cached_property
    def words(self) -> StringColumn:
        """The terms as strings, by number."""
        return StringColumn(self.dictionary.strings())

    @cached_property
    def index(self) -> ObjectReader:
        """The index's reader."""
        return self.reader()

    def reader(self) -> ObjectReader:
        """A reader that counts its work on its own; arrays are shared."""
        return object_index(self.meta["index"]).open(self._array, len(self))

    @cached_property
    def lon(self) -> F64:
        """Longitudes, in row order."""
        return frozen(self._array("lon"), np.float64)

    @cached_property
    def lat(self) -> F64:
        """Latitudes, in row order."""
        return frozen(self._array("lat"), np.float64)

    @cached_property
    def ts(self) -> I64:
        """Instants in microseconds, in row order."""
        return frozen(self._array("ts"), np.int64)

    @cached_property
    def terms(self) -> TermBatch:
        """Term lists with counts, in row order."""
        offsets: I64 = frozen(self._array("offsets"), np.int64)
        ids: I32 = frozen(self._array("ids"), np.int32)
        counts: U16 = frozen(self._array("counts"), np.uint16)
        return TermBatch(offsets, ids, counts, frozen(self._array("words"), np.int32), self.dictionary)

    @cached_property
    def table(self) -> pa.Table:
        """All rows, without a copy."""
        stored = pa.ipc.open_file(pa.BufferReader(self._blob("columns"))).read_all()
        once = {"lon": column_of(self.lon), "lat": column_of(self.lat), "ts": column_of(self.ts).view(TS_TYPE)}
        names = self.meta["columns"]
        return pa.table([stored[name] if name in stored.column_names else once[name] for name in names], names=names)

    def rows(self, rows: npt.NDArray[Any]) -> pa.Table:
        """The given rows, in the given order."""
        return pa.table(taken(self._columns, rows), names=self.table.column_names)

    @cached_property
    def _columns(self) -> list[StringColumn | pa.Array | pa.ChunkedArray]:
        """The columns as rows are taken of them."""
        return [readable(column) for column in self.table.columns]

    def objects(self) -> ObjectColumns:
        """The flat view indexes are built from."""
        return ObjectColumns(self.lon, self.lat, self.ts, self.terms)


def merge_segments(segments: Sequence[Segment], index: str = DEFAULT_OBJECTS) -> SegmentData:
    """Exact union of at least one segment; columns that one lacks are null there."""
    parts = [segment.objects() for segment in segments]
    objects = ObjectColumns(
        np.concatenate([p.lon for p in parts]),
        np.concatenate([p.lat for p in parts]),
        np.concatenate([p.ts for p in parts]),
        TermBatch.concat([p.terms for p in parts]),
    )
    columns = pa.concat_tables([segment.table for segment in segments], promote_options="default")
    return build_segment(objects, columns, index, segments[0].bounds)
