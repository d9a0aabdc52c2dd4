"""One cluster for all tests of this folder, and one driver that stays while it answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.driver_process import DriverProcess
from tests.cluster.hosts import Hosts, hosts
from tests.cluster.standalone import Standalone
from tests.spark.conftest import spark

from sightline.jit import cache_root

__all__ = ["spark"]
FIRST_SECONDS = 360  # both hosts compile their kernels, and the driver if nobody ran the engine here before
TOLD = pytest.StashKey[str]()


@dataclass
class Cluster:
    """A cluster that runs, and what its first load told."""

    hosts: Hosts
    standalone: Standalone
    logs: Path
    first: dict[str, Any] = field(default_factory=dict)
    drivers: list[DriverProcess] = field(default_factory=list)

    def driver(self) -> DriverProcess:
        """The driver, or another if the last one died or hangs."""
        if not self.drivers or not self.drivers[-1].is_ready:
            if self.drivers:
                self.drivers[-1].end()
            log = self.logs / f"driver-{len(self.drivers)}.log"
            host, shared = self.hosts.driver, self.hosts.shared
            self.drivers.append(DriverProcess(host, self.standalone.url, shared, cache_root(), log))
        return self.drivers[-1]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """Hosts, master, workers and a driver; the first load is over, so kernels are compiled everywhere."""
    folder = tmp_path_factory.mktemp("cluster").resolve()
    logs = folder / "logs"
    logs.mkdir()
    with hosts(folder, [cache_root()]) as made:
        standalone = Standalone(made, logs)
        standalone.start()
        cluster = Cluster(made, standalone, logs)
        began = time.monotonic()
        store = made.shared / "first"
        cluster.first = cluster.driver().ask("load", store=store, what="table", seconds=FIRST_SECONDS)
        cluster.first["store"] = store
        what = "hosts of their own" if made.together is None else f"plain processes ({made.together})"
        loaded = time.monotonic() - began
        told = f"cluster in {standalone.seconds:.1f} s, driver and first load in {loaded:.1f} s"
        pytestconfig.stash[TOLD] = f"{what}: {told}"
        yield cluster


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the hosts were, and how long they took."""
    if TOLD in terminalreporter.config.stash:
        terminalreporter.write_line(terminalreporter.config.stash[TOLD])


@pytest.fixture
def driver(cluster: Cluster) -> DriverProcess:
    return cluster.driver()


@pytest.fixture
def shared(cluster: Cluster, request: pytest.FixtureRequest) -> Path:
    """A folder of this test that all hosts share."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    folder = cluster.hosts.shared / name
    folder.mkdir()
    return folder


@pytest.fixture
def separate(cluster: Cluster) -> Hosts:
    """The hosts, if each has a /tmp of its own."""
    if cluster.hosts.together is not None:
        pytest.skip(cluster.hosts.together)
    return cluster.hosts
