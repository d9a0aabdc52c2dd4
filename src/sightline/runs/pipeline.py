"""Being the pipeline of a store: become it, make everything ready, and let go in the end."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sightline.runs.checkpoints import once_id, run_ids
from sightline.runs.handle import Failure, Part, Run, start_once
from sightline.stages.batch import Batches
from sightline.stages.exchange.plugins import kernels, require
from sightline.stages.results.totals import LoadTotals, OnBatch
from sightline.stages.upkeep.maintain import Maintenance
from sightline.store.positions import Reading
from sightline.store.store import Store

RUNS, STAGING = "runs", "staging"
MakeParts = Callable[[Run], Iterable[Callable[[], Part]]]  # what is staged of them, the run removes in the end
Warm = Callable[[tuple[str, ...]], None]


class Pipeline:
    """The pipeline of a store as long as this process has it. Everything before a start happens under the lock.

    Parameters
    ----------
    failure : what an error of a run means, in our words
    warm : makes the kernels of the plug-ins named ready wherever batches run
    """

    def __init__(self, store: Store, failure: Failure, warm: Warm) -> None:
        self._store, self._failure, self._warm = store, failure, warm
        self._batches: Batches | None = None
        self._maintenance: Maintenance | None = None

    def load(self, parts: MakeParts, on_batch: OnBatch | None) -> dict[str, Any]:
        """Bring a one-shot source in and wait for it; returns what was counted."""
        totals = self.totals(on_batch)
        with self.held("load") as run:
            batches = self.ready()
            start_once(run, parts(run), uuid.uuid4().hex, batches, totals.add)
            run.await_termination()
            run.stop()
        return totals.counts

    def once(self, run: Run, source: str, parts: MakeParts, on_batch: OnBatch | None) -> None:
        """Start a run, which holds the pipeline, on a one-shot source; its name belongs to this source for good."""
        after, batches = self.totals(on_batch).add, self.ready()
        position = self._store.commits.refresh().position(run.name, stream=False)
        run_id = once_id(self._store.path / RUNS / run.name, source, position)
        start_once(run, parts(run), run_id, batches, after, Reading(run.name, source=source))

    @contextmanager
    def held(self, name: str) -> Iterator[Run]:
        """Have the pipeline for a run that is to be started in the block: it lets go of it when it ends.

        Where the block fails, or is interrupted at whatever point, the run is stopped, started or not: after that it
        commits nothing more, and has let go.
        """
        run = Run(name, self._failure)
        try:
            run.at_end.callback(self._store.lock.release, run)
            self._store.lock.acquire(run)
            run.at_end.callback(self._wind_down)
            yield run
        except BaseException:
            try:
                run.stop()
            finally:  # a second Ctrl-C does not wait for the batch in flight; its commit would find the store taken
                run.finish()
            raise

    def ready(self) -> Batches:
        """The batches of the store, with the routing asked for in force."""
        config = self._store.config
        if self._batches is None:
            require(config)
            self._warm(tuple(kernels(config)))
            self._discard_orphans()
            shutil.rmtree(self._store.path / STAGING, ignore_errors=True)
            self._batches = Batches(self._store)
            self._maintenance = Maintenance(self._batches)
        self._batches.epochs.ensure(config.partitioner, config.workers)
        return self._batches

    def _discard_orphans(self) -> None:
        """Plans of a killed load: nothing will ever resume it. Runs are known by their folders, and by the log."""
        known = run_ids(self._store.path / RUNS) | set(self._store.commits.refresh().positions)
        for run in {plan.run for plan in self._store.plans.open_plans()} - known:
            self._store.plans.discard_run(run)

    def _wind_down(self) -> None:
        if self._maintenance is not None:
            self._maintenance.stop()
        if self._batches is not None:
            self._batches.statistics.save()

    def totals(self, on_batch: OnBatch | None) -> LoadTotals:
        """What counts the batches of a load or run, and has files merged after each."""

        def nudge() -> None:
            if self._maintenance is not None:
                self._maintenance.nudge()

        return LoadTotals(nudge, on_batch)
