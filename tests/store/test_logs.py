from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import pytest

from sightline.model.errors import BadConfig, CorruptFile, IncompatibleStore, StoreBusy
from sightline.store import (
    CommitLog,
    ControlLog,
    FileEntry,
    LocalLogStore,
    LogStore,
    MemoryLogStore,
    log_store_for,
    new_name,
)
from sightline.store.sealed_json import seal, unseal


class CountingStore(LocalLogStore):
    """Counts the files read."""

    reads = 0
    lists = 0

    def read(self, name: str) -> bytes:
        self.reads += 1
        return super().read(name)

    def names(self, after: str | None = None) -> list[str]:
        self.lists += 1
        return super().names(after)


def batch(number: int, *, files: int = 1, run: str = "r", **more: Any) -> dict[str, Any]:
    add = [FileEntry("matches", new_name("matches"), 10, 100, low=0, high=9).to_dict() for _ in range(files)]
    return {
        "op": "batch",
        "run": run,
        "batch": number,
        "epoch": 0,
        "control": number - 1,
        "high": number * 10,
        "low": 5 - number,
        "add": add,
        "counters": {"rows": 10},
        "schema": None,
        **more,
    }


def names_of(entry: dict[str, Any]) -> list[str]:
    return [item["name"] for item in entry["add"]]


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_log_store_puts_a_name_once(tmp_path: Path, kind: str) -> None:
    store: LogStore = LocalLogStore(tmp_path, durable=True) if kind == "local" else MemoryLogStore()
    assert store.put_if_absent("a", b"1")
    assert not store.put_if_absent("a", b"2")
    assert store.read("a") == b"1"
    assert store.put_if_absent("b", b"3")
    assert store.names() == ["a", "b"]
    assert store.names(after="a") == ["b"]
    assert kind == "memory" or sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
    with pytest.raises(FileNotFoundError):
        store.read("c")
    store.replace("b", b"4")
    assert store.read("b") == b"4"
    store.delete("b")
    store.delete("b")
    assert store.names() == ["a"]


