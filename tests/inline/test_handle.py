"""Stopping a run while a batch begins."""

from __future__ import annotations

import threading
from typing import Any

from sightline.model.errors import RunFailed
from sightline.runs.handle import Run, StopRequested


class Query:
    """A stream whose stop waits for the batch that has just begun, as Spark's does."""

    id, isActive = "q", True

    def __init__(self, run: Run, begun: threading.Thread) -> None:
        self.run, self.begun, self.hung = run, begun, False

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        self.begun.join(timeout=5)
        self.hung = self.begun.is_alive()


def test_a_batch_that_begins_while_the_run_is_stopped_is_told_so_and_holds_nothing_up() -> None:
    run = Run("posts", lambda name, cause: RunFailed(name))
    said: list[str] = []
    nothing: Any = None

    def begin() -> None:
        try:
            run.process(nothing, 0, "id", nothing, nothing, None)
        except StopRequested:
            said.append("told to stop")

    begun = threading.Thread(target=begin, daemon=True)
    query = Query(run, begun)
    run.follow(query)
    run._in_batch.acquire()  # the batch before is in flight
    begun.start()
    stopping = threading.Thread(target=run.stop, daemon=True)
    stopping.start()
    assert run._stopping.wait(5)
    run._in_batch.release()
    stopping.join(timeout=10)
    assert not query.hung
    assert said == ["told to stop"]
    assert not run.is_active
