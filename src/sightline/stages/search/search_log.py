"""What is searched, counted per cell and term, and logged for the pipeline wherever it runs.

Counting a search is an append to a queue. Every minute in which something was searched, and when the engine is closed,
the counts go to a data file that an entry of the control log names; the pipeline adds them to the statistics of the
store. They are no answers: a process that dies loses its last minute of them, and where they cannot be written, that
is logged and they are kept for the next time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64
from sightline.index.protocol import NO_BOUND
from sightline.index.standing.kinds import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS
from sightline.model.config import StoreConfig
from sightline.model.errors import SightlineError
from sightline.model.queries import NearestQuery, Query, TopTermsQuery
from sightline.partition.statistics.searches import SearchCounts
from sightline.partition.statistics.tally import CountedQueries
from sightline.stages.search.answers import DISTANCE
from sightline.stages.search.asked import asked
from sightline.store.array_file import write_array_file
from sightline.store.files import new_name
from sightline.store.kinds import FileKind
from sightline.store.requests import CountSearches
from sightline.store.store import CONTROL, Store

EVERY_S = 60.0
FOLD = 4096  # searches that wait to be counted together
log = logging.getLogger("sightline.searches")

Searched = tuple[Query, int]  # and how far a nearest one reached, in millimetres


class SearchLog:
    """Counts the searches of a process; safe for threads. A store that cannot be written is not counted for."""

    def __init__(self, store: Store, *, every_s: float = EVERY_S) -> None:
        self._store, self._every_s = store, every_s
        self._writable = os.access(store.path / CONTROL, os.W_OK)
        self._waiting: deque[Searched] = deque()
        self._counts = SearchCounts(store.config.space)
        self._counting = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake, self._stopping = threading.Event(), False

    def count(self, query: Query, answer: pa.Table) -> None:
        """Count a search that was answered."""
        if self._writable:
            self._wait_for(((query, _reach(query, answer)),))

    def count_many(self, queries: Sequence[Query], answers: pa.Table) -> None:
        """Count searches that were answered together; the column ``query`` says whose row it is."""
        if self._writable and queries:
            self._wait_for(list(zip(queries, _reaches(queries, answers), strict=True)))

    def flush(self) -> None:
        """Log what was counted since the last time; a failure is logged, and the counts are kept."""
        with self._counting:
            self._fold()
            if not len(self._counts):
                return
            name = new_name(FileKind.SEARCHES)
            path = self._store.data_path(name)
            try:
                write_array_file(path, self._counts.to_arrays(), durable=self._store.durable)
                self._store.control.append(CountSearches(name, len(self._counts)))
            except (OSError, SightlineError) as error:
                log.warning("the statistics of %d searches could not be written: %s", len(self._counts), error)
            else:
                self._counts = SearchCounts(self._store.config.space)

    def close(self) -> None:
        """Log what is left. Counting may go on afterwards."""
        with self._starting:
            thread, self._stopping = self._thread, True
            self._wake.set()
        if thread is not None:
            thread.join()
        with self._starting:
            self._thread, self._stopping = None, False
            self._wake.clear()
        self.flush()

    def _wait_for(self, searches: Sequence[Searched]) -> None:
        self._waiting.extend(searches)
        if self._thread is None:
            self._begin_minute()
        elif len(self._waiting) >= FOLD:
            self._wake.set()

    def _begin_minute(self) -> None:
        with self._starting:
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._minute, name="sightline-searches", daemon=True)
                self._thread.start()

    def _minute(self) -> None:
        """Count what piles up until the end of the minute, and log it; the next search begins another."""
        due = time.monotonic() + self._every_s
        while (left := due - time.monotonic()) > 0:
            self._wake.wait(left)
            if self._stopping:
                return
            self._wake.clear()
            with self._counting:
                self._fold()
        with self._starting:
            self._thread = None
        self.flush()

    def _fold(self) -> None:
        """Count what waits. The caller holds the lock."""
        searches = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if searches:
            queries = _queries([query for query, _ in searches], self._store.config)
            self._counts.add(queries, np.array([reach for _, reach in searches], np.int64))


def _reach(query: Query, answer: pa.Table) -> int:
    """Distance of the k-th result; with fewer than k, the search looked everywhere."""
    if not isinstance(query, NearestQuery):
        return 0
    return round(1000 * answer[DISTANCE.name][-1].as_py()) if answer.num_rows == query.k else NO_BOUND


def _reaches(queries: Sequence[Query], answers: pa.Table) -> list[int]:
    number = answers["query"].to_numpy()
    found, far = np.bincount(number, minlength=len(queries)), np.zeros(len(queries))
    if DISTANCE.name in answers.column_names:
        np.fmax.at(far, number, answers[DISTANCE.name].to_numpy())
    reach = np.rint(1000 * far).astype(np.int64)
    enough = [not isinstance(query, NearestQuery) or n == query.k for query, n in zip(queries, found, strict=True)]
    reaches: list[int] = np.where(enough, reach, NO_BOUND).tolist()
    return reaches


def _queries(searches: Sequence[Query], config: StoreConfig) -> CountedQueries:
    """Searches as what is counted of them, from their compiled form, which is remembered since they were answered.

    Times are left out, as in `asked_block`.
    """
    kinds: list[int] = []
    places: list[tuple[float, float]] = []
    boxes: list[F64] = []
    sizes: list[list[int]] = []
    terms: list[I64] = []
    nowhere, none = np.empty((0, 4)), np.empty(0, np.int64)
    for query in searches:
        compiled = asked(query, config)
        near = isinstance(query, NearestQuery)
        kinds.append(KIND_NEAREST if near else KIND_TOP_TERMS if isinstance(query, TopTermsQuery) else KIND_RANGE)
        places.append(query.at if isinstance(query, NearestQuery) else (0.0, 0.0))
        boxes.append(nowhere if compiled.boxes is None else compiled.boxes)
        number, hashes = ([0], none) if compiled.words is None else compiled.words.positive()
        sizes.append(number)
        terms.append(hashes)
    n = len(kinds)
    return CountedQueries(
        kind=np.array(kinds, np.uint8),
        start=np.zeros(n, np.int64),
        end=np.ones(n, np.int64),
        at=np.array(places, np.float64),
        piece_query=_owners([len(some) for some in boxes]),
        piece_box=np.concatenate(boxes),
        conj_query=_owners([len(some) for some in sizes]),
        sizes=np.array([size for some in sizes for size in some], np.int64),
        terms=np.concatenate(terms),
    )


def _owners(lengths: Sequence[int]) -> I32:
    return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
