"""Flat arrays that grow at the end."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import I64

Item = TypeVar("Item", bound=np.generic)

__all__ = ["GrowingArray", "GrowingLists"]


class GrowingArray(Generic[Item]):
    """Rows with room to spare, which doubles when it runs out; over a mapped array until the first change."""

    def __init__(self, start: npt.NDArray[Item]) -> None:
        self._room, self._size = start, int(start.shape[0])

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> npt.NDArray[Item]:
        """The rows so far; a view that the next change may leave behind."""
        return self._room[: self._size]

    def lengthen(self, by: int, fill: int | None = 0) -> npt.NDArray[Item]:
        """Add rows of ``fill``, or of anything where the caller writes them all; returns all rows, to be written to."""
        size = self._size + by
        if size > self._room.shape[0] or not self._room.flags.writeable:
            room = np.empty((max(size, 2 * self._room.shape[0]), *self._room.shape[1:]), self._room.dtype)
            room[: self._size] = self.rows
            self._room = room
        if fill is not None:
            self._room[self._size : size] = fill
        self._size = size
        return self.rows

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Add rows."""
        rows = self.lengthen(len(values), None)
        rows[len(rows) - len(values) :] = values


class GrowingLists(Generic[Item]):
    """Lists as offsets and items."""

    def __init__(self, offsets: I64, items: npt.NDArray[Item]) -> None:
        self.offsets, self.items = GrowingArray(offsets), GrowingArray(items)

    def extend(self, offsets: I64, items: npt.NDArray[Any]) -> None:
        """Add lists, given in the same form (offsets from 0)."""
        self.offsets.extend(offsets[1:] + len(self.items))
        self.items.extend(items)
