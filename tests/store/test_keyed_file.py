from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.memory_log import MemoryLogStore

from sightline.model.errors import CorruptFile
from sightline.store import (
    ArrayFile,
    CommitLog,
    FileEntry,
    KeyedFile,
    KeyedTable,
    Store,
    key_filter,
    merge_keyed,
    new_name,
    pick_merge,
    write_keyed,
)
from sightline.store.entries import BatchCommit, Commit, MergeCommit
from sightline.store.keyed_file import KeyedStats

OBJECTS = pa.table({"object_id": ["a", "b", "c"], "text": ["x", "y", "z"]})


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def test_select_joins_objects_and_fills_batch(tmp_path: Path) -> None:
    keys = np.array([7, 3, 7, 9], np.int64)
    columns = pa.table({"object": pa.array([0, 1, 2, 0], pa.int32()), "rank": [1, 2, 3, 4]})
    stats = write_keyed(tmp_path / "k.sl", keys, columns, OBJECTS, durable=False)
    assert (stats.rows, stats.low, stats.high, stats.bytes) == (4, 3, 9, (tmp_path / "k.sl").stat().st_size)
    entry = stats.entry("matches", "matches/x.sl", "s")
    assert [key for key in range(12) if entry.may_hold(key)] == [3, 7, 9]
    file = KeyedFile.open(tmp_path / "k.sl", version=5)
    assert file.keys.tolist() == [3, 7, 9]
    assert rows_of(file.select(7)) == [
        {"rank": 1, "batch": 5, "object_id": "a", "text": "x"},
        {"rank": 3, "batch": 5, "object_id": "c", "text": "z"},
    ]
    assert file.select(4).num_rows == 0
    assert file.select(4).schema == file.select(7).schema
    assert file.all()["key"].to_pylist() == [3, 7, 7, 9]
    assert KeyedFile.open(tmp_path / "k.sl").select(3)["batch"].to_pylist() == [None]


def test_stored_batch_wins_over_the_version(tmp_path: Path) -> None:
    columns = pa.table({"batch": pa.array([None, 2], pa.int64())})
    write_keyed(tmp_path / "k.sl", np.array([1, 1], np.int64), columns, durable=False)
    assert KeyedFile.open(tmp_path / "k.sl", version=9).select(1)["batch"].to_pylist() == [9, 2]


def test_empty_and_bad_tables(tmp_path: Path) -> None:
    none = np.empty(0, np.int64)
    stats = write_keyed(tmp_path / "e.sl", none, pa.table({"rank": pa.array([], pa.int64())}), durable=False)
    assert not stats.entry("matches", "x").may_hold(0)
    assert KeyedFile.open(tmp_path / "e.sl").all().num_rows == 0
    one = np.zeros(1, np.int64)
    for columns, objects in [
        (pa.table({"rank": [1]}), OBJECTS),
        (pa.table({"object": pa.array([3], pa.int32())}), OBJECTS),
        (pa.table({"object": pa.array([0], pa.int64())}), OBJECTS),
        (pa.table({"object": pa.array([0], pa.int32()), "text": ["x"]}), OBJECTS),
        (pa.table({"rank": [1, 2]}), None),
    ]:
        with pytest.raises(ValueError, match=r"object|keys"):
            write_keyed(tmp_path / "bad.sl", one, columns, objects, durable=False)
    assert not (tmp_path / "bad.sl").exists()


def test_merging_needs_versions_and_a_known_mode(tmp_path: Path) -> None:
    write_keyed(tmp_path / "k.sl", np.array([1], np.int64), pa.table({"rank": [1]}), durable=False)
    fresh, old = KeyedFile.open(tmp_path / "k.sl"), KeyedFile.open(tmp_path / "k.sl", 3)
    with pytest.raises(ValueError, match="not committed"):
        merge_keyed([old, fresh])
    with pytest.raises(ValueError, match="mode"):
        merge_keyed([old], "newest")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no files"):
        merge_keyed([])


