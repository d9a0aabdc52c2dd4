"""Partitioners and indexes from outside, in the driver and in Spark's workers: the example of the documentation."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.engine.refusal import ROWS, WORLD
from tests.stages.worlds import table_of

import sightline as sl
from sightline.store.entries import Epoch
from sightline.store.store import Store
from sightline.testing.partitioners import PARTITIONER_CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
STRIPES = next(code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Stripes" in code)
OBJECTS = """
from sightline.index.objects.scan import ScanObjects

class Outside(ScanObjects):
    pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stripes and an object index in a module of a name that no process has seen."""
    folder = tmp_path / "modules"
    folder.mkdir()
    name = f"outside_{uuid.uuid4().hex}"
    (folder / f"{name}.py").write_text(STRIPES + OBJECTS)
    monkeypatch.syspath_prepend(folder)
    return name


def rows() -> pa.Table:
    return table_of(ROWS)


def answers(engine: sl.Engine) -> list[object]:
    return [
        engine.matches("range").to_pylist(),
        engine.nearest("nearest").to_pylist(),
        engine.reports("top").to_pylist(),
        engine.search(sl.RangeQuery("flood", WORLD)).to_pylist(),
    ]


def load(folder: Path, spark: SparkSession, **options: object) -> list[object]:
    with sl.open(folder, spark, workers=2, ahead=None, **options) as engine:  # type: ignore[arg-type]
        engine.subscribe(sl.RangeQuery("flood", WORLD), id="range")
        engine.subscribe(sl.NearestQuery("boat", (0, 0), 3), id="nearest")
        engine.subscribe(sl.TopTermsQuery(WORLD, 3, window="4s", every="2s"), id="top")
        engine.load(rows())
        return answers(engine)


def test_the_example_is_35_lines_and_conforms(module: str) -> None:
    assert len([line for line in STRIPES.splitlines() if line.strip()]) <= 35
    kind = getattr(__import__(module), "Stripes")  # noqa: B009
    for check in PARTITIONER_CHECKS:
        check(kind)


@pytest.mark.spark
def test_classes_from_outside_answer_like_ours(tmp_path: Path, spark: SparkSession, module: str) -> None:
    chosen = {"partitioner": f"{module}:Stripes", "indexes": {"objects": f"{module}:Outside", "range": "gi2"}}
    ours = load(tmp_path / "ours", spark)
    assert load(tmp_path / "store", spark, **chosen) == ours
    assert all(ours)
    many = [sl.RangeQuery("flood", WORLD), sl.NearestQuery("", (0, 0), 2)]
    with sl.open(tmp_path / "ours", spark) as engine, sl.open(tmp_path / "store", spark, **chosen) as other:
        assert other.search_many(many).to_pylist() == engine.search_many(many).to_pylist()
        assert {leaf["split"] for leaf in other.partitions().to_pylist()} == {"stripe"}
        before = store_epochs(other)
        other.load(rows())
        assert store_epochs(other) == before, "the epoch is still the one in force"


@pytest.mark.spark
def test_a_class_that_only_the_store_names_is_not_imported(
    tmp_path: Path, spark: SparkSession, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(tmp_path / "store", spark, partitioner=f"{module}:Stripes", indexes={"objects": f"{module}:Outside"})
    as_in_a_new_process(monkeypatch, module)
    (tmp_path / "store").rename(tmp_path / "moved")  # files of the old path are mapped and opened already
    with sl.open(tmp_path / "moved", spark) as engine:
        before = engine.version
        assert engine.matches("range").to_pylist() == loaded[0], "results need neither"
        for refused in (
            lambda: engine.load(rows()),
            lambda: engine.search(sl.RangeQuery("flood", WORLD)),
            engine.partitions,
        ):
            with pytest.raises(sl.UnknownPlugin, match="passed to open again"):
                refused()
        assert engine.version == before
    with sl.open(tmp_path / "moved", spark, indexes={"objects": f"{module}:Outside"}) as engine:
        assert engine.search(sl.RangeQuery("flood", WORLD)).to_pylist() == loaded[3]
        with pytest.raises(sl.UnknownPlugin, match="unknown partitioner"):
            engine.load(rows())


def store_epochs(engine: sl.Engine) -> list[Epoch]:
    return list(Store.open(engine.path).commits.refresh().epochs)


def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Forget what was admitted and imported."""
    from sightline.index.registry import OBJECT_INDEXES
    from sightline.model import plugins
    from sightline.partition import PARTITIONERS

    monkeypatch.setattr(plugins, "_ADMITTED", {})
    for registry in (PARTITIONERS, OBJECT_INDEXES):
        for name in [name for name in registry if name.startswith(module)]:
            del registry[name]


def test_choices_left_out_stay_and_bad_ones_change_nothing(tmp_path: Path) -> None:
    with sl.open(tmp_path / "store", indexes={"range": "gi2", "objects": "rtree"}):
        pass
    with sl.open(tmp_path / "store", indexes={"nearest": "inverted"}) as engine:
        before = (engine.path / "store.json").read_bytes()
    for options, message in (
        ({"indexes": {"range": "postings"}}, "unknown index of standing range queries.*delta, fast, gi2, levels, scan"),
        ({"indexes": {"rnage": "gi2"}}, "unknown kind of index.*range, nearest, objects"),
        ({"indexes": {"range": 3}}, "not a name"),
        ({"partitioner": "hexagons"}, "unknown partitioner.*package.module:Class"),
    ):
        with pytest.raises(sl.BadConfig, match=message):
            sl.open(tmp_path / "store", **options)  # type: ignore[arg-type]
    assert (tmp_path / "store" / "store.json").read_bytes() == before
    for chosen in (b'"range": "gi2"', b'"nearest": "inverted"', b'"objects": "rtree"'):
        assert chosen in before or chosen.replace(b": ", b":") in before
