"""A standing query as it is registered: id, dense number, lifetime, and its place in the control log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sightline.model.durations import duration_us
from sightline.model.errors import BadQuery
from sightline.model.queries import Query, check_subscription, query_from_dict
from sightline.model.scalars import check_unicode, mapping, whole
from sightline.model.time import MAX_US, MIN_US, instant_us


@dataclass(frozen=True, slots=True)
class Subscription:
    """One registered query.

    Parameters
    ----------
    id : str
        Name given by the user or made up for them.
    num : int
        Dense number, the key of result files.
    query : Query
        What it asks.
    start_us, end_us : int
        Lifetime ``start_us <= ts < end_us``; ``MIN_US`` / ``MAX_US`` are unbounded.
    position : int
        Position of its entry in the control log.
    """

    id: str
    num: int
    query: Query
    start_us: int = MIN_US
    end_us: int = MAX_US
    position: int = 0

    def __post_init__(self) -> None:
        check_id(self.id)
        check_subscription(self.query)
        whole(self.num, "num", 0)
        whole(self.start_us, "start_us", MIN_US)
        whole(self.end_us, "end_us", MIN_US)
        whole(self.position, "position", 0)

    def sees(self, ts_us: int) -> bool:
        """Whether an instant lies in the lifetime."""
        return self.start_us <= ts_us and (ts_us < self.end_us or self.end_us == MAX_US)

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {
            "id": self.id,
            "num": self.num,
            "query": self.query.to_dict(),
            "start_us": self.start_us,
            "end_us": self.end_us,
            "position": self.position,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Subscription:
        """Inverse of :meth:`to_dict`."""
        names = {"id", "num", "query", "start_us", "end_us", "position"}
        given = dict(mapping(data, "a subscription"))
        if set(given) != names:
            raise BadQuery("not a subscription", value=given, allowed="an object with " + ", ".join(sorted(names)))
        query = query_from_dict(given.pop("query"))
        return cls(query=query, **given)  # type: ignore[arg-type]


def check_id(value: object) -> str:
    """An id is a non-empty string that has a UTF-8 form."""
    if not isinstance(value, str) or not value:
        raise BadQuery(
            "a bad subscription id", value=value, allowed="a non-empty string", hint="leave id= out to get one"
        )
    check_unicode(value, "the id of a subscription")
    return value


def lifetime_us(start: datetime | str | None, ttl: str | timedelta | None, high_us: int | None) -> tuple[int, int]:
    """Lifetime ``(start_us, end_us)`` of a subscription registered when the high mark is ``high_us``.

    Without ``start`` it begins at the high mark, in an empty store it is unbounded; then ``ttl`` has nothing
    to count from and is refused.
    """
    length = None if ttl is None else duration_us(ttl, "ttl")
    if start is not None:
        begin = instant_us(start, "start")
    elif high_us is not None:
        begin = high_us
    elif length is not None:
        raise BadQuery(
            "ttl has no start to count from, the store is empty",
            value=ttl,
            allowed="ttl together with start",
            hint="pass start=, or load objects first",
        )
    else:
        begin = MIN_US
    if length is not None and begin + length >= MAX_US:
        raise BadQuery("the lifetime ends beyond all time", value=str(ttl), allowed="an end before the year 9999")
    return begin, MAX_US if length is None else begin + length
