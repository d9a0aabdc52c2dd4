from __future__ import annotations

import dataclasses
import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sightline.model.config import StoreConfig
from sightline.model.errors import CorruptFile, IncompatibleStore, NotAStore, StoreFull
from sightline.store import BatchPlan, FileEntry, KeyedFile, Snapshot, Store, new_name, write_keyed
from sightline.store.disk import write_file
from sightline.store.entries import BatchCommit, MergeCommit
from sightline.store.requests import Drop


def tree(path: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")}


def test_create_open_and_reopen(tmp_path: Path) -> None:
    config = StoreConfig(workers=3, seed=11)
    store = Store.create(tmp_path / "deep" / "s", config)
    assert Store.open(store.path).config == config
    assert Store.open_or_create(f"file://{store.path}", StoreConfig(workers=9)).config == config
    store.update_config(dataclasses.replace(config, lateness_us=5))
    assert Store.open(store.path).config.lateness_us == 5
    with pytest.raises(NotAStore, match="already"):
        Store.create(store.path, config)


def test_opening_writes_nothing(store: Store) -> None:
    before = tree(store.path)
    again = Store.open(store.path)
    again.commits.snapshot()
    again.control.read()
    again.plans.open_plans()
    assert tree(store.path) == before


def test_a_folder_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "build.log").write_text("y")
    before = tree(tmp_path)
    config = StoreConfig()
    for action in (Store.open, lambda p: Store.create(p, config), lambda p: Store.open_or_create(p, config)):
        with pytest.raises(NotAStore, match=str(tmp_path)):
            action(tmp_path)
        with pytest.raises(NotAStore, match="thesis"):
            action(tmp_path / "thesis.tex")
    with pytest.raises(NotAStore):
        Store.open(tmp_path / "absent")
    assert tree(tmp_path) == before


def test_a_creation_cut_short_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "data").mkdir()
    assert Store.open_or_create(tmp_path, StoreConfig(), durable=False).commits.snapshot().version == 0


def test_newer_foreign_and_damaged_store_json(store: Store) -> None:
    path = store.path / "store.json"
    body = json.loads(path.read_bytes())
    path.write_text(json.dumps({**body, "format": 2}))
    with pytest.raises(IncompatibleStore, match="newer format 2"):
        Store.open(store.path)
    path.write_text('{"name": "npm thing"}')
    with pytest.raises(NotAStore, match="not ours"):
        Store.open(store.path)
    for text in (b"", b"{", json.dumps(body).replace('"workers": 4', '"workers": 5').encode()):
        path.write_bytes(text)
        with pytest.raises(CorruptFile, match=r"store\.json"):
            Store.open(store.path)


def commit(store: Store, number: int) -> None:
    """What a batch does: plan, data file, commit."""
    store.plans.get_or_create("r", number, lambda: BatchPlan("r", number, -1, 0, 0, None, None, 1.0))
    name = new_name("matches")
    columns = pa.table({"object": pa.array([0, 0], pa.int32())})
    stats = write_keyed(
        store.data_path(name), np.array([1, 2], np.int64), columns, pa.table({"text": ["x"]}), durable=store.durable
    )
    store.commits.append(
        BatchCommit(run="r", batch=number, high=1, low=1, add=(stats.entry("matches", name),)),
        store.commits.snapshot().version,
    )


def subscribe(store: Store, number: int) -> None:
    store.control.append(Drop(nums=(number,)), 1)


