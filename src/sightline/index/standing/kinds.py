"""Numbers of the query kinds in a block's ``kind`` column."""

from __future__ import annotations

__all__ = ["KIND_NAMES", "KIND_NEAREST", "KIND_RANGE", "KIND_TOP_TERMS"]

KIND_RANGE, KIND_NEAREST, KIND_TOP_TERMS = 0, 1, 2

#: ``kind`` of a query's JSON form -> number.
KIND_NAMES = {"range": KIND_RANGE, "nearest": KIND_NEAREST, "top_terms": KIND_TOP_TERMS}
