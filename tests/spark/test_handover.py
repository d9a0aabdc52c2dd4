"""Parcels as mapped files: the same values, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.stages.worlds import new_folder

import sightline as sl
from sightline.model.config import StoreConfig
from sightline.spark import handover
from sightline.stages.job import Job
from sightline.stages.parcel import OBJECTS, RECEIPT, Parcel
from sightline.store.store import Store


def job_of(folder: Path) -> Job:
    Store.create(folder, StoreConfig(workers=2), durable=False)
    return Job(
        store=str(folder), config={}, workers=2, epoch_file="", reject_after_us=None, lateness_us=0, high_us=None,
        marks=[], keep_objects=True, durable=False, segment_rows=1, object_index="postings", merge_parts=0,
    )  # fmt: skip


def files(job: Job) -> list[Path]:
    folder = job.target().path(handover.HANDED)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def values(parcels: list[Parcel]) -> list[tuple[int, int, bytes]]:
    return [(parcel.worker, parcel.kind, bytes(memoryview(parcel.blob))) for parcel in parcels]


def test_large_parcels_become_files_and_come_back(tmp_path: Path) -> None:
    job = job_of(tmp_path / "store")
    sent = [Parcel(1, OBJECTS, pa.py_buffer(b"x" * 100)), Parcel(0, RECEIPT, b"small"), Parcel(0, OBJECTS, b"y" * 99)]
    moved = list(handover.named(sent, job, least=99))
    assert [len(parcel.blob) < 60 for parcel in moved] == [True] * 3
    assert [path.stat().st_size for path in files(job)] in ([99, 100], [100, 99])
    got = list(handover.opened(moved, job))
    handover.clear(job)
    assert files(job) == []
    assert values(got) == values(sent)  # a map outlives the name of its file


def test_on_several_machines_there_are_no_files(tmp_path: Path) -> None:
    job = job_of(tmp_path / "store")
    sent = [Parcel(1, OBJECTS, b"x" * (2 * handover.LEAST_BYTES))]
    assert list(handover.named(sent, job, least=None)) == sent
    handover.clear(job)  # there is no folder yet
    assert files(job) == []


@pytest.mark.spark
def test_a_failed_batch_leaves_no_files(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "LEAST_BYTES", 1)
    rows = spark.createDataFrame([(str(i), 1.0, 1.0, "2026-01-01", "word") for i in range(9)], "id string, lon double, "
                                 "lat double, ts string, text string")  # fmt: skip
    with new_folder() as folder, sl.open(Path(folder) / "store", spark=spark, workers=2) as engine:
        engine.load(rows)
        handed = Path(folder) / "store" / "data" / handover.HANDED
        assert handed.is_dir(), "the first batch went by files"
        assert list(handed.iterdir()) == []
        broken = rows.selectExpr("id", "lon", "lat", "ts", "if(id = '8', raise_error('broken'), text) AS text")
        with pytest.raises(Exception, match="broken"):
            engine.load(broken)
        assert list(handed.iterdir()) == []
        assert engine.counters()["objects"] == 9
