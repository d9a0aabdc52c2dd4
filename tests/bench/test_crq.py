"""The benchmark of standing range queries: its figures, and that wrong answers stop it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from sightline.bench import crq
from sightline.bench.duckdb_join import FORMULATIONS, DuckdbJoin, JoinChoice
from sightline.bench.flat_queries import FlatObjects, FlatQueries, flat_objects, flat_queries
from sightline.bench.registry import run_bench
from sightline.bench.reverse_indexes import RectangleTree, TantivyReverse, pairs_of
from sightline.bench.workload import posts, range_queries
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.registry import STANDING_INDEXES
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.scan import ScanStanding
from sightline.model.space import GEOGRAPHIC_BOUNDS, Space

SMALL: dict[str, Any] = {"queries": 400, "objects": 200, "rounds": 1}
PROMISED = {
    "objects_per_s", "ratio_gi2", "ratio_duckdb", "ratio_tantivy", "ratio_strtree", "bytes_per_subscription",
    "matches_per_object",
}  # fmt: skip


class Forgetful:
    """An index that loses its last pair."""

    def __init__(self, inner: ScanStanding) -> None:
        self._inner = inner

    @classmethod
    def build(cls, block: QueryBlock, space: Space) -> Forgetful:
        return cls(ScanStanding.build(block, space))

    def match(self, objects: ObjectColumns) -> MatchPairs:
        found = self._inner.match(objects)
        return MatchPairs(found.object[:-1], found.query[:-1], found.candidates)

    def to_arrays(self) -> Mapping[str, Any]:
        return self._inner.to_arrays()


def test_every_load_has_the_promised_figures() -> None:
    result = run_bench("crq", {**SMALL, "area": "both"})
    assert list(result["loads"]) == ["Z 0.01%", "Z mixed", "N 0.01%", "N mixed"]
    for figures in result["loads"].values():
        assert set(figures) >= {*PROMISED, "build_us_per_query", "gi2_ratio_duckdb", "ratio_duckdb_tuned"}
        assert all(figures[name] > 0 for name in PROMISED - {"matches_per_object"})
    assert result["metrics"] == result["loads"]["Z 0.01%"]
    assert result["metrics"]["matches_per_object"] > result["loads"]["N 0.01%"]["matches_per_object"]
    assert result["params"]["baseline_queries"] == 400


def test_a_smaller_set_for_slow_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crq, "BASELINE_QUERIES", 100)
    monkeypatch.setattr(crq, "DUCKDB_QUERIES", 300)
    asked: list[int] = []
    tree = RectangleTree.__init__
    monkeypatch.setattr(RectangleTree, "__init__", lambda self, q: (asked.append(len(q)), tree(self, q))[1])
    result = run_bench("crq", {**SMALL, "mix": "Z", "area": "mixed"})
    assert asked == [100]
    assert result["params"]["baseline_queries"] == 100
    assert result["params"]["duckdb_queries"] == 100  # 400 are too many for the join


def test_the_join_with_all_queries_takes_what_was_fastest_with_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crq, "BASELINE_QUERIES", 100)
    tuned: list[int] = []
    tune = DuckdbJoin.tune
    monkeypatch.setattr(DuckdbJoin, "tune", lambda self: (tuned.append(1), tune(self))[1])
    used: set[JoinChoice] = set()
    pairs = DuckdbJoin.pairs

    def noted(self: DuckdbJoin, choice: JoinChoice | None = None) -> Any:
        if self._db.execute("SELECT count(*) FROM raw_queries").fetchone()[0] > 100:
            used.add(choice or self.choice)
        return pairs(self, choice)

    monkeypatch.setattr(DuckdbJoin, "pairs", noted)
    result = run_bench("crq", {**SMALL, "mix": "Z", "area": "mixed"})
    assert len(tuned) == 1
    assert {choice.formulation for choice in used} == {
        "plain",
        result["metrics"]["duckdb_tuned_formulation"].split()[0],
    }


def test_an_index_that_loses_a_pair_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STANDING_INDEXES, "fast", Forgetful)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"fast disagrees.*1 pairs missing, 0 more"):
        crq.run(**SMALL, mix="Z", area="0.0001")


@pytest.mark.parametrize(("target", "method"), [(TantivyReverse, "ask"), (RectangleTree, "ask")])
def test_a_baseline_that_finds_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch, target: type, method: str) -> None:
    monkeypatch.setattr(target, method, lambda self, objects, i: np.empty(0, np.int64))
    with pytest.raises(AssertionError, match="disagrees"):
        crq.run(**SMALL, mix="Z", area="0.01")


def test_a_join_that_invents_a_pair_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true_pairs = DuckdbJoin.pairs

    def invented(self: DuckdbJoin, choice: JoinChoice | None = None) -> Any:
        rows, queries = true_pairs(self, choice)
        return np.append(rows, np.int32(0)), np.append(queries, np.int32(399))

    monkeypatch.setattr(DuckdbJoin, "pairs", invented)
    with pytest.raises(AssertionError, match="1 more"):
        crq.run(**SMALL, mix="Z", area="0.0001")


def brute_force(queries: FlatQueries, objects: FlatObjects) -> set[tuple[int, int]]:
    found = set()
    for o in range(len(objects)):
        have = {*objects.row(o).tolist(), -1}
        for q in range(len(queries)):
            across = queries.west[q] <= objects.lon[o] <= queries.east[q]
            along = queries.south[q] <= objects.lat[o] <= queries.north[q]
            if across and along and set(queries.words[q].tolist()) <= have:
                found.add((o, q))
    return found


@pytest.mark.parametrize("area", [1e-4, "mixed", 0.3])
def test_all_baselines_equal_a_double_loop(area: Any) -> None:
    objects = posts(150, 4)
    block = crq.block_of(range_queries(posts(500, 5), 300, "Z", area, 6))
    queries, flat = flat_queries(block), flat_objects(objects, block)
    expected = brute_force(queries, flat)
    assert expected
    with DuckdbJoin(queries, flat, GEOGRAPHIC_BOUNDS) as join:
        assert set(join.tune((4, 64))) == set(FORMULATIONS)
        for name in FORMULATIONS:
            rows, numbers = join.pairs(JoinChoice(name, 64))
            pairs = list(zip(rows.tolist(), numbers.tolist(), strict=True))
            assert len(pairs) == len(set(pairs)), name
            assert set(pairs) == expected, name
    for contestant in (TantivyReverse(queries, GEOGRAPHIC_BOUNDS), RectangleTree(queries)):
        rows_found, numbers_found = pairs_of(contestant, flat, np.arange(150))
        assert set(zip(rows_found, numbers_found.tolist(), strict=True)) == expected
