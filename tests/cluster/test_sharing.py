"""What driver and executors must share: a store, or a source, that only some hosts have is refused before a commit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cluster.driver import ROWS, table
from tests.cluster.driver_process import DriverProcess, StepFailed
from tests.cluster.hosts import Hosts
from tests.engine.refusal import ROWS as STORED
from tests.stages.worlds import Deployment

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("copied", [False, True], ids=["missing", "copied"])
@pytest.mark.parametrize("what", ["table", "range", "created"])
def test_a_store_that_is_not_shared_is_refused(
    driver: DriverProcess, separate: Hosts, tmp_path: Path, what: str, copied: bool
) -> None:
    """The workers have no such folder, or one of the same content that is another."""
    name = f"store-{what}-{'copied' if copied else 'missing'}"
    Deployment(tmp_path / name).feed(STORED)
    for host in (separate.driver, *(separate.workers if copied else ())):
        shutil.copytree(tmp_path / name, host.private / name)
    store = separate.driver.tmp / name
    before = driver.ask("counters", store=store)
    assert before["objects"] == before["found"] == len(STORED)
    with pytest.raises(StepFailed) as failed:
        driver.ask("load", store=store, what=what)
    assert driver.ask("counters", store=store) == before
    assert failed.value.kinds[0] == "StoreNotShared", failed.value
    assert "SightlineError" in failed.value.kinds
    assert str(store) in failed.value.message
    for host in separate.workers:
        assert not copied or _data(host.private / name) == _data(tmp_path / name), f"files were left on {host.name}"


def _data(store: Path) -> set[str]:
    return {path.relative_to(store).as_posix() for path in (store / "data").rglob("*") if path.is_file()}


def test_a_relative_path_of_a_store_is_the_drivers(driver: DriverProcess, shared: Path) -> None:
    """The driver began in the folder above; executors are elsewhere."""
    loaded = driver.ask("load", store=f"{shared.name}/store/", what="table")
    assert loaded["counters"]["objects"] == ROWS
    assert driver.ask("counters", store=shared / "store")["found"] == ROWS
    assert len(list((shared / "store" / "log").glob("*.json"))) > 0


def test_a_relative_path_after_the_driver_has_moved(driver: DriverProcess, shared: Path) -> None:
    """The JVM of the driver stays where it began: a path must not mean two folders."""
    loaded = driver.ask("load", store="store/", what="range", cwd=shared)
    assert loaded["counters"]["objects"] == ROWS
    assert driver.ask("counters", store=shared / "store")["found"] == ROWS
    assert not (shared.parent / "store").exists()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_source_that_only_the_driver_has_is_refused(
    driver: DriverProcess, separate: Hosts, shared: Path, suffix: str
) -> None:
    path = separate.driver.private / f"posts{suffix}"
    if suffix == ".csv":
        pyarrow.csv.write_csv(table(), path)
    else:
        pq.write_table(table(), path)
    seen = separate.driver.tmp / path.name
    with pytest.raises(StepFailed) as failed:
        driver.ask("load", store=shared / "store", what=seen)
    assert driver.ask("counters", store=shared / "store") == {"found": 0}
    assert failed.value.kinds[0] == "BadSource", failed.value
    assert "not on all hosts" in failed.value.message
    assert str(seen) in failed.value.message

    shutil.copy(path, shared)  # and where all have it, it is loaded
    assert driver.ask("load", store=shared / "store", what=shared / path.name)["counters"] == {"objects": ROWS}
