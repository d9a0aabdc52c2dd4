"""Parcels as mapped files: the same values, nothing left behind."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.stages.worlds import new_folder

import sightline as sl
from sightline.spark import handover
from sightline.spark.handover import Handover
from sightline.stages.exchange.parcel import Parcel, ParcelKind


def files(way: Handover) -> list[Path]:
    folder = Path(way.folder or "")
    return sorted(folder.iterdir()) if folder.is_dir() else []


def values(parcels: list[Parcel]) -> list[tuple[int, int, bytes]]:
    return [(parcel.worker, parcel.kind, bytes(memoryview(parcel.blob))) for parcel in parcels]


def test_large_parcels_become_files_and_come_back(tmp_path: Path) -> None:
    way = Handover(str(tmp_path / "handed"), least_bytes=99)
    sent = [
        Parcel(1, ParcelKind.OBJECTS, pa.py_buffer(b"x" * 100)),
        Parcel(0, ParcelKind.RECEIPT, b"small"),
        Parcel(0, ParcelKind.OBJECTS, b"y" * 99),
    ]
    moved = list(way.named(sent))
    assert [len(parcel.blob) < 60 for parcel in moved] == [True] * 3
    assert [path.stat().st_size for path in files(way)] in ([99, 100], [100, 99])
    got = list(way.opened(moved))
    way.clear()
    assert files(way) == []
    assert values(got) == values(sent)  # a map outlives the name of its file


def test_on_several_machines_there_are_no_files() -> None:
    way = Handover(None)
    sent = [Parcel(1, ParcelKind.OBJECTS, b"x" * (2 * handover.LEAST_BYTES))]
    assert list(way.opened(way.named(sent))) == sent
    way.clear()


def test_a_store_on_the_network_hands_over_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local, remote = str(tmp_path / "local"), str(tmp_path / "remote")
    monkeypatch.setattr(handover, "is_on_network", lambda path: path == Path(remote))
    handover.handed_folder.cache_clear()
    assert handover.handed_folder(local) == f"{local}/data/handed"
    elsewhere = Path(handover.handed_folder(remote))
    assert elsewhere.parent == Path(tempfile.gettempdir())
    assert elsewhere != Path(handover.handed_folder(remote + "2"))
    handover.handed_folder.cache_clear()


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


@pytest.mark.spark
def test_a_batch_of_a_store_on_the_network_passes_files_on_here(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "LEAST_BYTES", 1)
    monkeypatch.setattr(handover, "is_on_network", lambda path: True)
    place, said = [1.0, 2.0], {"ts": ["2026-01-01"] * 2, "text": ["x"] * 2}
    rows = pa.table({"id": ["a", "b"], "lon": place, "lat": place, **said})
    with new_folder() as folder, sl.open(Path(folder) / "store", spark=spark, workers=2) as engine:
        elsewhere = Path(handover.handed_folder(str(engine.path)))
        try:
            assert engine.load(rows)["objects"] == 2
            assert list(elsewhere.iterdir()) == []
            assert not (engine.path / "data" / handover.HANDED).exists()
        finally:
            shutil.rmtree(elsewhere)
