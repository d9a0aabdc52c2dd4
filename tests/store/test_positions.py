"""How far runs have read: summed over their commits, kept by checkpoints of the log, long texts in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sightline.model.config import StoreConfig
from sightline.model.errors import StoreNotShared
from sightline.store import FileEntry, Store, new_name
from sightline.store.entries import BatchCommit
from sightline.store.positions import Position, Reading, advanced, logs_of, write_logs
from sightline.store.snapshot import SnapshotBuilder


def entry(version: int, run: str, reading: Reading | None) -> BatchCommit:
    return BatchCommit(run=run, batch=0, version=version, reading=reading)


def test_a_position_is_the_sum_of_readings() -> None:
    at: Position | None = None
    for batch in range(4):
        reading = Reading("posts", offsets=f"o{batch}", logs={f"0/{batch}": f"s{batch}"})
        at = advanced(at, "r", batch, batch + 1, reading)
    assert at is not None
    assert (at.name, at.run, at.batch, at.version) == ("posts", "r", 3, 4)
    assert at.offsets == {2: "o2", 3: "o3"}, "as many as Spark starts from"
    assert at.carried == {"0/0", "0/1", "0/2", "0/3"}
    whole = Reading("posts", offsets="o4", logs={"0/4.compact": "all"}, done=("0/0", "0/1", "0/2", "0/3"))
    at = advanced(at, "r", 4, 5, whole)
    assert at.logs == {"0/4.compact": "all"}


def test_a_stream_and_a_file_may_have_one_name() -> None:
    builder = SnapshotBuilder()
    builder.apply(entry(1, "once", Reading("n", source="a.parquet")))
    builder.apply(entry(2, "old", Reading("n", offsets="o")))
    builder.apply(entry(3, "new", Reading("n", offsets="o")))
    builder.apply(entry(4, "load", None))
    snapshot = SnapshotBuilder.from_dict(json.loads(json.dumps(builder.freeze().to_dict()))).freeze()
    assert snapshot == builder.freeze()
    stream, once = snapshot.position("n", stream=True), snapshot.position("n", stream=False)
    assert stream is not None
    assert stream.run == "new", "the later one"
    assert once is not None
    assert (once.run, once.source) == ("once", "a.parquet")
    assert snapshot.position("other", stream=True) is None
    assert set(snapshot.runs) == {"once", "old", "new", "load"}


def test_checkpoints_from_before_there_were_positions_are_read() -> None:
    body = SnapshotBuilder().freeze().to_dict()
    del body["positions"]
    assert SnapshotBuilder.from_dict(body).freeze().positions == {}


def test_long_texts_are_in_files_as_long_as_they_are_needed(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s", StoreConfig(), durable=False)
    file = new_name("readings")
    logs = {"0/0": "v1\nlong", "0/1": "\udcff\0 no UTF-8"}
    size = write_logs(store.data_path(file), logs, durable=False)
    first = Reading("posts", offsets="o0", logs=logs)
    entry = BatchCommit(run="r", batch=0, reading=first.filed(file), add=(FileEntry("readings", file, 2, size),))
    store.commits.append(entry, 0)
    (position,) = store.commits.snapshot().positions.values()
    assert position.files == {"0/0": file, "0/1": file}
    assert logs_of(position, store.path / "data") == logs
    assert position.unneeded(Reading("posts", logs={"0/2": "x"}, done=("0/0",))) == []
    assert position.unneeded(Reading("posts", logs={"0/2": "x"}, done=("0/0", "0/1"))) == [file]


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_commit_names_only_files_that_are_here_as_written(tmp_path: Path, damage: str) -> None:
    store = Store.create(tmp_path / "s", StoreConfig(), durable=False)
    name = new_name("matches")
    store.data_path(name).parent.mkdir()
    store.data_path(name).write_bytes(b"1234")
    entry = BatchCommit(run="r", batch=0, add=(FileEntry("matches", name, 1, 4),))
    if damage == "missing":
        store.data_path(name).unlink()
    else:
        store.data_path(name).write_bytes(b"12")
    with pytest.raises(StoreNotShared, match=r"is missing|has 2 bytes"):
        store.commits.append(entry, 0)
    assert Store.open(store.path).commits.snapshot().version == 0
    store.data_path(name).write_bytes(b"1234")
    assert store.commits.append(entry, 0) == 1
