"""Workers that see another folder under the store's path are noticed before anything is committed."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import sightline as sl
from sightline.stages.exchange import token
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.receipt import Receipt
from sightline.stages.inline import execute_inline
from sightline.stages.upkeep import maintain
from tests.stages.worlds import Deployment, table_of

ROWS = [{"id": str(i), "lon": 1.0, "lat": 1.0, "ts_us": i, "text": "flood"} for i in range(8)]


def process(deployment: Deployment, receipts_of) -> object:
    table = table_of(ROWS)
    return deployment.batches.process("other", 0, table.schema, lambda job: receipts_of(job, [table.to_batches()]))


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "store")
    made.feed(ROWS)
    token._seen.cache_clear()  # as in a process that has just started
    return made


@pytest.mark.parametrize("private", ["no folder", "a copy from before", "a copy of now with another token"])
def test_a_private_folder_is_refused(deployment: Deployment, tmp_path: Path, private: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    if private == "a copy from before":
        shutil.copytree(deployment.folder, elsewhere)
        deployment.reopen()

    def elsewhere_executed(job: Job, parts) -> list[bytes]:
        if private.startswith("a copy of now"):
            shutil.copytree(deployment.folder, elsewhere)
            (elsewhere / "data" / job.token).write_text("token/" + "0" * 32 + ".sl")
        return execute_inline(parts, replace(job, store=str(elsewhere)))

    before = deployment.store.commits.refresh()
    with pytest.raises(sl.StoreNotShared, match="does not see the driver's store"):
        process(deployment, elsewhere_executed)
    assert deployment.store.commits.refresh() == before
    assert process(deployment, lambda job, parts: execute_inline(parts, job)) is not None


def test_a_receipt_of_another_pipeline_is_refused(deployment: Deployment) -> None:
    def forged(job: Job, parts) -> list[bytes]:
        said = [json.loads(receipt) for receipt in execute_inline(parts, job)]
        return [json.dumps({**receipt, "token": "token/old.sl"}).encode() for receipt in said]

    before = deployment.store.commits.refresh()
    with pytest.raises(sl.StoreNotShared, match="another pipeline"):
        process(deployment, forged)
    assert deployment.store.commits.refresh() == before


def test_files_that_the_driver_does_not_find_are_not_committed(deployment: Deployment) -> None:
    def lost(job: Job, parts) -> list[bytes]:
        receipts = execute_inline(parts, job)
        named = [file.name for receipt in receipts for file in Receipt.from_bytes(receipt).files]
        (deployment.folder / "data" / named[0]).unlink()
        return receipts

    before = deployment.store.commits.refresh()
    with pytest.raises(sl.StoreNotShared, match="is missing here"):
        process(deployment, lost)
    assert deployment.store.commits.refresh() == before


def test_the_token_of_a_long_run_is_not_swept(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker process may start days after the pipeline."""
    deployment.feed(ROWS)
    (mine,) = (deployment.folder / "data" / "token").iterdir()
    stray = mine.with_name("0" * 32 + ".sl")
    stray.write_text("of a pipeline that was killed")
    for path in (mine, stray):
        os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(maintain, "SWEEP_EVERY", 0)
    maintain.Maintenance(deployment.batches)._sweep()
    assert list(mine.parent.iterdir()) == [mine]


def test_a_token_that_another_pipeline_removed_is_written_anew(deployment: Deployment) -> None:
    first = deployment.batches
    deployment.reopen()
    deployment.feed(ROWS)  # another pipeline has the store for a while
    deployment.batches, token_before = first, list((deployment.folder / "data" / "token").iterdir())
    token._seen.cache_clear()
    deployment.feed(ROWS)
    assert list((deployment.folder / "data" / "token").iterdir()) != token_before


def test_a_token_is_read_once_per_process(deployment: Deployment) -> None:
    deployment.feed(ROWS)
    seen = token._seen.cache_info().misses
    deployment.feed(ROWS)
    assert token._seen.cache_info().misses == seen == 1
    assert len(list((deployment.folder / "data" / "token").iterdir())) == 1
    deployment.reopen()
    deployment.feed(ROWS)
    assert len(list((deployment.folder / "data" / "token").iterdir())) == 1, "that of the pipeline before is gone"
