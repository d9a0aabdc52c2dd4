"""What every partitioner gives: routes of objects, routes of queries, flat arrays, a table to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space

Ints = npt.NDArray[np.int32]


class ObjectRoutes(NamedTuple):
    """Where the objects of a batch go.

    ``leaf[i]`` and ``owner[i]`` are the leaf and the worker that own object i. ``row[j]``, ``worker[j]`` list every
    (object, worker) that matches, sorted by worker, then row; the owner of an object is always among them.
    """

    leaf: Ints
    owner: Ints
    row: Ints
    worker: Ints


class QueryRoutes(NamedTuple):
    """On which workers standing queries stand: pairs (block row, worker), sorted by worker, then row."""

    query: Ints
    worker: Ints


class Routing(Protocol):
    """A frozen routing state: leaves, their workers, and the two lookups.

    Contract the engine relies on:

    * completeness: an object and a query that can match meet on at least one worker of the object's routes;
    * if ``duplicates`` is False they meet on exactly one, so that nothing has to be deduplicated;
    * nearest queries meet *every* object; top-term queries stand wherever an owner of an object in their region is;
    * the owner depends on the object alone (its place, its terms), never on batch, order or process.
    """

    name: ClassVar[str]
    duplicates: ClassVar[bool]

    @property
    def workers(self) -> int:
        """How many workers the leaves are dealt to."""
        ...

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        """The plain routing a store begins with, before any data was seen."""

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        """The same leaves dealt anew to the workers by their loads (one per leaf)."""

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes: ...

    def route_queries(self, block: QueryBlock) -> QueryRoutes: ...

    def leaf_table(self) -> pa.Table:
        """One row per leaf: leaf, worker, west, south, east, north."""

    def to_arrays(self) -> dict[str, npt.NDArray[np.generic]]: ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Self: ...
