"""Work beside the batches, in a thread that gives way to them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
NICE = 10


def give_way() -> None:
    """Lower the priority of the calling thread, on the one system where a thread has a priority of its own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


class Background(Generic[T]):
    """One piece of work, begun at once."""

    def __init__(self, name: str, work: Callable[[], T]) -> None:
        self._work = work
        self._made: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def result(self) -> T:
        """What was made, or raise what went wrong; waits if need be."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._made[0]

    def _run(self) -> None:
        give_way()
        try:
            self._made.append(self._work())
        except Exception as error:
            self._error = error
