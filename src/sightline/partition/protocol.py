"""What every partitioner gives: routes of objects, routes of queries, flat arrays, a table to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.records import Arrays
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space
from sightline.partition.history import History

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


class QueryLeaves(NamedTuple):
    """Which leaves a query visits: pairs (block row, leaf), sorted by row, then leaf."""

    query: Ints
    leaf: Ints


class Router(Protocol):
    """Routes the objects of one source partition; it may learn on the way."""

    def route_objects(self, objects: ObjectColumns) -> ObjectRoutes: ...

    def learnt(self) -> Arrays:
        """What it has learnt since it was made, for the routers of later batches; empty if nothing."""


class Routing(Protocol):
    """A frozen routing state: leaves, their workers, and the two lookups.

    Contract the engine relies on:

    * completeness: an object and a query that can match meet on at least one worker of the object's routes;
    * if ``duplicates`` is False they meet on exactly one, so that nothing has to be deduplicated;
    * nearest queries meet every object with their keywords; top-term queries stand wherever an owner of an object in
      their region is;
    * every object has exactly one owner, and is always among the workers it is sent to;
    * where a query stands is its own: the other queries of a block do not change it;
    * a routing that ``learns`` may choose another owner for an equal object later; others choose by place and terms.
    """

    duplicates: ClassVar[bool]
    learns: ClassVar[bool]
    fits: ClassVar[bool]  # whether a history changes it
    spreads: ClassVar[bool]  # whether objects may be sent to others than their owner

    @property
    def workers(self) -> int:
        """How many workers the leaves are dealt to."""
        ...

    @classmethod
    def start(cls, space: Space, workers: int) -> Self:
        """The plain routing a store begins with, before any data was seen."""

    @classmethod
    def fitted(cls, history: History, space: Space, workers: int) -> Self:
        """The routing made for a history; an empty one gives :meth:`start`."""

    def reassigned(self, loads: npt.NDArray[np.float64]) -> Self:
        """The same leaves dealt anew to the workers by their loads (one per leaf)."""

    def router(self, learnt: Sequence[Arrays] = ()) -> Router:
        """A router that knows what earlier ones of this epoch have learnt."""

    def merged(self, learnt: Sequence[Arrays]) -> Arrays:
        """What several routers have learnt, as if one had."""

    def route_queries(self, block: QueryBlock) -> QueryRoutes: ...

    def leaves_of(self, block: QueryBlock) -> QueryLeaves:
        """The leaves that the queries of a block (standing or asked) visit, for tables and explanations."""

    def leaf_table(self) -> pa.Table:
        """One row per leaf: leaf, worker, split (how it was made), west, south, east, north, keywords (how many it is
        restricted to, 0 for no restriction)."""

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]: ...

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self: ...
