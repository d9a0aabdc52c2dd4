"""A Spark standalone cluster: the master on the driver's host, a worker with one core on each other one."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.hosts import SPARK_HOME, Host, Hosts
from tests.cluster.processes import Process, below, running, wait_for

SECONDS = 60  # for a JVM to say that it is ready, on a busy machine
PORT = 7077
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR, PYTHON = "org.apache.spark.executor.CoarseGrainedExecutorBackend", "pyspark.daemon"


@dataclass
class Standalone:
    """Master and workers; they end with their hosts."""

    hosts: Hosts
    logs: Path
    url: str = ""
    seconds: float = 0.0  # it took to start
    workers: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def start(self) -> None:
        """Start everything and wait until the workers are registered."""
        began = time.monotonic()
        at = self.hosts.driver.address
        port = PORT if self.hosts.together is None else _free_port(at)
        self.url = f"spark://{at}:{port}"
        self._start(self.hosts.driver, [MASTER, "--host", at, "--port", str(port)])
        self._said([self.hosts.driver], "I have been elected leader")
        for host in self.hosts.workers:
            (host.private / "work").mkdir()
            offer = ["--cores", "1", "--memory", "2g", "--work-dir", str(host.tmp / "work")]
            self.workers[host.name] = self._start(host, [WORKER, "--host", host.address, *offer, self.url])
        self._said(self.hosts.workers, "Successfully registered with master")
        self.seconds = time.monotonic() - began

    def executors(self) -> dict[str, Process]:
        """The executor of each host that has one now."""
        known = running()
        found = {}
        for name, worker in self.workers.items():
            for process in below(worker.pid, known):
                if EXECUTOR in process.command:
                    found[name] = process
        return found

    def python_workers(self, host: str) -> list[Process]:
        """The Python processes that run the tasks of a host: the daemon of its executor starts them."""
        known = running()
        daemons = [process for process in below(self.workers[host].pid, known) if PYTHON in process.command]
        started_by = {process.pid for process in daemons}
        return [process for process in daemons if process.parent in started_by]

    def said_by_executors(self, host: str) -> str:
        """All that the executors of a host have written so far."""
        folder = next(worker.private for worker in self.hosts.workers if worker.name == host) / "work"
        return "".join(path.read_text(errors="replace") for path in sorted(folder.glob("*/*/stderr")))

    def _start(self, host: Host, command: list[str]) -> subprocess.Popen[str]:
        what, *rest = command
        # No port that two runs on one loopback would fight for.
        return host.start([str(SPARK_HOME / "bin" / "spark-class"), what, "--webui-port", "0", *rest], self._log(host))

    def _log(self, host: Host) -> Path:
        return self.logs / f"{host.name}.spark.log"

    def _said(self, hosts: tuple[Host, ...] | list[Host], words: str) -> None:
        logs = [self._log(host) for host in hosts]
        wait_for(lambda: all(words in log.read_text(errors="replace") for log in logs), SECONDS, repr(words), logs)


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
