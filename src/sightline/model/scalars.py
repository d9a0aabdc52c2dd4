"""Checks of single numbers, shared by regions, queries, spaces and config.

A value is taken if it is a real number (Python or NumPy) and refused with its name otherwise; ``bool`` is
never a number here, because ``k=True`` is a slip of the caller, not a 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real

from sightline.model.errors import BadQuery, SightlineError


def finite(value: object, what: str, error: type[SightlineError] = BadQuery) -> float:
    """``value`` as a float; ``error`` if it is not a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{what} is not a number", value=value, allowed="a finite number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise error(f"{what} is not finite", value=value, allowed="a finite number")
    return number


def check_unicode(text: str, what: str) -> None:
    """``BadQuery`` for a text without a UTF-8 form, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise BadQuery(f"{what} is not valid Unicode", value=text, allowed="no lone surrogates") from cause


def within(
    value: object,
    low: float,
    high: float,
    what: str,
    error: type[SightlineError] = BadQuery,
    *,
    hint: str | None = None,
) -> float:
    """``value`` as a float in the closed range ``[low, high]``."""
    number = finite(value, what, error)
    if not low <= number <= high:
        raise error(f"{what} is out of range", value=value, allowed=f"{low:g} to {high:g}", hint=hint)
    return number


def mapping(value: object, what: str, error: type[SightlineError] = BadQuery) -> Mapping[str, object]:
    """``value`` as a JSON object."""
    if not isinstance(value, Mapping):
        raise error(f"not {what}", value=value, allowed="a JSON object")
    return value


def pair(value: object, what: str, allowed: str, error: type[SightlineError] = BadQuery) -> tuple[object, object]:
    """``value`` as two things; text is not a pair of characters."""
    items = () if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable) else tuple(value)
    if len(items) != 2:
        raise error(what, value=value, allowed=allowed)
    return items[0], items[1]


def whole(
    value: object,
    what: str,
    minimum: int,
    error: type[SightlineError] = BadQuery,
    *,
    maximum: int = 2**63 - 1,
) -> int:
    """``value`` as an int from ``minimum`` to ``maximum``; floats are refused even when whole."""
    allowed = f"an int of at least {minimum}" if maximum == 2**63 - 1 else f"an int from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise error(f"{what} is not a whole number", value=value, allowed=allowed)
    number = int(value)
    if number < minimum:
        raise error(f"{what} is too small", value=value, allowed=allowed)
    if number > maximum:
        raise error(f"{what} is too large", value=value, allowed=f"at most {maximum}")
    return number
