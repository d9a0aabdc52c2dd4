"""Epochs: which routing is in force, and when it becomes another.

An epoch is an immutable routing in a file that the commit log names. A change falls between two batches, so no object
meets two routings. It comes from opening the store with another partitioner or number of workers, from a request in
the control log (`rebalance`, `fit`), or from the first fit to the objects that came.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sightline.partition import Routing, routing_class
from sightline.partition.history import History
from sightline.stages.exchange.mapped import FILES
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.routing.current import CurrentStatistics
from sightline.stages.routing.epoch_files import open_routing
from sightline.stages.routing.fitting import FIT_OBJECTS, open_history, seen_objects, stored_history
from sightline.store.array_file import write_array_file
from sightline.store.entries import Epoch, EpochCause, EpochCommit
from sightline.store.files import new_name
from sightline.store.kinds import FileKind
from sightline.store.requests import Fit
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store


class Epochs:
    """Writes the epochs of a store. The caller holds the pipeline lock."""

    def __init__(
        self, store: Store, book: SubscriptionBook, commit_lock: threading.RLock, current: CurrentStatistics
    ) -> None:
        self._store, self._book, self._commit_lock, self._current = store, book, commit_lock, current

    def routing(self, epoch: Epoch) -> Routing:
        """The routing of an epoch."""
        return FILES.get(str(self._store.path), epoch.file, "routing", open_routing)

    def unfitted(self, epoch: Epoch) -> bool:
        """Whether an epoch has a plain routing that waits for objects to be fitted to."""
        return epoch.why == EpochCause.OPENED and self.routing(epoch).fits

    def ensure(self, partitioner: str, workers: int) -> None:
        """Make the routing asked for the one in force; a different one is the next epoch."""
        with self._commit_lock:
            epochs = self._store.commits.refresh().epochs
            if not epochs or (epochs[-1].partitioner, epochs[-1].workers) != (partitioner, workers):
                start = routing_class(partitioner).start(self._store.config.space, workers)
                self._write(partitioner, start, EpochCause.OPENED)

    def serve(self) -> None:
        """Before a plan: requests that no epoch has answered yet, or the first fit, become one new epoch."""
        snapshot = self._store.commits.snapshot()
        served = max(epoch.control for epoch in snapshot.epochs)
        asked = [entry for entry in self._book.requests if entry.position > served]
        epoch = snapshot.epochs[-1]
        routing = self.routing(epoch)
        histories = [entry.request.file for entry in asked if isinstance(entry.request, Fit)]
        if histories:
            history = FILES.get(str(self._store.path), histories[-1], "history", open_history)
            self._fit(epoch, history, asked[-1].position)
        elif asked:
            loads = leaf_objects(snapshot, routing).astype(np.float64)
            dealt, cause = routing.reassigned(loads), EpochCause.REBALANCED
            self._write(epoch.partitioner, dealt, cause, epoch.leaves, asked[-1].position)
        elif self.unfitted(epoch) and seen_objects(snapshot) >= FIT_OBJECTS:
            self._fit(epoch, stored_history(self._store, self._book, snapshot))

    def _fit(self, epoch: Epoch, history: History, control: int = -1) -> None:
        """The next epoch is made for a history, and for what was counted so far."""
        known = replace(history, statistics=self._current.at(self._book.position))
        kind = routing_class(epoch.partitioner)
        fitted = kind.fitted(known, self._store.config.space, epoch.workers)
        self._write(epoch.partitioner, fitted, EpochCause.FITTED, control=control)
        self._current.save()

    def _write(self, partitioner: str, routing: Routing, why: EpochCause, layout: str = "", control: int = -1) -> None:
        """The next epoch; with new leaves unless it has the layout of an earlier one.

        Samples of objects go with the epoch that was to be fitted to them.
        """
        name = new_name(FileKind.EPOCH)
        path = self._store.data_path(name)
        write_array_file(path, routing.to_arrays(), {"partitioner": partitioner}, durable=self._store.durable)
        with self._commit_lock:
            snapshot = self._store.commits.refresh()
            number = len(snapshot.epochs)
            epoch = Epoch(number, partitioner, routing.workers, name, layout or str(number), why, control)
            waits = why == EpochCause.OPENED and routing.fits
            samples = () if waits else tuple(entry.name for entry in snapshot.entries(FileKind.SAMPLE))
            self._store.commits.append(EpochCommit(epoch=epoch, remove=samples), snapshot.version)


def leaf_objects(snapshot: Snapshot, routing: Routing) -> npt.NDArray[np.int64]:
    """Objects each leaf of the newest epoch has owned so far, by whatever worker."""
    owned = np.zeros(routing.leaf_table().num_rows, np.int64)
    prefix = f"leaf:{snapshot.epochs[-1].leaves}:"
    for name, count in snapshot.counters.items():
        if name.startswith(prefix):
            owned[int(name.removeprefix(prefix))] = count
    return owned
