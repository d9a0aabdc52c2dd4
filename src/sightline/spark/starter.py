"""Starting loads and runs on Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sightline.model.errors import BadSource
from sightline.runs.checkpoints import Checkpoint
from sightline.runs.handle import Part, Run
from sightline.runs.pipeline import RUNS, STAGING, Pipeline
from sightline.spark.connect import refuse_connect
from sightline.spark.failures import failure
from sightline.spark.repair import repair
from sightline.spark.sources import chunks, fingerprint
from sightline.spark.streams import part_of, start_stream
from sightline.spark.warming import warm_everywhere
from sightline.stages.results.totals import OnBatch
from sightline.store.positions import Position, logs_of
from sightline.store.snapshot import Snapshot
from sightline.store.store import DATA, Store


class Starter:
    """The pipeline of a store as long as this process has it. Everything before a start happens under the lock."""

    def __init__(self, store: Store, spark: Callable[[], SparkSession]) -> None:
        self._store, self._spark = store, spark
        self._pipeline = Pipeline(store, failure, lambda names: warm_everywhere(spark(), names))

    def load(self, source: Any, columns: Mapping[str, str] | None, on_batch: OnBatch | None) -> dict[str, Any]:
        """Bring a one-shot source in and wait for it; returns what was counted."""

        def parts(run: Run) -> Sequence[Callable[[], Part]]:
            if getattr(source, "isStreaming", False):
                raise BadSource("load takes a source that ends", value="a streaming DataFrame", hint="use run")
            return self._parts(run, source, columns)

        return self._pipeline.load(parts, on_batch)

    def run(
        self,
        source: Any,
        name: str,
        trigger: str | timedelta,
        columns: Mapping[str, str] | None,
        on_batch: OnBatch | None,
    ) -> Run:
        """Start a source under a name in the background."""
        with self._pipeline.held(name) as run:
            if getattr(source, "isStreaming", False):
                after, batches = self._pipeline.totals(on_batch).add, self._pipeline.ready()
                refuse_connect(source)
                checkpoint = Checkpoint(self._store.path / RUNS / name)
                repair(checkpoint, *self._store.read(lambda snapshot: self._position(snapshot, name)))
                start_stream(run, source, checkpoint, trigger, columns, batches, after)
            else:
                parts = partial(self._parts, source=source, columns=columns)
                self._pipeline.once(run, fingerprint(source), parts, on_batch)
        return run

    def _parts(self, run: Run, source: Any, columns: Mapping[str, str] | None) -> Sequence[Callable[[], Part]]:
        """The parts of a one-shot source; what is staged of them stays until the run ends."""
        parts = chunks(source, self._spark(), columns, self._store.path / STAGING)
        run.at_end.callback(parts.remove_staged)
        return [partial(_part, frame) for frame in parts.frames]

    def _position(self, snapshot: Snapshot, name: str) -> tuple[Snapshot, Position | None, dict[str, str]]:
        position = snapshot.position(name, stream=True)
        return snapshot, position, {} if position is None else logs_of(position, self._store.path / DATA)


def _part(frame: Callable[[], DataFrame]) -> Part:
    return part_of(frame())
