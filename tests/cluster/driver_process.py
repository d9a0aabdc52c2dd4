"""The driver program as the tests hold it: told steps, asked for answers, each within a time."""

from __future__ import annotations

import json
import queue
import sys
import threading
from pathlib import Path
from typing import Any

from tests.cluster.hosts import ROOT, Host
from tests.cluster.processes import ends_of

SECONDS = 100  # for a step, unless it says otherwise


class StepFailed(Exception):
    """A step raised an error on the driver; ``kinds`` are the names of its class and of its bases."""

    def __init__(self, kinds: list[str], message: str) -> None:
        super().__init__(f"{kinds[0]}: {message}")
        self.kinds, self.message = kinds, message


class DriverProcess:
    """A driver on its host, with its working directory in the shared folder."""

    def __init__(self, host: Host, master: str, cwd: Path, cache: Path, log: Path) -> None:
        self._host, self._log = host, log
        # The kernels of the driver are those of whoever runs the tests: only the workers begin with nothing.
        more = {"PYTHONPATH": str(ROOT), "SIGHTLINE_CACHE_DIR": str(cache)}
        command = [sys.executable, "-m", "tests.cluster.driver", master, host.address]
        self._process = host.start(command, log, cwd=cwd, talks=True, more=more)
        self._answers: queue.Queue[str] = queue.Queue()
        self._open = 0  # steps that were told and not answered
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def is_ready(self) -> bool:
        """Whether it runs and waits for a step."""
        return self._process.poll() is None and self._open == 0

    def ask(self, step: str, *, seconds: float = SECONDS, **said: Any) -> Any:
        """Run a step; returns its value or raises ``StepFailed``."""
        self.tell(step, **said)
        return self.answer(seconds)

    def tell(self, step: str, **said: Any) -> None:
        """Begin a step."""
        self._open += 1
        self._process.stdin.write(json.dumps({"step": step, **said}, default=str) + "\n")
        self._process.stdin.flush()

    def answer(self, seconds: float = SECONDS) -> Any:
        """Wait for the end of the step that was told."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"no answer of the driver in {seconds:g} s{ends_of([self._log])}") from None
        if not line:
            raise ChildProcessError(f"the driver has ended{ends_of([self._log])}")
        self._open -= 1
        answer = json.loads(line)
        if "error" in answer:
            raise StepFailed(answer["error"], answer["message"])
        return answer["value"]

    @property
    def is_busy(self) -> bool:
        """Whether a step that was told has not ended."""
        return self._process.poll() is None and self._answers.empty()

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._host.end(self._process)

    def _listen(self) -> None:
        with self._process.stdout as said:
            for line in said:
                self._answers.put(line)
        self._answers.put("")
