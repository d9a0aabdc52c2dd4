"""The statistics of a store, kept current by its pipeline (SSTD 4.1.1): decayed counts of objects and searches.

Each commit adds the objects it brought, cell by cell, and the searches logged up to its plan. Before, everything
counted so far loses weight: half of it for every :data:`HALF_LIFE_US` that the high mark moves on. Time is that of the
stream, as for windows and lifetimes, so a replay counts alike, and a stream that stands still forgets nothing. A day,
so that the counts hold a whole day's rhythm whatever the rate. One commit takes at most half: a bulk load of years, or
an object far ahead of its time, leaves something of what was before.

Subscriptions are not counted here. Those that stand are known exactly from the book when a partitioning is fitted, and
those that are gone cost nothing any more; decayed counts would say less of both.

The counts are saved in a file that the commit log names, at most once a minute, at each fit and at the end. Searches
are in the control log until then; objects of the last minute before a crash are forgotten, which changes no answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from sightline.model.errors import SightlineError
from sightline.partition.statistics.distribution import Statistics
from sightline.stages.exchange.receipt import Receipt
from sightline.stages.routing.cells import CellCounts
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.store.entries import MergeCommit
from sightline.store.files import FileEntry, new_name
from sightline.store.kinds import FileKind
from sightline.store.requests import CountSearches
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store

HALF_LIFE_US = 24 * 3600 * 1_000_000
SAVE_S = 60.0
log = logging.getLogger("sightline.statistics")


class CurrentStatistics:
    """Counts on behalf of the one pipeline of a store. The caller holds the pipeline lock."""

    def __init__(
        self, store: Store, commit_lock: threading.RLock, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._commit_lock, self._clock = store, commit_lock, clock
        self._made = Statistics.empty(store.config.space)
        self._file: str | None = None  # the saved state that this one goes on from
        self._saved_control = self._control = -1  # position in the control log up to which searches are counted
        self._changed = False
        self._saved_at = clock()

    def include(self, before: Snapshot, receipts: Sequence[Receipt], control: int) -> None:
        """Count a batch that was just committed onto ``before``, and the searches up to a control position."""
        with self._commit_lock:
            self._continue(before)
            cells = CellCounts(self._store.config.space)
            cells.add_text(receipt.cells for receipt in receipts)
            lows = [receipt.low_us for receipt in receipts if receipt.low_us is not None]
            highs = [receipt.high_us for receipt in receipts if receipt.high_us is not None]
            if highs:
                since = min(lows) if before.high_us is None else before.high_us
                self._include(cells, max(0, max(highs) - since))
            self._read_searches(control)

    def at(self, control: int) -> Statistics | None:
        """The counts with all searches up to a control position; None if nothing was ever counted."""
        with self._commit_lock:
            self._continue(self._store.commits.snapshot())
            self._read_searches(control)
            return self._made if self._made.objects.any() or self._made.weights.any() else None

    def save(self) -> None:
        """Write what has changed since the last time; a failure is logged, and the next time may do better."""
        with self._commit_lock:
            self._saved_at = self._clock()
            if not self._changed:
                return
            name = new_name(FileKind.STATISTICS)
            try:
                size = write_array_file(
                    self._store.data_path(name), self._made.to_arrays(), durable=self._store.durable
                )
                said = FileEntry(FileKind.STATISTICS, name, 1, size, meta={"control": self._control})
                snapshot = self._store.commits.refresh()
                old = tuple(entry.name for entry in snapshot.entries(FileKind.STATISTICS))
                self._store.commits.append(MergeCommit(add=(said,), remove=old), snapshot.version)
            except (OSError, SightlineError) as error:
                log.warning("the statistics could not be written: %s", error)
                return
            self._file, self._saved_control, self._changed = name, self._control, False

    def save_if_due(self) -> None:
        """Save when the last time is a minute ago."""
        if self._clock() - self._saved_at >= SAVE_S:
            self.save()

    def counted_files(self) -> list[str]:
        """Files of searches that the saved state has counted: nobody will read them again."""
        logged = self._store.control.read()[: self._saved_control + 1]
        return [entry.request.file for entry in logged if isinstance(entry.request, CountSearches)]

    def _include(self, cells: CellCounts, span_us: int) -> None:
        if span_us:
            self._made = self._made.decayed(0.5 ** min(span_us / HALF_LIFE_US, 1.0))
        self._made = self._made.with_cells(cells.counts, span_us)
        self._changed = True

    def _continue(self, snapshot: Snapshot) -> None:
        """Take up the saved state, unless it is the one at hand: another pipeline may have been at work since."""
        entries = snapshot.entries(FileKind.STATISTICS)
        if not entries or entries[-1].name == self._file:
            return
        self._file, self._changed = entries[-1].name, False
        self._saved_control = self._control = int(entries[-1].meta["control"])
        try:
            self._made = Statistics.from_arrays(_arrays(self._store, self._file))
        except (OSError, SightlineError) as error:
            log.warning("the statistics are lost, counting begins anew: %s", error)
            self._made = Statistics.empty(self._store.config.space)

    def _read_searches(self, control: int) -> None:
        for entry in self._store.control.read(self._control):
            if entry.position > control:
                break
            if isinstance(entry.request, CountSearches):
                self._add_searches(entry.request)
            self._control = entry.position

    def _add_searches(self, searches: CountSearches) -> None:
        try:
            self._made = self._made.with_searches(_arrays(self._store, searches.file))
            self._changed = True
        except (OSError, SightlineError, ValueError) as error:
            log.warning("%d searches are not counted: %s", searches.queries, error)


def _arrays(store: Store, name: str) -> dict[str, npt.NDArray[Any]]:
    file = ArrayFile.open(store.data_path(name))
    return {name: file.array(name) for name in file.names}
