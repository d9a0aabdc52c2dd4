"""What was probably meant otherwise: no error, but worth a word."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


def doubts_of(queries: Iterable[object]) -> dict[str, list[str]]:
    """The doubts about the keywords of some queries as a part of an explanation; empty without any."""
    words = [getattr(query, "keywords", None) for query in queries]
    said = [doubt for expression in words if expression is not None for doubt in expression.doubts]
    return {"doubts": said} if said else {}


def warn_of_doubts(queries: Iterable[object]) -> None:
    """Warn the caller of the caller, on stderr unless warnings are sent elsewhere."""
    for doubt in doubts_of(queries).get("doubts", []):
        warnings.warn(doubt, stacklevel=3)


def warn_of_gap(*, keeps: bool) -> None:
    """Warn who opens a store that has kept objects until now, or has not, and does otherwise from now on."""
    kept, until = ("kept from now on", "before") if keeps else ("no longer kept", "after")
    warnings.warn(f"objects are {kept}: a search does not find those that come {until} this change", stacklevel=3)
