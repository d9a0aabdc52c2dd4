"""Durations as users write them, and as whole microseconds.

``"72h"``, ``"10min"``, ``"1.5h"``, ``"1h30min"`` or a ``timedelta``. The arithmetic is exact: a duration that
is not a whole number of microseconds is refused, never rounded.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

from sightline.model.errors import BadQuery, SightlineError

MAX_DURATION_US = 2**63 - 1

#: Largest first: :func:`format_duration` takes them greedily.
UNITS_US: dict[str, int] = {
    "w": 7 * 86_400_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "min": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}

# Digits are ASCII on purpose: \d would take any script's digits.
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµμ]+)")
_ALLOWED = "a timedelta, or a number and a unit of w, d, h, min, s, ms, us, such as '72h', '1.5h' or '1h30min'"
_MICRO = timedelta(microseconds=1)


def duration_us(
    value: object,
    what: str = "duration",
    *,
    allow_zero: bool = False,
    error: type[SightlineError] = BadQuery,
) -> int:
    """Whole microseconds of a duration.

    Parameters
    ----------
    value : str or timedelta
        As written by the user.
    what : str
        Name of the option, for the message.
    allow_zero : bool
        Whether ``"0s"`` is a duration here.
    error : type
        Class to raise: ``BadQuery`` in queries, ``BadConfig`` for options of a store.
    """
    if isinstance(value, timedelta):
        exact = Fraction(value // _MICRO)
    elif isinstance(value, str):
        exact = _parse(value, what, error)
    else:
        hint = f"write {what}='{value}s' if seconds are meant" if type(value) is int and value >= 0 else None
        raise error(f"{what} is not a duration", value=value, allowed=_ALLOWED, hint=hint)
    if exact.denominator != 1:
        raise error(f"{what} is not a whole number of microseconds", value=value, allowed="steps of 1us")
    total = int(exact)
    if total < 0 or (total == 0 and not allow_zero):
        raise error(
            f"{what} must be {'zero or more' if allow_zero else 'more than zero'}",
            value=value,
            allowed=_ALLOWED,
        )
    if total > MAX_DURATION_US:
        raise error(f"{what} is too long", value=value, allowed=f"at most {MAX_DURATION_US} microseconds")
    return total


def format_duration(us: int) -> str:
    """Write microseconds so that :func:`duration_us` gives them back: ``259_200_000_000`` is ``"3d"``."""
    if us < 0:
        raise BadQuery("a duration cannot be negative", value=us, allowed="zero or more microseconds")
    parts = []
    for unit, size in UNITS_US.items():
        if unit == "w":  # people read "14d" faster than "2w", and "10d" than "1w3d"
            continue
        count, us = divmod(us, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _parse(text: str, what: str, error: type[SightlineError]) -> Fraction:
    body, at, total = text.strip(), 0, Fraction(0)
    seen: set[str] = set()
    while at < len(body) or not seen:
        part = _PART.match(body, at)
        if part is None:
            raise error(f"{what} is not a duration", value=text, allowed=_ALLOWED)
        unit = "us" if part[2] in ("µs", "μs") else part[2]
        if unit not in UNITS_US:
            hint = "write 'min' for minutes" if unit == "m" else None
            raise error(f"{what} has the unknown unit {unit!r}", value=text, allowed=_ALLOWED, hint=hint)
        if unit in seen:
            raise error(f"{what} names the unit {unit!r} twice", value=text, allowed=_ALLOWED)
        seen.add(unit)
        total += Fraction(part[1]) * UNITS_US[unit]
        at = part.end()
    return total
