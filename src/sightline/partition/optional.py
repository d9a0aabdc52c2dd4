"""What some routings can say beyond the protocol, and what goes for the others."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

from sightline.flat.arrays import I64
from sightline.index.standing.block import QueryBlock
from sightline.partition.protocol import QueryLeaves, Routing

__all__ = ["owners_of", "settled", "settles"]


@runtime_checkable
class _Settles(Protocol):
    """Places queries by what workers have already."""

    def settled(self, new: QueryBlock, dropped: I64) -> Self: ...


@runtime_checkable
class _OwnsApart(Protocol):
    """A query does not stand with all owners of what it matches: objects are sent to where it stands."""

    def owners_of(self, block: QueryBlock) -> QueryLeaves: ...


def settles(routing: Routing) -> bool:
    """Whether :func:`settled` makes a difference."""
    return isinstance(routing, _Settles)


def settled(routing: Routing, new: QueryBlock, dropped: I64) -> Routing:
    """The routing once queries were registered, in their order, and others (by number) dropped.

    What was settled does not move. Where queries stand only depends on themselves, this is the routing itself.
    """
    if isinstance(routing, _Settles):
        after: Routing = routing.settled(new, dropped)
        return after
    return routing


def owners_of(routing: Routing, block: QueryBlock) -> QueryLeaves:
    """The leaves that may own an object which queries find: what a search visits.

    They are the leaves where the queries would stand, unless objects are also sent to others than their owners.
    """
    return routing.owners_of(block) if isinstance(routing, _OwnsApart) else routing.leaves_of(block)
