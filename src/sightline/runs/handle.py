"""A run on its way into the store: the handle users hold, and the loop of a one-shot source."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from sightline.model.errors import SightlineError
from sightline.stages.batch import Batches, Execute
from sightline.stages.results.report import BatchReport
from sightline.store.positions import Reading

AfterBatch = Callable[[BatchReport], None]
Failure = Callable[[str, BaseException], SightlineError]  # what a run of a name failed of, in our words


class Part(NamedTuple):
    """One micro-batch: its columns, and what runs the stages over it."""

    columns: pa.Schema
    execute: Execute


class StreamHandle(Protocol):
    """What the handle needs of Spark's ``StreamingQuery``."""

    @property
    def id(self) -> str: ...

    @property
    def isActive(self) -> bool: ...

    def exception(self) -> Exception | None: ...

    def stop(self) -> None: ...


class StopRequested(Exception):
    """Raised instead of beginning a batch after ``stop``: Spark then forgets the batch; the next start redoes it."""


class Run:
    """A stream (or a one-shot source under a name) on its way into the store, like Spark's ``StreamingQuery``.

    It has the pipeline as long as it lasts: what ``at_end`` was told is done when it ends, the last thing first.
    """

    def __init__(self, name: str, failure: Failure) -> None:
        self.name, self.id, self.failure = name, "", failure
        self.at_end = ExitStack()
        self._query: StreamHandle | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._in_batch = threading.Lock()
        self._ended = threading.Event()
        self._ending = threading.Lock()
        self._error: SightlineError | None = None
        self._last: BatchReport | None = None

    @property
    def is_active(self) -> bool:
        """Whether it may still commit."""
        if not self._ended.is_set() and self._query is not None and not self._query.isActive:
            self.finish()
        return not self._ended.is_set()

    @property
    def status(self) -> dict[str, Any]:
        """What it is doing now."""
        return {
            "message": "ended" if not self.is_active else "stopping" if self._stopping.is_set() else "running",
            "is_in_batch": self._in_batch.locked(),
            "is_active": self.is_active,
        }

    @property
    def last_progress(self) -> dict[str, Any] | None:
        """The last committed batch: its version, counts and seconds per phase."""
        return None if self._last is None else self._last.to_dict()

    def exception(self) -> SightlineError | None:
        """Why it ended by itself, None if it runs or ended well."""
        self.is_active  # noqa: B018  (notices the end)
        return self._error

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; True when it has ended. Raises what made it fail."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self.is_active:
            if deadline is not None and time.monotonic() >= deadline:
                return False
            self._ended.wait(0.1 if deadline is None else max(0.0, min(0.1, deadline - time.monotonic())))
        if self._error is not None:
            raise self._error
        return True

    def stop(self) -> None:
        """Let the batch in flight finish and commit, then end; also before anything was started."""
        self._stopping.set()
        with self._in_batch:  # interrupted inside a batch, Spark loses its work and prints a thousand lines of Java
            pass
        # Not under the lock: Spark waits for a batch that has just begun, and that batch for the lock.
        if self._query is not None:
            self._query.stop()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()
        self.finish()

    def process(
        self, part: Part, batch: int, run_id: str, batches: Batches, after: AfterBatch, reading: Reading | None
    ) -> None:
        """One micro-batch, unless a stop was asked for."""
        with self._in_batch:
            if self._stopping.is_set():
                raise StopRequested
            report = batches.process(run_id, batch, part.columns, part.execute, reading)
            if report is not None:
                self._last = report
                after(report)

    def follow(self, work: StreamHandle | threading.Thread, run_id: str = "") -> None:
        """Take charge of what does the work: a query that runs, or a thread to start."""
        if isinstance(work, threading.Thread):
            self._thread, self.id = work, run_id
            work.start()
        else:
            self._query, self.id = work, str(work.id)

    def failed(self, error: SightlineError) -> None:
        """Remember why it ends."""
        self._error = error

    def finish(self) -> None:
        """Note the end, once."""
        with self._ending:
            if self._ended.is_set():
                return
            failed = None if self._query is None else self._query.exception()
            if failed is not None and self._error is None and StopRequested.__name__ not in str(failed):
                self._error = self.failure(self.name, failed)
            self._ended.set()
        self.at_end.close()


def start_once(
    run: Run,
    parts: Iterable[Callable[[], Part]],
    run_id: str,
    batches: Batches,
    after: AfterBatch,
    reading: Reading | None = None,
) -> None:
    """Start a run on the parts of a one-shot source, batches 0, 1, ...; what is committed is not repeated."""

    def loop() -> None:
        try:
            for number, part in enumerate(parts):
                run.process(part(), number, run_id, batches, after, reading)
        except StopRequested:
            pass
        except SightlineError as error:
            run.failed(error)
        except Exception as error:
            run.failed(run.failure(run.name, error))
        finally:
            run.finish()

    run.follow(threading.Thread(target=loop, name=f"sightline-{run.name}", daemon=True), run_id)