@pytest.mark.parametrize("url", ["s3://bucket/x", "hdfs://h/x", "gs://b/x", "file://otherhost/x"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(BadConfig, match="local path"):
        log_store_for(url)


def test_file_url_is_a_path(tmp_path: Path) -> None:
    assert log_store_for(f"file://{tmp_path}/x").put_if_absent("a", b"1")
    assert (tmp_path / "x" / "a").read_bytes() == b"1"


def test_sealed_json_notices_every_changed_byte() -> None:
    data = seal({"a": 12, "b": ["é", None, "\ud800"]})
    assert unseal(data, "x")["b"] == ["é", None, "\ud800"]
    for at in range(len(data) - 2):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(CorruptFile, match="x"):
            unseal(bytes(changed), "x")
    for cut in range(len(data) - 2):
        with pytest.raises(CorruptFile):
            unseal(data[:cut], "x")


def test_snapshot_folds_entries(tmp_path: Path) -> None:
    log = CommitLog(LocalLogStore(tmp_path, durable=False), clock=lambda: 77.0)
    empty = log.snapshot()
    assert (empty.version, empty.high_us, empty.control, empty.runs) == (0, None, -1, {})
    first, second = batch(0, schema=[["lang", "string"]]), batch(1, files=2)
    assert log.append(first, 0) == 1
    assert log.append({"op": "epoch", "epoch": {"number": 1, "partitioner": "grid", "workers": 2}}, 1) == 2
    assert log.append(second, 2) == 3
    merged = FileEntry("matches", new_name("matches"), 20, 200, version=3)
    assert log.append({"op": "merge", "add": [merged.to_dict()], "remove": names_of(first)}, 3) == 4
    for snap in (log.snapshot(), CommitLog(LocalLogStore(tmp_path)).snapshot()):
        assert snap.version == 4
        assert (snap.high_us, snap.low_us, snap.control) == (10, 4, 0)
        assert snap.epochs == [{"number": 1, "partitioner": "grid", "workers": 2, "valid_from": 2}]
        assert snap.counters == {"rows": 20}
        assert snap.schema == [["lang", "string"]]
        assert set(snap.files["matches"]) == {*names_of(second), merged.name}
        assert {entry.version for entry in snap.entries("matches")} == {3}
        assert snap.gone == {names_of(first)[0]: 77.0}
        assert snap.has_run("r", 1)
        assert snap.has_run("r", 0)
        assert not snap.has_run("r", 2)
        assert not snap.has_run("other", 0)
    log.append({"op": "sweep", "removed": names_of(first)}, 4)
    assert log.snapshot().gone == {}
    assert [entry["version"] for entry in log.entries(after=2)] == [3, 4, 5]


def test_a_snapshot_does_not_change_when_the_log_goes_on(tmp_path: Path) -> None:
    log = CommitLog(LocalLogStore(tmp_path, durable=False), checkpoint_every=2)
    first = batch(0)
    log.append(first, 0)
    old = log.snapshot()
    before = old.to_dict()
    log.append({**batch(1, high=99, epoch=1), "add": [FileEntry("rejects", new_name("rejects"), 1, 1).to_dict()]}, 1)
    log.append({"op": "epoch", "epoch": {"number": 1}}, 2)
    log.append({"op": "merge", "add": [], "remove": names_of(first)}, 3)
    assert old.to_dict() == before
    assert set(log.snapshot().files["matches"]) == set()
    assert len(log.snapshot().files["rejects"]) == 1


def test_a_second_writer_is_told(tmp_path: Path) -> None:
    one, two = (CommitLog(LocalLogStore(tmp_path, durable=False)) for _ in range(2))
    assert two.snapshot().version == 0
    one.append(batch(0), 0)
    with pytest.raises(StoreBusy, match="version 1"):
        two.append(batch(0), 0)
    assert two.refresh().version == 1
    with pytest.raises(StoreBusy):
        two.append(batch(1), 0)


def test_entries_that_do_not_fit_are_refused_before_they_are_written(tmp_path: Path) -> None:
    log = CommitLog(LocalLogStore(tmp_path, durable=False))
    first = batch(0)
    log.append(first, 0)
    for bad in (batch(0), {"op": "merge", "add": [], "remove": ["matches/x"]}, {**first, "batch": 1}, {"op": "what"}):
        with pytest.raises(ValueError, match=r"committed already|not named|not one of"):
            log.append(bad, 1)
    assert CommitLog(LocalLogStore(tmp_path)).snapshot().version == 1


def test_opening_ten_thousand_commits_reads_few_files_and_takes_under_a_second(tmp_path: Path) -> None:
    memory, names = MemoryLogStore(), []
    writer = CommitLog(memory, checkpoint_every=4000)
    for version in range(10_000):  # worse than in practice: nothing is merged, every file stays named
        if version == 9_500:  # more checkpoints before would tell nothing more
            writer = CommitLog(memory)
        entry = batch(version)
        writer.append(entry, version)
        names += names_of(entry)
    for name in memory.names()[-300:]:  # opening needs no older entry: they are not even there
        (tmp_path / name).write_bytes(memory.read(name))
    took = []
    for _ in range(3):  # the best of three: other processes may hold the machine
        counting = CountingStore(tmp_path)
        begin = time.perf_counter()
        snap = CommitLog(counting).snapshot()
        took.append(time.perf_counter() - begin)
    assert snap.version == 10_000
    assert snap.counters == {"rows": 100_000}
    assert set(snap.files["matches"]) == set(names)
    assert counting.reads <= 2 + 64 + 1
    assert counting.lists <= 1
    assert min(took) < 1.0


def test_damaged_checkpoints_cost_time_not_data(tmp_path: Path) -> None:
    log = CommitLog(LocalLogStore(tmp_path, durable=False), checkpoint_every=4)
    for number in range(14):
        log.append(batch(number), number)
    want = log.snapshot().to_dict()
    checkpoints = sorted(tmp_path.glob("*.checkpoint.json"))
    assert [int(p.name.split(".")[0]) for p in checkpoints] == [8, 12]
    checkpoints[1].write_bytes(checkpoints[1].read_bytes()[:-30])
    assert CommitLog(LocalLogStore(tmp_path)).snapshot().to_dict() == want
    checkpoints[0].write_bytes(b"")
    (tmp_path / "_last_checkpoint").write_bytes(b"junk")
    assert CommitLog(LocalLogStore(tmp_path)).snapshot().to_dict() == want
    for path in [*checkpoints, tmp_path / "_last_checkpoint"]:
        path.unlink()
    assert CommitLog(LocalLogStore(tmp_path)).snapshot().to_dict() == want


def test_damaged_or_lost_entries_are_named(tmp_path: Path) -> None:
    log = CommitLog(LocalLogStore(tmp_path, durable=False))
    for number in range(4):
        log.append(batch(number), number)
    entry = tmp_path / f"{3:020d}.json"
    data = entry.read_bytes()
    entry.write_bytes(data.replace(b'"rows":10', b'"rows":90', 1))
    with pytest.raises(CorruptFile, match=entry.name):
        CommitLog(LocalLogStore(tmp_path)).snapshot()
    entry.unlink()
    with pytest.raises(CorruptFile, match=entry.name):
        CommitLog(LocalLogStore(tmp_path)).snapshot()
    entry.write_bytes(seal({**unseal(data, ""), "op": "teleport"}))
    with pytest.raises(IncompatibleStore, match="teleport"):
        CommitLog(LocalLogStore(tmp_path)).snapshot()


def test_control_log_numbers_subscriptions(tmp_path: Path) -> None:
    log = ControlLog(LocalLogStore(tmp_path, durable=True))
    assert (log.tail(), log.next_num(), log.read()) == (-1, 0, [])
    a = log.append("subscribe", {"id": "a"}, 1)
    b = log.append("subscribe_many", {"file": "x"}, 1000)
    c = log.append("unsubscribe", {"id": "a"})
    assert [(e.position, e.first_num, e.next_num, e.count) for e in (a, b, c)] == [
        (0, 0, 1, 1),
        (1, 1, 1001, 1000),
        (2, 1001, 1001, 0),
    ]
    again = ControlLog(LocalLogStore(tmp_path))
    assert again.read(after=0) == [b, c]
    assert again.read(after=2) == []
    log.append("subscribe", {"id": "d"}, 2)
    assert again.tail() == 3
    assert again.next_num() == 1003
    with pytest.raises(ValueError, match="negative"):
        log.append("subscribe", {}, -1)


def test_opening_ten_thousand_requests_reads_chunks(tmp_path: Path) -> None:
    memory = MemoryLogStore()
    log = ControlLog(memory)
    for number in range(10_000):
        log.append("subscribe", {"id": str(number)}, 1)
    for name in memory.names():
        if "chunk" in name or int(name[:20]) >= 10_000 // 256 * 256:
            (tmp_path / name).write_bytes(memory.read(name))
    counting = CountingStore(tmp_path)
    entries = ControlLog(counting).read()
    assert [e.body["id"] for e in entries] == [str(n) for n in range(10_000)]
    assert counting.reads <= 10_000 // 256 + 256 + 2
    for name in memory.names():
        if "chunk" in name:
            memory.replace(name, b"junk")
    assert ControlLog(memory).read() == entries


def _append_many(folder: Path, who: int, count: int, barrier: Any) -> None:
    log = ControlLog(LocalLogStore(folder, durable=False), chunk=16)
    barrier.wait()
    for number in range(count):
        log.append("subscribe", {"who": who, "n": number}, number % 3)


def test_processes_appending_at_once_lose_nothing_and_share_no_position(tmp_path: Path) -> None:
    workers, count = 3, 60
    spawned = multiprocessing.get_context("spawn")
    barrier = spawned.Barrier(workers)
    running = [spawned.Process(target=_append_many, args=(tmp_path, w, count, barrier)) for w in range(workers)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
        assert process.exitcode == 0
    entries = ControlLog(LocalLogStore(tmp_path)).read()
    assert [e.position for e in entries] == list(range(workers * count))
    asked = [(w, n) for w in range(workers) for n in range(count)]
    assert sorted((e.body["who"], e.body["n"]) for e in entries) == asked
    for who in range(workers):  # each process's own order is kept
        assert [e.body["n"] for e in entries if e.body["who"] == who] == list(range(count))
    nums = [num for e in entries for num in range(e.first_num, e.next_num)]
    assert nums == list(range(workers * sum(n % 3 for n in range(count))))
    assert len({e.body["who"] for e in entries[:-count]}) > 1
