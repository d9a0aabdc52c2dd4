"""Starting loads and runs in the caller's process: the same stages over one partition, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from sightline.inline.sources import tables
from sightline.model.errors import BadSource, RunFailed, SightlineError
from sightline.runs.handle import Part, Run
from sightline.runs.pipeline import Pipeline
from sightline.runs.source_files import ALLOWED_FILES, file_fingerprint
from sightline.stages.exchange.job import Job
from sightline.stages.inline import execute_inline
from sightline.stages.results.totals import OnBatch
from sightline.store.store import Store


class InlineStarter:
    """The pipeline of a store in this process. Kernels are compiled when they are first called."""

    def __init__(self, store: Store) -> None:
        self._pipeline = Pipeline(store, _failure, lambda names: None)

    def load(self, source: Any, columns: Mapping[str, str] | None, on_batch: OnBatch | None) -> dict[str, Any]:
        """Bring a one-shot source in and wait for it; returns what was counted."""
        return self._pipeline.load(lambda run: _parts(source, columns), on_batch)

    def run(
        self,
        source: Any,
        name: str,
        trigger: str | timedelta,
        columns: Mapping[str, str] | None,
        on_batch: OnBatch | None,
    ) -> Run:
        """Start a one-shot source under a name in the background."""
        with self._pipeline.held(name) as run:
            self._pipeline.once(run, file_fingerprint(source), lambda run: _parts(source, columns), on_batch)
        return run


def _parts(source: Any, columns: Mapping[str, str] | None) -> Iterator[Callable[[], Part]]:
    """The parts of a source. The first is read at once, so that a bad source is refused before anything is started."""
    if getattr(source, "isStreaming", False):
        raise BadSource("an inline engine takes no streams", value="a streaming DataFrame", allowed=ALLOWED_FILES)
    read = tables(source, columns)
    return _chained(next(read), read)


def _chained(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[Callable[[], Part]]:
    yield partial(_part, first)
    for table in rest:
        yield partial(_part, table)


def _part(table: pa.Table) -> Part:
    def execute(job: Job) -> list[bytes]:
        return execute_inline([table.to_batches()], job)

    return Part(table.schema, execute)


def _failure(name: str, cause: BaseException) -> SightlineError:
    error = cause if isinstance(cause, SightlineError) else RunFailed(f"run {name!r} failed", value=str(cause))
    if error is not cause:
        error.__cause__ = cause
    return error
