"""Processes of this machine as a tree, to find an executor or a Python worker and to end it by its id."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ZOMBIE = "Z"


@dataclass(frozen=True)
class Process:
    """A process that runs, as seen from outside of any namespace."""

    pid: int
    parent: int
    command: str

    def argument(self, name: str) -> str:
        """What follows a word of the command."""
        words = self.command.split()
        return words[words.index(name) + 1]


def running() -> list[Process]:
    """All processes that are not dead yet."""
    columns = [word for name in ("pid", "ppid", "stat", "args") for word in ("-o", f"{name}=")]
    said = subprocess.run(["ps", "-A", "-ww", *columns], capture_output=True, text=True, timeout=20, check=True)
    found = []
    for line in said.stdout.splitlines():
        pid, parent, state, *command = line.split(None, 3)
        if not state.startswith(ZOMBIE):
            found.append(Process(int(pid), int(parent), command[0] if command else ""))
    return found


def below(root: int, processes: Sequence[Process] | None = None) -> list[Process]:
    """All descendants of a process, parents before their children."""
    known = running() if processes is None else processes
    found: list[Process] = []
    parents = {root}
    while parents:
        children = [process for process in known if process.parent in parents]
        found.extend(children)
        parents = {process.pid for process in children}
    return found


def wait_for(holds: Callable[[], bool], seconds: float, what: str, logs: Sequence[Path] = ()) -> None:
    """Poll until something holds; a failure quotes the ends of the logs."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{seconds:g} s passed without {what}{ends_of(logs)}")
        time.sleep(0.05)


def ends_of(logs: Sequence[Path], lines: int = 30) -> str:
    """The last lines of each log, under its name."""
    said = [(log, log.read_text(errors="replace").splitlines()[-lines:]) for log in logs if log.exists()]
    return "".join(f"\n--- {log.name}\n" + "\n".join(end) for log, end in said)
