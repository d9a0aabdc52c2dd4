"""What is asked ad hoc, counted where it is answered and handed on from time to time."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from sightline.index.arrays import I64
from sightline.index.standing.block import QueryBlock
from sightline.model.space import Space
from sightline.partition.statistics.distribution import StatisticsParams
from sightline.partition.statistics.tally import Tally, queries_of, sparse

__all__ = ["SearchCounts"]

_FOLD = 256  # searches that wait to be counted together


class SearchCounts:
    """Counts of searches per cell and term since the last :meth:`take`; any thread may count.

    Counting one search is an append; every 256 they are counted together. Memory is bounded by the cells and the
    terms that are kept, whatever is asked.
    """

    def __init__(self, space: Space, params: StatisticsParams | None = None) -> None:
        self._space, self._params = space, params or StatisticsParams()
        self._lock = Lock()
        self._waiting: list[tuple[QueryBlock, I64 | None]] = []
        self._tally = Tally(space, self._params.levels)
        self._queries = 0

    def __len__(self) -> int:
        return self._queries

    def count(self, block: QueryBlock, reach_mm: npt.ArrayLike | None = None) -> None:
        """Count snapshot queries; ``reach_mm`` is the k-th distance of each, read for nearest ones only."""
        reach = None if reach_mm is None else np.asarray(reach_mm, np.int64)
        with self._lock:
            self._waiting.append((block, reach))
            self._queries += len(block)
            if len(self._waiting) >= _FOLD:
                self._fold()

    def take(self) -> dict[str, Any]:
        """The counts as JSON, for :meth:`Statistics.with_searches`; counting starts again at 0."""
        with self._lock:
            self._fold()
            tally, queries = self._tally, self._queries
            self._tally, self._queries = Tally(self._space, self._params.levels), 0
        words = tally.keywords
        return {
            "queries": queries,
            "levels": self._params.levels,
            "bounds": list(self._space.bounds),
            "weights": sparse(tally.overlaps()),
            "lengths": sparse(tally.lengths),
            "durations": sparse(tally.durations),
            "seconds": sparse(tally.seconds),
            "terms": [words.hashes.tolist(), *words.weights.tolist()],
            "rest": words.rest.tolist(),
        }

    def _fold(self) -> None:
        for known in (False, True):
            group = [(block, reach) for block, reach in self._waiting if (reach is not None) is known and len(block)]
            if group:
                queries = queries_of([block for block, _ in group])
                reaches = np.concatenate([reach for _, reach in group if reach is not None]) if known else None
                self._tally.describe(queries, self._params.terms, asked=True)
                self._tally.locate(queries, reaches, asked=True)
        self._waiting.clear()
