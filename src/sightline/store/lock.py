"""One pipeline per store: an advisory lock the system drops when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
from pathlib import Path

from sightline.model.errors import StoreBusy

# Strong references: a lock whose owner dropped it is still held, and a fork must find it.
_held: set[PipelineLock] = set()


class PipelineLock:
    """``flock`` on a file that names its holder.

    Held for owners: each ``acquire`` needs a ``release`` for the same owner, and may get more. Another lock object,
    even in the same process, is another pipeline and is refused.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._fd: int | None = None
        self._owners: set[object] = set()
        self._guard = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return bool(self._owners)

    def acquire(self, owner: object) -> None:
        """Take the lock, or raise ``StoreBusy`` naming the holder. Never waits."""
        with self._guard:
            if self._fd is None:
                _held.add(self)
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if not self._owners:
                self._lock_file(self._fd)
            self._owners.add(owner)

    def release(self, owner: object) -> None:
        """Let go for an owner, also for one whose ``acquire`` failed or was interrupted at whatever point."""
        with self._guard:
            self._owners.discard(owner)
            if not self._owners:
                self._close()

    def holder(self) -> str:
        """Who wrote the lock file last, for messages."""
        try:
            return self.path.read_text().strip() or "a process that has not said its name yet"
        except OSError:
            return "an unknown process"

    def _lock_file(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._close()
            raise StoreBusy(
                f"another pipeline writes this store: {self.holder()}",
                value=str(self.path.parent),
                hint="stop it first; searching and subscribing need no lock",
            ) from None
        # The text is for people; the lock itself is what counts, so a full disk here is no failure.
        with contextlib.suppress(OSError):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def _close(self) -> None:
        """Drop the descriptor; the system releases the lock with the last one of its open file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        _held.discard(self)

    def _forget_in_child(self) -> None:
        """After a fork: a child must not keep the lock alive when its parent dies."""
        self._guard = threading.Lock()
        self._owners = set()
        self._close()


def _after_fork() -> None:
    for lock in list(_held):
        lock._forget_in_child()


os.register_at_fork(after_in_child=_after_fork)