def test_payload_columns_of_different_files_are_united(tmp_path: Path) -> None:
    for name, objects in (("a", pa.table({"object_id": ["a"]})), ("b", pa.table({"object_id": ["b"], "lang": ["de"]}))):
        columns = pa.table({"object": pa.array([0], pa.int32())})
        write_keyed(tmp_path / name, np.array([1], np.int64), columns, objects, durable=False)
    merged = merge_keyed([KeyedFile.open(tmp_path / "a", 1), KeyedFile.open(tmp_path / "b", 2)])
    write_keyed(tmp_path / "m", merged.keys, merged.columns, merged.objects, merged.offsets, durable=False)
    assert rows_of(KeyedFile.open(tmp_path / "m").select(1)) == [
        {"batch": 1, "object_id": "a", "lang": None},
        {"batch": 2, "object_id": "b", "lang": "de"},
    ]


@settings(max_examples=60, deadline=None)
@given(files=st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=12), min_size=1, max_size=5))
def test_files_of_references_alone_are_merged_by_runs(
    files: list[list[tuple[int, int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pairs")
    opened, model = [], {key: [] for key in range(6)}  # type: ignore[var-annotated]
    for at, pairs in enumerate(files):
        keys, objects = np.array([p[0] for p in pairs], np.int64), pa.array([p[1] for p in pairs], pa.int32())
        names = pa.table({"name": [f"{at} {o}" for o in range(5)]})
        write_keyed(folder / f"{at}.sl", keys, pa.table({"object": objects}), names, durable=False)
        opened.append(KeyedFile.open(folder / f"{at}.sl", at + 1))
        for key, obj in sorted(pairs, key=lambda p: p[0]):
            model[key].append({"batch": at + 1, "name": f"{at} {obj}"})
    merged = merge_keyed(opened)
    assert merged.offsets is not None
    write_keyed(folder / "m.sl", merged.keys, merged.columns, merged.objects, merged.offsets, durable=False)
    file = KeyedFile.open(folder / "m.sl")
    assert {key: rows_of(file.select(key)) for key in range(6)} == model


row = st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 99))  # key, object, value


@settings(max_examples=60, deadline=None)
@given(
    files=st.lists(st.tuples(st.integers(1, 6), st.lists(row, max_size=12)), min_size=1, max_size=5),
    mode=st.sampled_from(["concat", "latest"]),
    split=st.integers(0, 5),
)
def test_merging_equals_a_naive_model(
    files: list[tuple[int, list[tuple[int, int, int]]]], mode: str, split: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "merge"
    folder.mkdir(exist_ok=True)
    model: dict[int, list[tuple[int, int, str, int]]] = {}
    opened = []
    for at, (version, rows) in enumerate(sorted(files, key=lambda f: f[0])):
        path = folder / f"{at}.sl"
        path.unlink(missing_ok=True)
        names = [f"{at}-{i}" for i in range(4)]
        columns = pa.table(
            {"object": pa.array([r[1] for r in rows], pa.int32()), "value": pa.array([r[2] for r in rows], pa.int64())}
        )
        write_keyed(path, np.array([r[0] for r in rows], np.int64), columns, pa.table({"name": names}), durable=False)
        opened.append(KeyedFile.open(path, version))
        for key, obj, value in rows:
            model.setdefault(key, []).append((version, at, names[obj], value))
    want = {
        key: [
            (v, n, x)
            for v, _, n, x in sorted(items, key=lambda i: (i[0], i[1]))
            if mode == "concat" or v == max(i[0] for i in items)
        ]
        for key, items in model.items()
    }

    def merged(parts: list[KeyedFile], name: str) -> KeyedFile:
        (folder / name).unlink(missing_ok=True)
        table = merge_keyed(parts, mode)  # type: ignore[arg-type]
        write_keyed(folder / name, table.keys, table.columns, table.objects, table.offsets, durable=False)
        return KeyedFile.open(folder / name)

    once = merged(opened, "once.sl")
    left, right = opened[:split], opened[split:]
    twice = merged([merged(part, f"part{i}.sl") for i, part in enumerate((left, right)) if part], "twice.sl")
    for file in (once, twice):
        got = {key: [(r["batch"], r["name"], r["value"]) for r in rows_of(file.select(key))] for key in range(6)}
        assert {key: rows for key, rows in got.items() if rows} == want
        objects = file.objects()
        assert objects is not None
        assert objects.num_rows == len({n for items in want.values() for _, n, _ in items})


def test_a_damaged_result_file_does_not_hide_the_others(store: Store) -> None:
    names = [new_name("matches") for _ in range(2)]
    for name in names:
        write_keyed(
            store.data_path(name), np.arange(50, dtype=np.int64), pa.table({"rank": list(range(50))}), durable=False
        )
    path = store.data_path(names[0])
    data = bytearray(path.read_bytes())
    at = data.find(b"ARROW1")
    data[at + 300] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptFile, match=path.name):
        KeyedFile.open(path, 1).select(3)
    assert KeyedFile.open(store.data_path(names[1]), 1).select(3).num_rows == 1


class Commits:
    """Batches of one result file each, merged as the policy says; rows are (subscription, value)."""

    HOT = 3

    def __init__(self, store: Store) -> None:
        self.store, self.version = store, 0

    def fresh(self, keys: list[int], values: list[int]) -> Any:
        return KeyedTable(np.array(keys, np.int64), pa.table({"value": values}))

    def file(self, name: str, content: Any) -> KeyedStats:
        return write_keyed(
            self.store.data_path(name), content.keys, content.columns, content.objects, content.offsets, durable=False
        )

    def merged(self, group: list[FileEntry]) -> Any:
        return merge_keyed([KeyedFile.open(self.store.data_path(e.name), e.version) for e in group])

    def batch(self, number: int) -> None:
        name = new_name("matches")
        stats = self.file(name, self.fresh([self.HOT, 10 + number % 50], [number, 0]))
        added = (stats.entry("matches", name, "all"),)
        self._append(BatchCommit(run="r", batch=number, high=number, low=0, add=added))

    def merge(self) -> None:
        for group in pick_merge(self.store.commits.snapshot().files["matches"].values()):
            name = new_name("matches")
            stats = self.file(name, self.merged(group))
            entry = stats.entry("matches", name, "all", version=group[-1].version)
            self._append(MergeCommit(add=(entry,), remove=tuple(e.name for e in group)))

    def _append(self, entry: Commit) -> None:
        self.version = self.store.commits.append(entry, self.version)


class CommitsInMemory(Commits):
    """The same, but files and log stay in memory until :meth:`flush`: 10,000 commits in seconds."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.log = MemoryLogStore()
        store.commits = CommitLog(self.log)
        self.contents: dict[str, tuple[list[int], list[int]]] = {}

    def fresh(self, keys: list[int], values: list[int]) -> Any:
        return keys, values

    def file(self, name: str, content: Any) -> KeyedStats:
        self.contents[name] = content
        keys = content[0]
        return KeyedStats(len(keys), 1, min(keys), max(keys), key_filter(np.array(keys, np.int64)))

    def merged(self, group: list[FileEntry]) -> Any:
        parts = [self.contents.pop(e.name) for e in group]
        return [key for part in parts for key in part[0]], [value for part in parts for value in part[1]]

    def flush(self) -> None:
        for name, (keys, values) in self.contents.items():
            super().file(name, super().fresh(keys, values))
        for name in self.log.names()[-300:]:  # the hint, the last checkpoints and all after them
            (self.store.path / "log" / name).write_bytes(self.log.read(name))


@pytest.mark.parametrize(("kind", "commits"), [(CommitsInMemory, 10_000), (Commits, 150)])
def test_one_key_after_many_commits_opens_few_files(
    kind: type[Commits], commits: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every 20 commits the policy is asked and obeyed, as a background merger would."""
    writer = kind(store)
    for number in range(commits):
        writer.batch(number)
        if number % 20 == 19:
            writer.merge()
    if isinstance(writer, CommitsInMemory):
        writer.flush()
    opened: list[str] = []
    original = ArrayFile.open.__func__  # type: ignore[attr-defined]

    def counted(cls: type[ArrayFile], path: Path, **more: Any) -> ArrayFile:
        opened.append(str(path))
        file: ArrayFile = original(cls, path, **more)
        return file

    monkeypatch.setattr(ArrayFile, "open", classmethod(counted))
    entries = [e for e in Store.open(store.path).commits.snapshot().entries("matches") if e.may_hold(writer.HOT)]
    parts = [KeyedFile.open(store.data_path(e.name), e.version).select(writer.HOT) for e in entries]
    assert 1 <= len(opened) <= 50
    assert pa.concat_tables(parts)["value"].to_pylist() == list(range(commits))
