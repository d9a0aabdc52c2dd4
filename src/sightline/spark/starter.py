"""Starting loads and runs: become the pipeline of the store, make everything ready, and let go in the end."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sightline.model.errors import BadSource
from sightline.spark.checkpoints import Checkpoint, once_id, run_ids
from sightline.spark.connect import refuse_connect
from sightline.spark.repair import repair
from sightline.spark.runs import Run, start_once, start_stream
from sightline.spark.sources import chunks, fingerprint
from sightline.spark.warming import warm_everywhere
from sightline.stages.batch import Batches
from sightline.stages.exchange.plugins import kernels, require
from sightline.stages.results.totals import LoadTotals, OnBatch
from sightline.stages.upkeep.maintain import Maintenance
from sightline.store.positions import Position, Reading, logs_of
from sightline.store.snapshot import Snapshot
from sightline.store.store import DATA, Store

RUNS, STAGING = "runs", "staging"


class Starter:
    """The pipeline of a store as long as this process has it. Everything before a start happens under the lock."""

    def __init__(self, store: Store, spark: Callable[[], SparkSession]) -> None:
        self._store, self._spark = store, spark
        self._batches: Batches | None = None
        self._maintenance: Maintenance | None = None

    def load(self, source: Any, columns: Mapping[str, str] | None, on_batch: OnBatch | None) -> dict[str, Any]:
        """Bring a one-shot source in and wait for it; returns what was counted."""
        totals = self._totals(on_batch)
        with self._pipeline("load") as run:
            if getattr(source, "isStreaming", False):
                raise BadSource("load takes a source that ends", value="a streaming DataFrame", hint="use run")
            batches = self._ready()
            start_once(run, self._frames(run, source, columns), uuid.uuid4().hex, batches, totals.add)
            run.await_termination()
            run.stop()
        return totals.counts

    def run(
        self,
        source: Any,
        name: str,
        trigger: str | timedelta,
        columns: Mapping[str, str] | None,
        on_batch: OnBatch | None,
    ) -> Run:
        """Start a source under a name in the background."""
        with self._pipeline(name) as run:
            after, batches = self._totals(on_batch).add, self._ready()
            if getattr(source, "isStreaming", False):
                refuse_connect(source)
                checkpoint = Checkpoint(self._store.path / RUNS / name)
                repair(checkpoint, *self._store.read(lambda snapshot: self._position(snapshot, name)))
                start_stream(run, source, checkpoint, trigger, columns, batches, after)
            else:
                said = fingerprint(source)
                position = self._store.commits.refresh().position(name, stream=False)
                run_id = once_id(self._store.path / RUNS / name, said, position)
                frames = self._frames(run, source, columns)
                start_once(run, frames, run_id, batches, after, Reading(name, source=said))
        return run

    @contextmanager
    def _pipeline(self, name: str) -> Iterator[Run]:
        """Have the pipeline for a run that is to be started in the block: it lets go of it when it ends.

        Where the block fails, or is interrupted at whatever point, the run is stopped, started or not: after that it
        commits nothing more, and has let go.
        """
        run = Run(name)
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

    def _frames(self, run: Run, source: Any, columns: Mapping[str, str] | None) -> Sequence[Callable[[], DataFrame]]:
        """The parts of a one-shot source; what is staged of them stays until the run ends."""
        parts = chunks(source, self._spark(), columns, self._store.path / STAGING)
        run.at_end.callback(parts.remove_staged)
        return parts.frames

    def _position(self, snapshot: Snapshot, name: str) -> tuple[Snapshot, Position | None, dict[str, str]]:
        position = snapshot.position(name, stream=True)
        return snapshot, position, {} if position is None else logs_of(position, self._store.path / DATA)

    def _ready(self) -> Batches:
        config = self._store.config
        if self._batches is None:
            require(config)
            warm_everywhere(self._spark(), tuple(kernels(config)))
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

    def _totals(self, on_batch: OnBatch | None) -> LoadTotals:
        def nudge() -> None:
            if self._maintenance is not None:
                self._maintenance.nudge()

        return LoadTotals(nudge, on_batch)
