"""Objects to fit a partitioning to: even samples, kept in files of their own where no objects are stored.

A store that keeps its objects samples its segments. One that does not (`keep_objects=False`) has the route stage write
a sample of every source partition while it waits for its first fit; the epoch of that fit removes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sightline.index.protocol import ObjectColumns
from sightline.stages.exchange.target import Target
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.store.files import FileEntry, new_name
from sightline.store.kinds import FileKind
from sightline.text.term_batch import TermBatch

TASK_ROWS = 25_000  # of a source partition and batch at most
_TERMS = "terms."


class BatchSample:
    """Every ``step``-th object of a source partition; the step doubles whenever that is too many."""

    def __init__(self, most: int = TASK_ROWS) -> None:
        self._most = most
        self._parts: list[ObjectColumns] = []
        self._kept = 0
        self.seen, self.step = 0, 1

    def add(self, objects: ObjectColumns) -> None:
        """The next objects."""
        self._keep(every(objects, self.step, -self.seen % self.step))
        self.seen += len(objects)
        while self._kept > self._most:
            whole, self._parts, self._kept = joined(self._parts), [], 0
            self.step *= 2
            self._keep(every(whole, 2))

    def write(self, target: Target) -> FileEntry:
        """Write the file; returns its log entry."""
        name = new_name(FileKind.SAMPLE)
        size = write_array_file(target.path(name), object_arrays(joined(self._parts)), durable=target.durable)
        said = {"seen": self.seen, "step": self.step}
        return FileEntry(FileKind.SAMPLE, name, self._kept, size, FileKind.SAMPLE, meta=said)

    def _keep(self, objects: ObjectColumns) -> None:
        self._parts.append(objects)
        self._kept += len(objects)


def sampled_objects(files: Sequence[tuple[ObjectColumns, int]]) -> ObjectColumns:
    """Samples of different steps as one of the largest step."""
    largest = max((step for _, step in files), default=1)
    return joined([every(objects, largest // step) for objects, step in files])


def object_arrays(objects: ObjectColumns) -> dict[str, npt.NDArray[Any]]:
    """Flat arrays of objects, for a file."""
    return {"lon": objects.lon, "lat": objects.lat, "ts": objects.ts, **objects.terms.to_arrays(_TERMS)}


def objects_in(arrays: Mapping[str, npt.NDArray[Any]]) -> ObjectColumns:
    """Inverse of :func:`object_arrays`."""
    return ObjectColumns(arrays["lon"], arrays["lat"], arrays["ts"], TermBatch.from_arrays(arrays, prefix=_TERMS))


def open_sample(file: ArrayFile) -> ObjectColumns:
    """Map a sample."""
    return objects_in({name: file.array(name) for name in file.names})


def every(objects: ObjectColumns, step: int, first: int = 0) -> ObjectColumns:
    """Every step-th object."""
    return objects if step == 1 else _taken(objects, np.arange(first, len(objects), step))


def thinned(objects: ObjectColumns, most: int) -> ObjectColumns:
    """At most so many objects, evenly."""
    if len(objects) <= most:
        return objects
    return _taken(objects, np.linspace(0, len(objects) - 1, most).astype(np.int64))


def joined(parts: Sequence[ObjectColumns]) -> ObjectColumns:
    """Objects one after the other."""
    nothing = np.empty(0)
    return ObjectColumns(
        np.concatenate([nothing, *(part.lon for part in parts)]),
        np.concatenate([nothing, *(part.lat for part in parts)]),
        np.concatenate([nothing.astype(np.int64), *(part.ts for part in parts)]),
        TermBatch.concat([part.terms for part in parts]),
    )


def _taken(objects: ObjectColumns, rows: npt.NDArray[np.int64]) -> ObjectColumns:
    return ObjectColumns(objects.lon[rows], objects.lat[rows], objects.ts[rows], objects.terms.take(rows))
