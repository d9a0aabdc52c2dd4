"""Searches in the flat form of standing queries, so that a partitioner can be asked about both alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.queries import NearestQuery, Query, RangeQuery, TopTermsQuery

__all__ = ["asked_block"]


def asked_block(queries: Sequence[Query], config: StoreConfig, first_num: int = 0) -> QueryBlock:
    """A block of searches: their places and words. What they say about time and limits is left out."""
    ids = [str(number) for number in range(len(queries))]
    nums = first_num + np.arange(len(queries), dtype=np.int64)
    return QueryBlock.from_queries([_timeless(query) for query in queries], ids, nums, 0, 1, config)


def _timeless(query: Query) -> Query:
    if isinstance(query, NearestQuery):
        return NearestQuery(query.keywords, query.at, query.k)
    if isinstance(query, TopTermsQuery):
        return TopTermsQuery(query.region, query.k, window="1s", every="1s")  # a block wants some window
    return RangeQuery(query.keywords, query.region)
