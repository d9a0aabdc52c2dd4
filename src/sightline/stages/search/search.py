"""Search: snapshot queries in the caller's process, over the committed segments.

A query sees every batch committed when it begins. Segments are pruned by time and place before they are mapped and by
their terms before their index is; what remains is asked by its index, by several threads where that pays, and the
answers are put in the order of the semantics page.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa

from sightline.flat.cores import cores
from sightline.model.queries import Query, time_bounds
from sightline.stages.search.answers import Answer
from sightline.stages.search.asked import AskedQuery, asked
from sightline.stages.search.explain import Explain
from sightline.stages.search.progress import Progress
from sightline.stages.search.search_view import SegmentsView
from sightline.stages.search.share import ALONE_S, share
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store


class Searcher:
    """Answers snapshot queries over a store; safe for threads.

    Parameters
    ----------
    store : Store
    threads : int, optional
        Most threads one search uses; the cores of the machine by default.
    alone_s : float
        So long a search works in its caller's thread only.
    """

    def __init__(self, store: Store, threads: int | None = None, alone_s: float = ALONE_S) -> None:
        self._store, self._path = store, str(store.path)
        self._threads, self._alone_s = threads or cores(), alone_s
        self._view: SegmentsView | None = None

    def answer(self, query: Query) -> tuple[pa.Table, Explain]:
        """The answer to one query over everything committed, and how it came about.

        A file that was merged away and swept since the log was read makes it begin anew on a newer version.
        """
        began = time.perf_counter()
        compiled = asked(query, self._store.config)
        return self._store.read(lambda snapshot: self._answer(compiled, self._view_of(snapshot), began))

    def answer_many(self, queries: Sequence[Query], snapshot: Snapshot) -> list[pa.Table]:
        """Answers of many queries over one snapshot, each equal to its own search.

        Segments are the outer loop: each is mapped once and stays in the caches for all queries it may serve.
        ``FileNotFoundError`` when the snapshot is too old.
        """
        view = self._view_of(snapshot)
        answers = [self._begun(asked(query, self._store.config), view) for query in queries]
        waiting: list[list[Answer]] = [[] for _ in range(len(view))]
        for answer in answers:
            for segment in answer.kind.order(answer.progress).tolist():
                waiting[segment].append(answer)
        for segment in reversed(range(len(view))):  # the newest first: a limit is soon reached there
            for answer in waiting[segment]:
                answer.visit(segment)
        return [answer.kind.merge(answer.progress) for answer in answers]

    def _view_of(self, snapshot: Snapshot) -> SegmentsView:
        view = self._view
        if view is None or view.version != snapshot.version:
            view = self._view = SegmentsView(snapshot, self._path)
        return view

    def _begun(self, compiled: AskedQuery, view: SegmentsView) -> Answer:
        span = (1, 0) if view.high_us is None else time_bounds(compiled.query, view.high_us)
        return Answer(compiled, Progress(view, span, view.pruned(span, compiled.boxes)), self._store.config)

    def _answer(self, compiled: AskedQuery, view: SegmentsView, began: float) -> tuple[pa.Table, Explain]:
        answer = self._begun(compiled, view)
        order = answer.kind.order(answer.progress).tolist()
        planned = time.perf_counter()
        threads = share(order, answer.visit, self._threads, self._alone_s)
        read = time.perf_counter()
        table = answer.kind.merge(answer.progress)
        merged = time.perf_counter()
        phases = (("plan", planned - began), ("segments", read - planned), ("merge", merged - read))
        us = {phase: seconds * 1e6 for phase, seconds in phases}
        return table, Explain.of(answer.progress, threads, table.num_rows, us)
