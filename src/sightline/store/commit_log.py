"""The commit log: one entry per version, written by the one pipeline of a store, read by everyone.

Readers see committed entries only. Every 64 entries the writer leaves a checkpoint of the whole state and a
hint where it is, so that opening reads two files and at most 63 entries however long the log is. Both are
derived data: when they are lost or damaged the reader takes an older checkpoint or the entries themselves.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from sightline.model.errors import CorruptFile, StoreBusy
from sightline.store.entries import Commit, commit_from
from sightline.store.log_store import LogStore
from sightline.store.numbered_log import NumberedLog, entry_name
from sightline.store.sealed_json import seal, unseal
from sightline.store.snapshot import Snapshot, SnapshotBuilder

HINT = "_last_checkpoint"
CHECKPOINT = ".checkpoint.json"


class CommitLog:
    """Appends entries and folds them into snapshots; safe to share between threads.

    Parameters
    ----------
    log_store : LogStore
        Where the entries are.
    checkpoint_every : int
        Entries between checkpoints.
    before_append : callable, optional
        Called with each entry before it is written (the store syncs the folders of its new files there).
    clock : callable
        Wall clock in seconds, written into each entry.
    """

    def __init__(
        self,
        log_store: LogStore,
        *,
        checkpoint_every: int = 64,
        before_append: Callable[[Commit], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._log = NumberedLog(log_store)
        self._every = checkpoint_every
        self._before_append = before_append
        self._clock = clock
        self._lock = threading.RLock()
        self._builder: SnapshotBuilder | None = None
        self._frozen: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """The state as last read or appended by this object; reads the log the first time only."""
        with self._lock:
            builder = self._builder
            if builder is None:
                return self.refresh()
            if self._frozen is None or self._frozen.version != builder.version:
                self._frozen = builder.freeze()
            return self._frozen

    def refresh(self) -> Snapshot:
        """Read what other processes have committed since, and return the state."""
        with self._lock:
            opening = self._builder is None
            builder = self._builder or self._from_checkpoint()
            while (entry := self._log.get(builder.version + 1)) is not None:
                builder.apply(commit_from(entry))
            if opening:
                self._log.check_dense(builder.version)
            self._builder = builder
            return self.snapshot()

    def append(self, entry: Commit, expected_version: int) -> int:
        """Commit an entry on top of `expected_version` and return its version.

        ``StoreBusy`` when that version is not the last any more: another pipeline writes this store. A full
        disk raises ``StoreFull`` and commits nothing. An entry that does not fit the state (a batch committed
        before, a file named twice, an unknown one removed) is a ``ValueError``.
        """
        with self._lock:
            if self._builder is None:
                self.refresh()
            assert self._builder is not None
            version = expected_version + 1
            entry = replace(entry, version=version, wall=round(self._clock(), 3))
            if self._builder.version != expected_version:
                raise _conflict(version)
            self._builder.check(entry)
            if self._before_append is not None:
                self._before_append(entry)
            if not self._log.put(version, entry.to_json()):
                raise _conflict(version)
            self._builder.apply(entry)
            if version % self._every == 0:
                # The commit stands whatever happens to its checkpoint (a full disk, for one).
                with contextlib.suppress(OSError):
                    self._write_checkpoint()
            return version

    def entries(self, after: int = 0) -> Iterator[Commit]:
        """Entries of the versions after `after`, oldest first (replay for sinks)."""
        version = after + 1
        while (entry := self._log.get(version)) is not None:
            yield commit_from(entry)
            version += 1

    def _write_checkpoint(self) -> None:
        assert self._builder is not None
        version = self._builder.version
        store = self._log.store
        store.replace(_checkpoint_name(version), seal(self.snapshot().to_dict()))
        store.replace(HINT, seal({"version": version}))
        # The one before stays, should this one be damaged.
        store.delete(_checkpoint_name(version - 2 * self._every))

    def _from_checkpoint(self) -> SnapshotBuilder:
        store = self._log.store
        try:
            hinted = _checkpoint_name(unseal(store.read(HINT), HINT)["version"])
            return SnapshotBuilder.from_dict(unseal(store.read(hinted), hinted))
        except (FileNotFoundError, CorruptFile):
            pass
        for name in reversed([name for name in store.names() if name.endswith(CHECKPOINT)]):
            with contextlib.suppress(FileNotFoundError, CorruptFile):
                return SnapshotBuilder.from_dict(unseal(store.read(name), name))
        return SnapshotBuilder()


def _checkpoint_name(version: int) -> str:
    return entry_name(version).removesuffix(".json") + CHECKPOINT


def _conflict(version: int) -> StoreBusy:
    return StoreBusy(
        f"version {version} was committed by another pipeline",
        hint="stop the other pipeline; only one may write a store",
    )
