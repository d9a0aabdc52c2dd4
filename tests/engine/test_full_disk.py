"""No space left: no commit, nothing half-applied, and everything goes on when there is space again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest
from tests.engine.refusal import ALL, ROWS, Refusal, posts, state
from tests.stages.worlds import Deployment, table_of

import sightline as sl
from sightline.store import disk


class FullDisk:
    """From the n-th write on there is no space."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes_left: int) -> None:
        self.left = writes_left
        self._write = disk._write_all
        monkeypatch.setattr(disk, "_write_all", self)

    def __call__(self, fd: int, buffer: bytes | memoryview) -> int:
        if self.left <= 0:
            os.write(fd, memoryview(buffer)[:1])  # a file is cut short, not missing
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return self._write(fd, buffer)


BATCH = [{**row, "ts_us": row["ts_us"] + 20_000_000} for row in ROWS]


def attempt(deployment: Deployment) -> sl.StoreFull | None:
    try:
        deployment.feed(BATCH)
    except sl.StoreFull as error:
        return error
    return None


def test_disk_full_at_every_write_of_a_batch(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the space ends, the commit does not happen; with space again, the same batch commits once."""
    before = state(deployment.folder)
    for writes in range(0, 2000, 7):
        with monkeypatch.context() as patch:
            FullDisk(patch, writes)
            refusal = attempt(deployment)
        if refusal is None:
            break
        assert isinstance(refusal, OSError)
        assert refusal.errno == errno.ENOSPC
        assert "free some space" in str(refusal)
        assert state(deployment.folder) == before
        if writes % 3 == 0:
            deployment.reopen()  # as a new process would
    assert writes > 100
    after = state(deployment.folder)
    assert after["counters"]["objects"] == 24
    assert len(after["rows"]) == 24
    assert len(after["matches"]) == 12


def test_disk_full_while_subscribing(engine: sl.Engine, refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"keywords": [["a"]], "west": [0.0], "south": [0.0], "east": [1.0], "north": [1.0]})
    with monkeypatch.context() as patch:
        FullDisk(patch, 0)
        refused(sl.StoreFull, lambda: engine.subscribe(ALL, id="late"), "free some space")
        refused(sl.StoreFull, lambda: engine.subscribe_many(table))
        refused(sl.StoreFull, lambda: engine.unsubscribe("range"))
        refused(sl.StoreFull, lambda: engine.rebalance())
        refused(sl.StoreFull, lambda: sl.open(engine.path, workers=7))
    engine.subscribe(ALL, id="late")


@pytest.mark.spark
def test_disk_full_while_staging(loading: sl.Engine, refused: Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sightline.spark.sources.pq.write_table", full)
    refused(sl.StoreFull, lambda: loading.load(posts()), "free some space")
    assert list((loading.path / "staging").iterdir()) == []


@pytest.mark.spark
def test_disk_full_while_committing_a_load(loading: sl.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks had space, the driver has none: the load fails, and goes through when it is tried again."""
    loading.load(table_of(ROWS[:1]))
    before = state(loading.path)
    real = disk.put_new

    def put_new(path: Path, data: bytes, *, durable: bool) -> bool:
        if path.parent.name == "log":
            FullDisk(monkeypatch, 0)
        return real(path, data, durable=durable)

    with monkeypatch.context() as patch:
        patch.setattr("sightline.store.log_store.put_new", put_new)
        with pytest.raises(sl.StoreFull):
            loading.load(table_of(BATCH))
    monkeypatch.undo()
    assert state(loading.path) == before
    assert loading.load(table_of(BATCH))["objects"] == 12
    assert state(loading.path)["counters"]["objects"] == 25
