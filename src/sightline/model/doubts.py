"""What in a query was probably meant otherwise: no error, but worth a word."""

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
