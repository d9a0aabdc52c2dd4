"""Merging and sweeping in the background, between the batches of a pipeline."""

from __future__ import annotations

import threading

from sightline.model.errors import SightlineError
from sightline.stages.background import give_way
from sightline.stages.batch import Batches
from sightline.stages.upkeep.compact import BUSY_FILES, MIN_FILES, Compaction
from sightline.store.sweep import sweep

SWEEP_EVERY = 256  # commits between sweeps
PAUSE_S = 0.5  # a stream that is in its next batch so long after a commit runs back to back


class Maintenance:
    """One thread that merges after batches; its failures never fail a batch, they are kept in ``error``."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._compaction = Compaction(batches.store, batches.book, batches.commit_lock)
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._swept = batches.store.commits.snapshot().version
        self.error: SightlineError | OSError | None = None

    def nudge(self) -> None:
        """Say that there may be something to do."""
        self._wanted.set()
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._loop, name="sightline-maintenance", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Finish the merges in hand and end; the caller still holds the pipeline lock."""
        self._batches.compiler.close()
        if self._thread is not None:
            self._stopping.set()
            self._wanted.set()
            self._thread.join()
            self._thread = None

    def _loop(self) -> None:
        give_way()
        while not self._stopping.is_set():
            self._wanted.wait()
            self._wanted.clear()
            try:
                self._stopping.wait(PAUSE_S)
                busy = self._batches.in_batch
                self._compaction.run(BUSY_FILES if busy else MIN_FILES, until=self._stopping.is_set)
                self._sweep()
            except (SightlineError, OSError) as error:
                self.error = error

    def _sweep(self) -> None:
        store = self._batches.store
        if store.commits.snapshot().version - self._swept < SWEEP_EVERY:
            return
        with self._batches.commit_lock:
            batches = self._batches
            sweep(store, keep=batches.names(), done=batches.statistics.counted_files())
            self._swept = store.commits.snapshot().version
