"""Checkpoints against the log: whatever is lost or torn, what Spark reads afterwards is what was committed."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.power_cut import KINDS, hurt

import sightline as sl
from sightline.runs import checkpoint_files
from sightline.runs.checkpoint_files import is_whole, read_text, write_text
from sightline.runs.checkpoints import Checkpoint, once_id, run_ids
from sightline.spark.repair import repair
from sightline.store.positions import Position, advanced
from sightline.store.snapshot import Snapshot

RUN = "12a2e73f-81f2-44c2-b154-e38544dd0ee8"


@pytest.fixture(autouse=True, scope="module")
def unsynced() -> Iterator[None]:
    """Without waiting for the disk, which is most of the time here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint_files, "replace_file", lambda path, data, durable: path.write_bytes(data))
        yield


def offsets(batch: int, end: int) -> str:
    return f'v1\n{{"batchTimestampMs":{1000 + batch},"conf":{{"a":"b"}}}}\n{{"logOffset":{end}}}'


def source_log(number: int) -> str:
    lines = range(number + 1) if number % 10 == 9 else [number]
    return "\n".join(["v1", *(f'{{"path":"file:///f{i}","timestamp":{i},"batchId":{i}}}' for i in lines)])


def log_name(number: int) -> str:
    return f"{number}.compact" if number % 10 == 9 else str(number)


