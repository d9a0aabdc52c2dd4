"""Without Spark: the same stages in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.engine.refusal import ROWS, WORLD
from tests.stages.worlds import table_of

import sightline as sl

EVERYTHING = sl.RangeQuery("", WORLD)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sl.Engine]:
    with sl.open(tmp_path / "store", spark="inline", workers=2, ahead=None) as engine:
        yield engine


def test_a_load_matches_and_can_be_searched(engine: sl.Engine) -> None:
    engine.subscribe(sl.RangeQuery("flood", WORLD), id="range")
    engine.subscribe(sl.NearestQuery("boat", (0, 0), 3), id="nearest")
    engine.subscribe(sl.TopTermsQuery(WORLD, 3, window="4s", every="2s"), id="top")
    assert engine.load(table_of(ROWS)) == {"objects": 12, "matches": 6, "rejects": 0, "commits": 1}
    assert engine.matches("range").num_rows == 6
    assert [row["object_id"] for row in engine.nearest("nearest")] == ["r1", "r3", "r5"]
    assert engine.reports("top").num_rows > 0
    queries = [sl.RangeQuery("flood", WORLD), sl.NearestQuery("", (0, 0), 2), sl.TopTermsQuery(WORLD, 2)] * 200
    together = engine.search_many(queries)
    alone = [row for query in queries[:3] for row in engine.search(query)]
    assert together.num_rows == 200 * len(alone)
    assert set(together["query"].to_pylist()) == set(range(600))
    with pytest.raises(sl.BadQuery, match="query 1 of the list"):
        engine.search_many([EVERYTHING, sl.NearestQuery("", (500, 0), 2)])


def test_pandas_and_runs(engine: sl.Engine) -> None:
    frame = table_of(ROWS).to_pandas()
    assert engine.load(frame)["objects"] == 12
    run = engine.run(frame, name="again")
    assert run.await_termination(60)
    assert engine.counters()["objects"] == 24
    assert engine.run(frame, name="again").await_termination(60), "what is committed is not repeated"
    assert engine.counters()["objects"] == 24
    with pytest.raises(sl.BadConfig, match="another source"):
        engine.run(frame.head(3), name="again")


@pytest.mark.parametrize("source", [5, None, "nowhere.parquet", [1, 2], pd.Series([1])])
def test_what_it_cannot_take_changes_nothing(engine: sl.Engine, source: Any) -> None:
    with pytest.raises(sl.BadSource, match=r"pyarrow\.Table"):
        engine.load(source)
    with pytest.raises(sl.BadConfig, match="no Spark session"):
        engine.spark
    assert engine.counters() == {}


def test_another_word_than_inline(tmp_path: Path) -> None:
    with pytest.raises(sl.BadConfig, match="'inline' or None"):
        sl.open(tmp_path / "store", spark="local")
    assert not (tmp_path / "store").exists()


def test_half_a_surrogate_pair_is_rejected(engine: sl.Engine, tmp_path: Path) -> None:
    good = '{"id": "1", "lon": 1.5, "lat": 2.5, "ts": "2024-05-01", "text": "flood \\ud83c\\udf0a"}'
    bad = good.replace("\\udf0a", "").replace('"1"', '"2"')
    (tmp_path / "posts.jsonl").write_text(f"{good}\n{bad}\n")
    assert engine.load(tmp_path / "posts.jsonl") == {"objects": 1, "matches": 0, "rejects": 1, "commits": 1}
    assert engine.search(EVERYTHING)["text"].to_pylist() == ["flood \U0001f30a"]
    point = '"geometry": {"type": "Point", "coordinates": [1, 2]}'
    features = ", ".join(f'{{"type": "Feature", {point}, "properties": {row}}}' for row in (good, bad))
    (tmp_path / "posts.geojson").write_text(f'{{"type": "FeatureCollection", "features": [{features}]}}')
    assert engine.load(tmp_path / "posts.geojson")["rejects"] == 1
    assert {row["reason"] for row in engine.rejects()} == {"undecodable record"}
    assert all("ud83c" in row["raw"] for row in engine.rejects())