class Full:
    """Makes the n-th call of any writing system function fail as on a full disk, in this thread: an engine of another
    test may still write what was searched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fail_at: int) -> None:
        self.calls, self.fail_at, self.thread = 0, fail_at, threading.get_ident()
        self.failed = ""
        for name in ("open", "write", "fsync", "link", "replace", "mkdir"):
            monkeypatch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def _wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **more: Any) -> Any:
            if threading.get_ident() != self.thread or (name == "open" and not args[1] & os.O_CREAT):
                return function(*args, **more)
            self.calls += 1
            if self.calls == self.fail_at:
                self.failed = name
                if name == "write":
                    function(args[0], bytes(args[1])[: len(args[1]) // 2])  # half of it fits
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*args, **more)

        return wrapped


def test_large_buffers_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    system_write = os.write

    def write(fd: int, data: memoryview) -> int:
        sizes.append(len(data))
        return system_write(fd, data[: len(data) - len(data) // 3])  # the system may take less

    monkeypatch.setattr(os, "write", write)
    content = np.random.default_rng(3).integers(0, 256, 2_500_000).astype(np.uint8)
    assert write_file(tmp_path / "f", [content.data, b"end"], durable=False) == 2_500_003
    assert (tmp_path / "f").read_bytes() == content.tobytes() + b"end"
    assert max(sizes) <= 1 << 20


def test_a_full_disk_at_any_step_commits_nothing_and_leaves_the_store_readable(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s", StoreConfig(), durable=True)
    commit(store, 0)
    subscribe(store, 0)
    for action, done in ((commit, lambda s: s.commits.refresh().version), (subscribe, lambda s: len(s.control.read()))):
        steps: set[str] = set()
        fail_at = 0
        while True:
            fail_at += 1
            assert done(Store.open(store.path)) == 1
            data_before = set((store.path / "data").rglob("*.sl"))
            with pytest.MonkeyPatch.context() as patch:
                disk = Full(patch, fail_at)
                error = None
                try:
                    action(store, 1)
                except StoreFull as full:
                    error = full
                if not disk.failed:
                    break
            assert error is not None, f"{disk.failed} went unnoticed"
            assert error.errno == errno.ENOSPC
            assert str(store.path) in str(error)
            steps.add(disk.failed)
            assert done(store) == done(Store.open(store.path)) == 1, disk.failed
            assert not list(store.path.rglob(".tmp-*"))
            for stray in set((store.path / "data").rglob("*.sl")) - data_before:  # whole, or not there
                KeyedFile.open(stray, 1).file.check()
            entry = Store.open(store.path).commits.snapshot().entries("matches")[0]
            assert KeyedFile.open(store.data_path(entry.name), 1).select(2)["text"].to_pylist() == ["x"]
        assert steps >= {"open", "write", "fsync", "link"}
        assert done(Store.open(store.path)) == 2
        assert done(store) == 2


def test_a_full_disk_does_not_undo_a_commit_at_its_checkpoint(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.commits._every = 1
    commit(store, 0)
    disk = Full(monkeypatch, 0)
    commit(store, 1)
    calls = disk.calls
    for number in range(2, 8):  # create, write and rename of the checkpoint and of its hint
        disk.calls, disk.fail_at, disk.failed = 0, calls - 7 + number, ""
        commit(store, number)
        assert disk.failed
        assert Store.open(store.path).commits.snapshot().version == number + 1


def test_a_full_disk_while_creating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for fail_at in range(1, 30):
        with pytest.MonkeyPatch.context() as patch:
            disk = Full(patch, fail_at)
            try:
                Store.create(tmp_path / "s", StoreConfig())
            except StoreFull:
                assert not (tmp_path / "s" / "store.json").exists()
            if not disk.failed:
                break
    assert fail_at > 5
    assert Store.open(tmp_path / "s").commits.snapshot().version == 0


def test_other_write_errors_are_not_dressed_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*args: Any, **more: Any) -> Any:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(os, "link", denied)
    with pytest.raises(PermissionError):
        subscribe(store, 0)


def test_a_reader_that_misses_a_file_retries_on_a_newer_snapshot(store: Store) -> None:
    commit(store, 0)
    seen: list[int] = []

    def reader(snapshot: Snapshot) -> int:
        (entry,) = snapshot.entries("matches")
        if not seen:  # the file is merged and swept while we look at the old snapshot
            merged = FileEntry("matches", new_name("matches"), 2, entry.bytes, version=1)
            os.rename(store.data_path(entry.name), store.data_path(merged.name))
            Store.open(store.path, durable=False).commits.append(MergeCommit(add=(merged,), remove=(entry.name,)), 1)
        seen.append(snapshot.version)
        return KeyedFile.open(store.data_path(entry.name), entry.version).rows

    assert store.read(reader) == 2
    assert seen == [1, 2]
    (entry,) = store.commits.snapshot().entries("matches")
    store.data_path(entry.name).unlink()
    with pytest.raises(CorruptFile, match=entry.name):
        store.read(reader)
