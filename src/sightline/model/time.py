"""Instants as users write them, and as int64 microseconds since 1970-01-01T00:00Z.

Event time only; nothing here reads a clock. A value without a zone is UTC, whatever the zone of the machine.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sightline.model.errors import BadQuery, SightlineError

#: Unbounded past and future.
MIN_US = -(2**63)
MAX_US = 2**63 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
#: First and last instant there is: the years 1 to 9999, which Python, Arrow and ISO 8601 can all write.
FIRST_US = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICRO
LAST_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICRO
_ALLOWED = "a datetime, or ISO 8601 text such as '2024-05-31T18:00:00Z' (no zone means UTC)"


def instant_us(value: object, what: str = "instant", *, error: type[SightlineError] = BadQuery) -> int:
    """Microseconds since the epoch; digits beyond microseconds are dropped (floor)."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError as cause:
            raise error(f"{what} is not an instant", value=value, allowed=_ALLOWED) from cause
    elif isinstance(value, datetime):
        moment = value
    else:
        hint = "datetime.fromtimestamp(seconds, UTC) makes one of epoch seconds" if type(value) is int else None
        raise error(f"{what} is not an instant", value=value, allowed=_ALLOWED, hint=hint)
    # The offset is subtracted as a timedelta, because a datetime near year 1 or 9999 could not hold the
    # result.
    offset = moment.utcoffset() or timedelta(0)
    micros = (moment.replace(tzinfo=UTC) - _EPOCH - offset) // _MICRO
    if not FIRST_US <= micros <= LAST_US:
        raise error(f"{what} is outside the years 1 to 9999 in UTC", value=value, allowed=_ALLOWED)
    return int(micros)


def from_us(us: int) -> datetime:
    """Aware UTC datetime of an instant; ``MIN_US`` and ``MAX_US`` have none."""
    if not FIRST_US <= us <= LAST_US:
        raise BadQuery("instant is outside the years 1 to 9999", value=us, allowed="microseconds since 1970")
    return _EPOCH + timedelta(microseconds=us)


def format_instant(moment: datetime) -> str:
    """ISO 8601 in UTC with ``Z``; :func:`instant_us` gives the same microsecond back."""
    return from_us(instant_us(moment)).isoformat().replace("+00:00", "Z")
