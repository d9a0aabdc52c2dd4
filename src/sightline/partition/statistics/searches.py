"""What is asked ad hoc, counted where it is answered and handed on from time to time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sightline.model.space import Space
from sightline.partition.statistics.pyramid import StatisticsParams
from sightline.partition.statistics.tally import CountedQueries, QueryTally, sparse

__all__ = ["SearchCounts"]

_HANDED_ON = 4096  # keywords of most weight that are handed on; the others as one sum


class SearchCounts:
    """Counts of searches per cell and term. Their size is bounded by the cells and the terms, whatever is asked."""

    def __init__(self, space: Space, params: StatisticsParams | None = None) -> None:
        self._params = params or StatisticsParams()
        self._tally = QueryTally(space, self._params.levels)
        self._queries = 0

    def __len__(self) -> int:
        return self._queries

    def add(self, queries: CountedQueries, reach_mm: npt.ArrayLike | None = None) -> None:
        """Count snapshot queries; ``reach_mm`` is the k-th distance of each, read for nearest ones only."""
        self._tally.describe(queries, self._params.terms, asked=True)
        self._tally.locate(queries, reach_mm, asked=True)
        self._queries += len(queries.kind)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Flat arrays for a file, which :meth:`Statistics.with_searches` reads."""
        tally = self._tally
        return {
            "levels": np.array([self._params.levels]),
            "bounds": np.asarray(tally.pyramid.bounds, np.float64),
            **sparse("weights", tally.overlaps()),
            "lengths": tally.lengths,
            "durations": tally.durations,
            "seconds": tally.seconds,
            **tally.keywords.pruned(_HANDED_ON).to_arrays("term_"),
        }