class Stream:
    """A checkpoint as Spark writes it for a file stream, batch by batch, and the position the log would have."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.checkpoint = folder, Checkpoint(folder)
        self.position: Position | None = None
        write_text(folder / "metadata", f'{{"id":"{RUN}"}}')

    def plan(self, batch: int) -> None:
        write_text(self.folder / "sources" / "0" / log_name(batch), source_log(batch))
        write_text(self.folder / "offsets" / str(batch), offsets(batch, batch))

    def commit(self, batch: int, *, by_spark: bool = True) -> None:
        reading = self.checkpoint.reading(batch, self.position)
        self.position = advanced(self.position, RUN, batch, batch + 1, reading)
        if by_spark:
            write_text(self.folder / "commits" / str(batch), 'v1\n{"nextBatchWatermarkMs":0}')

    def repair(self) -> list[str]:
        runs = {} if self.position is None else {RUN: self.position.batch}
        logs = {} if self.position is None else self.position.logs
        return repair(Checkpoint(self.folder), Snapshot(runs=runs), self.position, logs)


def stream_of(folder: Path, committed: int, planned: bool = False) -> Stream:
    made = Stream(folder / "posts")
    for batch in range(committed):
        made.plan(batch)
        made.commit(batch)
    if planned:
        made.plan(committed)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_readings_carry_each_entry_once_and_drop_what_is_compacted(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, 9)
    assert stream.position is not None
    assert stream.position.carried == {f"0/{n}" for n in range(9)}
    stream.plan(9)
    reading = stream.checkpoint.reading(9, stream.position)
    assert set(reading.logs) == {"0/9.compact"}
    assert set(reading.done) == {f"0/{n}" for n in range(9)}
    stream.commit(9)
    stream.plan(10)
    stream.commit(10)
    assert stream.position.carried == {"0/9.compact", "0/10"}
    assert set(stream.position.offsets) == {9, 10}


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("committed", [0, 1, 2, 12])
def test_a_sound_checkpoint_stays_as_it_is(tmp_path: Path, committed: int, planned: bool) -> None:
    stream = stream_of(tmp_path, committed, planned)
    before = contents(stream.folder)
    assert stream.repair() == []
    assert contents(stream.folder) == before


def check_spark_can_go_on(stream: Stream) -> None:
    """What Spark reads at a start: the last two offsets, the file log since its compaction, the id, the commits."""
    position = stream.position
    assert position is not None
    folder = stream.folder
    assert Checkpoint(folder).query_id() == position.run
    for batch, text in position.offsets.items():
        assert checkpoint_files.holds(folder / "offsets" / str(batch), text)
    for name, text in position.logs.items():
        assert checkpoint_files.holds(folder / "sources" / name, text)
    found = checkpoint_files.numbered(folder / "offsets")
    assert max(found) in (position.batch, position.batch + 1)
    for name in found.values():
        if int(name) > position.batch:
            assert checkpoint_files.is_checked(folder / "offsets" / name)
            end = json.loads((folder / "offsets" / name).read_text().splitlines()[2])["logOffset"]
            assert end in checkpoint_files.numbered(folder / "sources" / "0"), "Spark would look for it at every start"
    commits = checkpoint_files.numbered(folder / "commits")
    assert all(number <= position.batch and is_whole(folder / "commits" / name) for number, name in commits.items())
    known = checkpoint_files.numbered(folder / "sources" / "0")
    compact = max((number for number, name in known.items() if name.endswith(".compact")), default=0)
    assert all(is_whole(folder / "sources" / "0" / name) for number, name in known.items() if number >= compact)
    fresh = sorted(number for number in known if number > position.batch)
    assert fresh == list(range(position.batch + 1, position.batch + 1 + len(fresh))), "no gap Spark would stumble over"


@st.composite
def damages(draw: st.DrawFn) -> list[tuple[int, str, int]]:
    """Which files (by place in the sorted list), how, and where they are cut."""
    one = st.tuples(st.integers(0, 200), st.sampled_from(KINDS), st.integers(1, 400))
    return draw(st.lists(one, min_size=1, max_size=12))


@settings(max_examples=200)
@given(committed=st.integers(1, 13), planned=st.booleans(), damage=damages(), everything=st.booleans())
def test_any_damage_is_repaired(
    committed: int, planned: bool, damage: list[tuple[int, str, int]], everything: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stream = stream_of(Path(folder), committed, planned)
        hurt(stream.folder, damage)
        if everything and damage[0][1] == "remove":
            shutil.rmtree(stream.folder)
        stream.repair()
        check_spark_can_go_on(stream)
        after = contents(stream.folder)
        assert stream.repair() == []
        assert contents(stream.folder) == after


def test_a_planned_batch_whose_source_entry_is_lost_is_planned_anew(tmp_path: Path) -> None:
    """Without it Spark ends every start with "batch 3 doesn't exist"."""
    stream = stream_of(tmp_path, 3, planned=True)
    for name in ("3", ".3.crc"):
        (stream.folder / "sources" / "0" / name).unlink()
    assert stream.repair() == ["offsets/3"]
    check_spark_can_go_on(stream)


def test_an_uncommitted_compaction_needs_its_checksum(tmp_path: Path) -> None:
    """Cut off at the end of a line it would hide what was read, and Spark would read it again."""
    stream = stream_of(tmp_path, 9, planned=True)
    path = stream.folder / "sources" / "0" / "9.compact"
    path.write_text("\n".join(path.read_text().splitlines()[:5]))
    (path.parent / ".9.compact.crc").write_bytes(b"")
    assert stream.repair() == ["offsets/9", "sources/0/9.compact"]
    check_spark_can_go_on(stream)


@pytest.mark.parametrize("lost", [9, 19])
def test_older_compactions_do_not_mislead_spark(tmp_path: Path, lost: int) -> None:
    """It takes the distance of the last two for the rule by which it looks for the others."""
    stream = stream_of(tmp_path, 32)
    (stream.folder / "sources" / "0" / f"{lost}.compact").unlink()
    assert stream.repair() == []
    left = [name for name in checkpoint_files.numbered(stream.folder / "sources" / "0").values() if "compact" in name]
    assert left == ["29.compact"]
    check_spark_can_go_on(stream)


def test_offsets_of_a_union_that_are_cut_off_are_planned_anew(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, 0, planned=True)
    (stream.folder / "offsets" / ".0.crc").unlink()  # nobody knows whether a second source was in it
    assert stream.repair() == ["offsets/0"]


def test_the_first_reading_of_an_older_run_has_the_offsets_before_it(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, 3)
    stream.position = None
    stream.plan(3)
    stream.commit(3)
    assert stream.position is not None
    assert stream.position.offsets == {2: offsets(2, 2), 3: offsets(3, 3)}
    shutil.rmtree(stream.folder)
    stream.repair()
    check_spark_can_go_on(stream)


def test_a_file_that_vanishes_while_a_batch_is_planned_is_no_empty_text(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, 2, planned=True)
    (stream.folder / "sources" / "0" / "2").write_text("")
    with pytest.raises(sl.RunFailed, match="has lost a file while batch 2 was planned"):
        stream.commit(2)
    (stream.folder / "sources" / "0" / "1").unlink()
    assert stream.position is not None
    write_text(stream.folder / "sources" / "0" / "2", source_log(2))
    stream.commit(2)
    assert "0/1" in stream.position.carried, "what a commit carries is not forgotten because the folder lost it"


def test_a_checksum_without_its_id_is_removed(tmp_path: Path) -> None:
    """With it, Spark believes that another query is at work."""
    stream = Stream(tmp_path / "posts")
    (stream.folder / "metadata").unlink()
    stream.repair()
    assert list(stream.folder.iterdir()) == []


def test_what_is_ahead_of_the_log_is_removed(tmp_path: Path) -> None:
    """A log that was restored from an older copy: Spark's word that later batches were committed does not count."""
    stream = stream_of(tmp_path, 3)
    older = stream.position
    for batch in range(3, 6):
        stream.plan(batch)
        stream.commit(batch)
    stream.position = older
    assert stream.repair() != []
    assert sorted(checkpoint_files.numbered(stream.folder / "commits")) == [0, 1, 2]
    assert sorted(checkpoint_files.numbered(stream.folder / "offsets")) == [0, 1, 2, 3]
    assert sorted(checkpoint_files.numbered(stream.folder / "sources" / "0")) == list(range(6)), "files that were seen"


