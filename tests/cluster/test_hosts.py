"""The cluster itself: tasks run on both hosts, each sees what it should, and compiles its kernels once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.conftest import Cluster
from tests.cluster.driver import ROWS
from tests.cluster.driver_process import DriverProcess
from tests.cluster.hosts import Host, Hosts

import sightline as sl

pytestmark = pytest.mark.cluster


def marks(host: Host) -> list[Path]:
    return list(host.kernels.glob("kernels-*/warmed-*"))


def test_tasks_run_on_both_hosts(driver: DriverProcess, separate: Hosts) -> None:
    counted = driver.ask("hosts_of_tasks", rows=1000)
    assert set(counted) == {host.name for host in separate.workers}
    assert sum(counted.values()) == 1000


def test_the_first_load_is_complete(cluster: Cluster) -> None:
    assert cluster.first["counters"]["objects"] == ROWS
    with sl.open(cluster.first["store"]) as engine:
        assert engine.search(sl.RangeQuery("flood", sl.Box(-180, -90, 180, 90))).num_rows == ROWS


def test_executors_compile_their_kernels_before_the_first_batch(cluster: Cluster) -> None:
    """Each host in the cache of its user, to the end: a marker says so, and it is older than the batch."""
    batches = sorted((cluster.first["store"] / "data" / "segment").iterdir(), key=lambda path: path.stat().st_mtime)
    for host in cluster.hosts.workers:
        found = marks(host)
        assert [path.name for path in found] == ["warmed-grid-levels-balls-postings"], host.name
        assert found[0].stat().st_mtime <= batches[0].stat().st_mtime, host.name


def test_kernels_are_compiled_once(cluster: Cluster, driver: DriverProcess, shared: Path) -> None:
    before = {path: path.stat().st_mtime_ns for host in cluster.hosts.workers for path in marks(host)}
    assert len(before) == len(cluster.hosts.workers)
    assert driver.ask("load", store=shared / "store", what="range")["counters"]["objects"] == ROWS
    assert {path: path.stat().st_mtime_ns for path in before} == before
