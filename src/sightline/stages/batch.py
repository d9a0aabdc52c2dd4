"""One micro-batch from plan to commit, whoever executes its job.

The order is what makes answers exactly-once: a durable plan (which control entries, which epoch, which bound on ts),
the job (it writes files nobody names yet), one commit that names them all. A crash at any point leaves either no
commit, and the batch runs again under the same plan, or a commit, and running it again does nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from sightline.model.errors import StoreNotShared
from sightline.model.plugins import admitted
from sightline.model.time import MAX_US
from sightline.stages.exchange import schema as payload
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.plugins import kernels
from sightline.stages.exchange.receipt import Receipt
from sightline.stages.exchange.tallies import tally
from sightline.stages.exchange.target import Target
from sightline.stages.exchange.token import new_token
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.compile import Compiler
from sightline.stages.registered.standing import LayerKind
from sightline.stages.repeated import refuse_other_rows
from sightline.stages.results.closing import closing_events
from sightline.stages.results.report import BatchReport
from sightline.stages.routing.current import CurrentStatistics
from sightline.stages.routing.epochs import Epochs
from sightline.store.entries import BatchCommit
from sightline.store.files import FileEntry, new_name
from sightline.store.kinds import FileKind
from sightline.store.plans import BatchPlan
from sightline.store.positions import Position, Reading, write_logs
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store

Execute = Callable[[Job], Iterable[bytes]]  # runs the stages, returns the receipts
SEGMENT_ROWS = 1 << 20
INLINE_CHARACTERS = 1 << 16  # of the logs of a batch's sources; longer ones get a file


class Batches:
    """Plans, runs and commits the micro-batches of a store. The caller holds the pipeline lock."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        segment_rows: int = SEGMENT_ROWS,
    ) -> None:
        self.store = store
        self.book = SubscriptionBook(store)
        self.compiler = Compiler(store, self.book)
        self.commit_lock = threading.RLock()  # merges commit between the batches of this process
        self.statistics = CurrentStatistics(store, self.commit_lock)
        self.epochs = Epochs(store, self.book, self.commit_lock, self.statistics)
        self._clock = clock
        self._segment_rows = segment_rows
        self._batch_lock = threading.Lock()
        self._token: str | None = None

    @property
    def in_batch(self) -> bool:
        """Whether a batch is between its plan and its commit."""
        return self._batch_lock.locked()

    def process(
        self, run: str, batch: int, columns: pa.Schema, execute: Execute, reading: Reading | None = None
    ) -> BatchReport | None:
        """Run one batch to its commit; None if it is committed already.

        ``reading`` is what the batch reads, for the log; a batch that is repeated with other rows is refused.
        """
        with self._batch_lock:
            snapshot = self.store.commits.refresh()
            if snapshot.has_run(run, batch):
                refuse_other_rows(self.store, snapshot.positions.get(run), batch, reading)
                return None
            began = time.perf_counter()
            kept = payload.with_batch(payload.decode(snapshot.schema), columns)
            self.book.refresh()
            plan = self.store.plans.get_or_create(run, batch, lambda: self._plan(run, batch))
            snapshot = self.store.commits.snapshot()
            job = self._job(plan, snapshot)
            planned = time.perf_counter()
            receipts = [Receipt.from_bytes(receipt) for receipt in execute(job)]
            ran = time.perf_counter()
            version, counters = self._commit(plan, receipts, kept, reading)
            self.store.plans.discard(run, batch)
            self.compiler.discard_retired()
            self.statistics.save_if_due()
            seconds = {"plan": planned - began, "job": ran - planned, "commit": time.perf_counter() - ran}
            routing_s = sum(receipt.routing_s for receipt in receipts)
            return BatchReport(run, batch, version, seconds, counters, routing_s)

    def position_before(self, run: str, batch: int) -> Position | None:
        """What a batch goes on from; None also for one that is repeated, which is compared with all that was read."""
        snapshot = self.store.commits.snapshot()
        return None if snapshot.has_run(run, batch) else snapshot.positions.get(run)

    def names(self) -> list[str]:
        """Data files in use that no log names: a sweep must keep them."""
        return [*self.compiler.names(), *([] if self._token is None else [self._token])]

    def _pipeline_token(self) -> str:
        """Written when a batch needs it and it is not there: another pipeline that had the store since removes it."""
        if self._token is None or not self.store.data_path(self._token).exists():
            self._token = new_token(Target(self.store.path, self.store.durable))
        return self._token

    def _plan(self, run: str, batch: int) -> BatchPlan:
        self.epochs.serve()
        snapshot = self.store.commits.snapshot()
        now = self._clock()
        ahead = self.store.config.ahead_us
        return BatchPlan(
            run=run,
            batch=batch,
            control=self.book.position,
            epoch=len(snapshot.epochs) - 1,
            version=snapshot.version,
            high_us=snapshot.high_us,
            reject_after_us=None if ahead is None else int(now * 1e6) + ahead,
            created=now,
        )

    def _job(self, plan: BatchPlan, snapshot: Snapshot) -> Job:
        epoch = snapshot.epochs[plan.epoch]
        routing = self.epochs.routing(epoch)
        compiled = self.compiler.at(plan.control, plan.epoch, routing)
        merges = any(kind in compiled.layers for kind in (LayerKind.NEAREST, LayerKind.TOP_TERMS)) or routing.duplicates
        config = self.store.config
        return Job(
            store=str(self.store.path),
            token=self._pipeline_token(),
            config=config.to_dict(),
            workers=routing.workers,
            epoch_file=epoch.file,
            reject_after_us=plan.reject_after_us,
            lateness_us=config.lateness_us,
            high_us=snapshot.high_us,
            marks=[[self.book.next_num_at(control), mark] for control, mark in snapshot.marks],
            keep_objects=config.keep_objects,
            durable=self.store.durable,
            segment_rows=self._segment_rows,
            plugins=[*map(list, admitted())],
            kernels=kernels(config),
            merge_parts=routing.workers if merges else 0,
            merge_matches=routing.duplicates,
            sample=not config.keep_objects and self.epochs.unfitted(epoch),
            learnt=[entry.name for entry in snapshot.entries(FileKind.LEARNT) if entry.stack == epoch.file],
            compiled=compiled.layers,
            dropped=compiled.dropped,
            nearest_state=[(entry.name, entry.version) for entry in snapshot.entries(FileKind.NEAREST)],
            pane_state=[(entry.name, entry.meta.get("last_us", MAX_US)) for entry in snapshot.entries(FileKind.PANES)],
        )

    def _commit(
        self, plan: BatchPlan, receipts: list[Receipt], kept: pa.Schema, reading: Reading | None
    ) -> tuple[int, dict[str, int]]:
        if any(receipt.token != self._token for receipt in receipts):
            raise StoreNotShared("a worker has read the token of another pipeline", value=str(self.store.path))
        counters: dict[str, int] = {}
        files: list[FileEntry] = []
        with self.commit_lock:
            snapshot = self.store.commits.refresh()
            layout = snapshot.epochs[plan.epoch].leaves
            for receipt in receipts:
                files += receipt.files
                for counter, by in receipt.counters.items():
                    counters[counter] = counters.get(counter, 0) + by
            public = dict(counters)
            leaves = tally(receipt.leaves for receipt in receipts)
            counters |= {f"leaf:{layout}:{leaf}": int(leaves[leaf]) for leaf in np.flatnonzero(leaves)}
            highs = [mark for mark in [snapshot.high_us, *(r.high_us for r in receipts)] if mark is not None]
            lows = [r.low_us for r in receipts if r.low_us is not None]
            high = max(highs) if highs else None
            expired = closing_events(self.store, self.book, plan.control, snapshot, high)
            if expired is not None:
                files.append(expired)
            before = snapshot.positions.get(plan.run)
            unneeded = [] if before is None or reading is None else before.unneeded(reading)
            entry = BatchCommit(
                run=plan.run,
                batch=plan.batch,
                epoch=plan.epoch,
                control=plan.control,
                high=high,
                low=min(lows) if lows else None,
                mark=None if high is None else high - self.store.config.lateness_us,
                reading=None if reading is None else self._said(reading, plan.run, files),
                add=tuple(files),
                remove=tuple(unneeded),
                counters=counters,
                schema=payload.encode(kept) if len(kept) else None,
            )
            version = self.store.commits.append(entry, snapshot.version)
            self.statistics.include(snapshot, receipts, plan.control)
            return version, public

    def _said(self, reading: Reading, run: str, files: list[FileEntry]) -> Reading:
        """What the entry says of the reading; long texts go to a file, which is added to those of the commit."""
        texts = reading.texts()
        if sum(map(len, texts.values())) <= INLINE_CHARACTERS:
            return reading
        file = new_name(FileKind.READINGS)
        size = write_logs(self.store.data_path(file), texts, durable=self.store.durable)
        files.append(FileEntry(FileKind.READINGS, file, len(texts), size, run))
        return reading.filed(file)