def test_offsets_that_were_planned_anew_are_those_of_the_log_again(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, 3)
    write_text(stream.folder / "offsets" / "2", offsets(2, 7))
    write_text(stream.folder / "offsets" / "3", offsets(3, 8))
    assert stream.repair() == ["offsets/2", "offsets/3"]
    check_spark_can_go_on(stream)
    assert not (stream.folder / "offsets" / "3").exists()


def test_a_checkpoint_of_another_query_gives_way(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stream = stream_of(tmp_path, 2)
    shutil.rmtree(stream.folder)
    other = stream_of(tmp_path, 5, planned=True)
    write_text(other.folder / "metadata", '{"id":"another"}')
    with caplog.at_level(logging.WARNING, "sightline.runs"):
        stream.repair()
    check_spark_can_go_on(stream)
    assert sorted(checkpoint_files.numbered(stream.folder / "offsets")) == [0, 1]
    assert "repaired the checkpoint of run 'posts' from the log: " in caplog.text


def test_unfinished_files_of_a_killed_writer_go(tmp_path: Path) -> None:
    """With one of these in the folder of its offsets, Spark refuses to begin."""
    stream = Stream(tmp_path / "posts")
    left = stream.folder / "offsets" / ".0.080eea22-1c60-4469-aa38-af8f5222b701.tmp"
    left.parent.mkdir()
    left.write_text("v1")
    (left.parent / f".{left.name}.crc").write_bytes(b"crc\0")
    assert stream.repair() == [f"offsets/{left.name}"]
    assert list(left.parent.iterdir()) == []


def test_before_the_first_commit_torn_files_go_and_whole_ones_stay(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, 0, planned=True)
    assert stream.repair() == []
    (stream.folder / "sources" / "0" / "0").write_bytes(b"v1")
    assert stream.repair() == ["offsets/0", "sources/0/0"]
    stream.plan(0)
    (stream.folder / "metadata").write_bytes(b"")
    stream.repair()
    assert [path for path in stream.folder.rglob("*") if path.is_file()] == []


def test_a_kafka_source_begins_where_it_first_began(tmp_path: Path) -> None:
    """Its initial offsets are the only entry of its log, behind a zero byte; nobody else has them."""
    stream = Stream(tmp_path / "posts")
    path = stream.folder / "sources" / "0" / "0"
    text = '\0v1\n{"posts":{"0":17}}'
    write_text(path, text)
    write_text(stream.folder / "offsets" / "0", 'v1\n{"batchTimestampMs":1}\n{"posts":{"0":40}}')
    assert stream.repair() == []
    (path.parent / ".0.crc").unlink()
    assert stream.repair() == []
    stream.commit(0)
    path.unlink()
    assert stream.repair() == ["sources/0/0"]
    assert read_text(path) == text


def test_runs_from_before_readings_go_on_as_they_are(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stream = stream_of(tmp_path, 3)
    before = contents(stream.folder)
    with caplog.at_level(logging.WARNING, "sightline.runs"):
        assert repair(Checkpoint(stream.folder), Snapshot(runs={RUN: 2}), None, {}) == []
    assert "cannot be repaired" in caplog.text
    assert contents(stream.folder) == before
    (stream.folder / "metadata").unlink()
    with pytest.raises(sl.RunFailed, match="lost its id"):
        repair(Checkpoint(stream.folder), Snapshot(runs={RUN: 2}), None, {})
    shutil.rmtree(stream.folder / "commits")
    with pytest.raises(sl.RunFailed, match="lost its id"):  # a second batch was planned, so the first was committed
        repair(Checkpoint(stream.folder), Snapshot(runs={RUN: 2}), None, {})


def test_ids_of_one_shot_runs_survive(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "runs" / "archive"
    first = once_id(folder, "a.parquet", None)
    assert once_id(folder, "a.parquet", None) == first
    position = Position(first, "archive", 0, 1, source="a.parquet")
    for damage in (lambda: (folder / "id").unlink(), lambda: (folder / "id").write_text('{"id": "12')):
        damage()
        assert run_ids(tmp_path / "runs") == set()
        assert once_id(folder, "a.parquet", position) == first
        assert run_ids(tmp_path / "runs") == {first}
    shutil.rmtree(tmp_path / "runs")
    with pytest.raises(sl.BadConfig, match="another source"):
        once_id(folder, "b.parquet", position)
    assert once_id(folder, "a.parquet", position) == first
    (folder / "id").write_text("")
    with caplog.at_level(logging.WARNING, "sightline.runs"):
        assert once_id(folder, "a.parquet", None) != first
    assert "begins anew" in caplog.text
