"""A committed batch that comes again is skipped if it is the same, and refused if it is not."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import sightline as sl
from sightline.stages import batch as batch_module
from sightline.stages.inline import execute_inline
from sightline.store.positions import Reading
from tests.stages.worlds import Deployment, table_of

ROWS = [{"id": str(i), "lon": 1.0, "lat": 1.0, "ts_us": i, "text": "flood"} for i in range(8)]


def offsets(end: int, planned: int = 0) -> str:
    return f'v1\n{{"batchTimestampMs":{planned}}}\n{{"logOffset":{end}}}'


def process(deployment: Deployment, batch: int, reading: Reading | None) -> object:
    table = table_of(ROWS)
    executed = lambda job: execute_inline([table.to_batches()], job)  # noqa: E731
    return deployment.batches.process("stream", batch, table.schema, executed, reading)


@pytest.mark.parametrize("inline", [True, False], ids=["in the entry", "in a file"])
def test_the_same_is_skipped_and_other_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inline: bool
) -> None:
    monkeypatch.setattr(batch_module, "INLINE_CHARACTERS", 1 << 16 if inline else 0)
    deployment = Deployment(tmp_path / "store")
    for number in range(3):
        reading = Reading("posts", offsets=offsets(number), logs={f"0/{number}": f"files {number}"})
        assert process(deployment, number, reading) is not None
    deployment.reopen()
    all_logs = {f"0/{number}": f"files {number}" for number in range(3)}
    again = Reading("posts", offsets=offsets(2, planned=99), logs=all_logs)
    assert process(deployment, 2, again) is None, "planned at another time, with the same rows"
    assert process(deployment, 1, Reading("posts", offsets=offsets(1), logs=all_logs)) is None
    for batch, other in {
        2: Reading("posts", offsets=offsets(5), logs=all_logs),  # reads further
        1: Reading("posts", offsets=offsets(1), logs={**all_logs, "0/1": "other files"}),
        0: Reading("posts", offsets=offsets(0), logs=all_logs),  # longer ago than commits are compared with
    }.items():
        with pytest.raises(sl.RunFailed, match=rf"'posts' has planned batch {batch} anew.*other rows"):
            process(deployment, batch, other)
    assert deployment.store.commits.refresh().counters["objects"] == 3 * len(ROWS)


def test_a_commit_from_before_readings_is_skipped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    deployment = Deployment(tmp_path / "store")
    assert process(deployment, 0, None) is not None
    with caplog.at_level(logging.WARNING, "sightline.runs"):
        assert process(deployment, 0, Reading("posts", offsets=offsets(4))) is None
    assert "not known" in caplog.text
    assert process(deployment, 1, Reading("posts", offsets=offsets(5))) is not None
    with pytest.raises(sl.RunFailed, match="other rows"):
        process(deployment, 1, Reading("posts", offsets=offsets(6)))


def test_files_of_long_texts_go_when_nothing_needs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_module, "INLINE_CHARACTERS", 10)
    deployment = Deployment(tmp_path / "store")
    process(deployment, 0, Reading("posts", offsets=offsets(0), logs={"0/0": "x" * 20}))
    process(deployment, 1, Reading("posts", offsets=offsets(1), logs={"0/1": "short"}))
    (entry,) = deployment.store.commits.snapshot().entries("readings")
    compact = Reading("posts", offsets=offsets(2), logs={"0/2.compact": "y" * 60}, done=("0/0", "0/1"))
    process(deployment, 2, compact)
    snapshot = deployment.store.commits.snapshot()
    assert entry.name in snapshot.gone
    assert len(snapshot.entries("readings")) == 1
    assert snapshot.positions["stream"].carried == {"0/2.compact"}
