"""The benchmarks of searches and of ingestion: their figures, and that wrong answers stop them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sightline.bench import extras
from sightline.bench.duckdb_postings import DuckdbPostings
from sightline.bench.registry import run_bench
from sightline.bench.summary import Board
from sightline.bench.tantivy_documents import TantivyDocuments
from sightline.bench.workload import posts
from sightline.index.protocol import TopTerms
from sightline.index.registry import DEFAULT_OBJECTS, OBJECT_INDEXES
from sightline.model.errors import BadConfig

SMALL = {"objects": 3_000, "queries": 4}
PROMISED = {
    "srq": {"mean_us", "p99_us", "ratio_duckdb", "ratio_tantivy", "engine_mean_us"},
    "skq": {"mean_us", "p99_us", "ratio_duckdb", "engine_mean_us"},
    "stq": {"mean_us", "p99_us", "ratio_duckdb", "engine_mean_us"},
}
BUILT = {"bytes_per_object", "build_s", "build_over_sort"}


@pytest.mark.parametrize(("name", "loads"), [("srq", 12), ("skq", 3), ("stq", 4)])
def test_figures(name: str, loads: int) -> None:
    result = run_bench(name, SMALL)
    assert set(result["metrics"]) >= PROMISED[name] | BUILT
    assert len(result["loads"]) == loads
    for figures in result["loads"].values():
        assert set(figures) >= PROMISED[name]
        assert figures["queries"] == 4
        assert figures["mean_us"] <= figures["p99_us"]
    assert result["metrics"]["worst_ratio_duckdb"] == min(one["ratio_duckdb"] for one in result["loads"].values())
    assert result["params"]["engine_rows"] == 3_000


class Forgetful:
    """Readers of the default index that lose something."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @classmethod
    def build(cls, *args: Any) -> Any:
        return TRUE_INDEX.build(*args)

    @classmethod
    def open(cls, arrays: Callable[[str], Any], rows: int) -> Forgetful:
        return cls(TRUE_INDEX.open(arrays, rows))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def range(self, *args: Any) -> Any:
        return self._inner.range(*args)[:-1]

    def nearest(self, *args: Any) -> Any:
        rows, distance = self._inner.nearest(*args)
        return rows[:-1], distance[:-1]

    def top_terms(self, pieces: Any, lo: int, hi: int, region: Any, space: Any, k: int) -> Any:
        counts = self._inner.term_counts(pieces, lo, hi, region, space)
        terms = np.flatnonzero(counts)[1:]
        return TopTerms(terms, counts[terms], 0)


TRUE_INDEX = OBJECT_INDEXES[DEFAULT_OBJECTS]


@pytest.mark.parametrize("name", ["srq", "skq", "stq"])
def test_an_index_that_loses_an_answer_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBJECT_INDEXES, DEFAULT_OBJECTS, Forgetful)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="disagrees"):
        run_bench(name, SMALL)


def test_baselines_equal_a_loop() -> None:
    objects = posts(800, 3)
    duckdb, tantivy = DuckdbPostings(objects), TantivyDocuments(objects)
    assert len(tantivy) == 800
    have = [set(objects.terms.ids[a:b].tolist()) for a, b in zip(objects.terms.offsets, objects.terms.offsets[1:],
                                                                 strict=False)]  # fmt: skip
    for words in ([0], [0, 1], [2, 0, 1]):
        for box in ((-180.0, -90.0, 180.0, 90.0), (-30.0, -20.0, 80.0, 60.0)):
            expected = [
                row for row in range(800)
                if set(words) <= have[row] and box[0] <= objects.lon[row] <= box[2]
                and box[1] <= objects.lat[row] <= box[3]
            ]  # fmt: skip
            assert expected
            assert sorted(duckdb.range(words, box).tolist()) == expected
            assert sorted(tantivy.range(words, box).tolist()) == expected
    duckdb.close()


def test_ratios_are_of_means_over_all_queries() -> None:
    board = Board()
    board.add("a", {"ours": np.array([1.0, 3.0]), "duckdb": np.array([10.0, 30.0]), "engine": np.array([5.0, 5.0])})
    board.add("b", {"ours": np.array([2.0, 2.0]), "duckdb": np.array([4.0, 4.0]), "engine": np.array([7.0, 7.0])})
    assert board.loads["a"]["ratio_duckdb"] == 10
    figures = board.metrics()
    assert (figures["mean_us"], figures["ratio_duckdb"], figures["worst_ratio_duckdb"]) == (2.0, 6.0, 2.0)
    assert figures["engine_mean_us"] == 6.0


def test_ingest() -> None:
    result = run_bench("ingest", {"objects": 2_000, "rounds": 1})
    assert {"objects_per_s", "ratio_duckdb", "ratio_duckdb_rows", "ratio_tantivy"} <= set(result["metrics"])
    assert min(result["metrics"].values()) > 0


def test_lost_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TantivyDocuments, "__len__", lambda self: 1_999)
    with pytest.raises(AssertionError, match="1999 rows written instead of 2000"):
        run_bench("ingest", {"objects": 2_000, "rounds": 1})


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(BadConfig, match=r"duckdb is not installed.*sightline\[bench\]"):
        extras.extra("duckdb")
