"""What users ask for through the control log, one class for each kind of request. Queries stay JSON: the store knows
none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sightline.store.records import decode_one


@dataclass(frozen=True, slots=True)
class Request:
    """A request; ``file`` is the data file it names, if any."""

    kind: ClassVar[str]
    file: str = ""

    @property
    def gone(self) -> tuple[int, ...]:
        """Numbers of the subscriptions that it ends."""
        return ()


@dataclass(frozen=True, slots=True)
class Registered:
    """A subscription as its request carries it."""

    id: str
    query: dict[str, Any]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Subscribe(Request):
    """Register subscriptions, few of them inline, many in a file; those with the numbers ``replaces`` go.

    ``grammar`` is the version of the one that their keywords are written in; a request without it is of the first.
    """

    kind: ClassVar[str] = "subscribe"
    subscriptions: tuple[Registered, ...] = ()
    replaces: tuple[int, ...] = ()
    grammar: int = 1

    @property
    def gone(self) -> tuple[int, ...]:
        return self.replaces


@dataclass(frozen=True, slots=True)
class Drop(Request):
    """Drop the subscriptions of some numbers."""

    kind: ClassVar[str] = "drop"
    nums: tuple[int, ...] = ()

    @property
    def gone(self) -> tuple[int, ...]:
        return self.nums


@dataclass(frozen=True, slots=True)
class Rebalance(Request):
    """Deal the leaves to the workers anew."""

    kind: ClassVar[str] = "rebalance"


@dataclass(frozen=True, slots=True)
class Fit(Request):
    """Fit the partitioner to the history in a file."""

    kind: ClassVar[str] = "fit"


@dataclass(frozen=True, slots=True)
class CountSearches(Request):
    """Add the counts of so many searches, in a file, to the statistics."""

    kind: ClassVar[str] = "searches"
    queries: int = 0


REQUESTS: dict[str, type[Request]] = {kind.kind: kind for kind in (Subscribe, Drop, Rebalance, Fit, CountSearches)}


def request_from(kind: str, body: Mapping[str, Any]) -> Request:
    """The request in an entry of the control log."""
    return decode_one(REQUESTS, kind, body, "request")
