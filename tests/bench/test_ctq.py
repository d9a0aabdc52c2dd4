"""The benchmark of top-terms subscriptions, with next to nothing to measure."""

from __future__ import annotations

import pytest

from sightline.bench import ctq


def test_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctq, "MICRO_BATCH_ROWS", 1_000)
    result = ctq.run(subscriptions=20, objects=2_500)
    metrics = result["metrics"]
    for name in ("objects_per_s", "ratio_ungrouped", "tables", "windows_per_s", "windows"):
        assert metrics[name] > 0
    assert result["params"]["subscriptions"] == 20
    assert metrics["counted_per_object"] <= metrics["ungrouped_per_object"]


def test_a_lost_count_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = ctq.fresh_tables, []

    def short(counts, groups, live):  # type: ignore[no-untyped-def]
        calls.append(groups)
        return whole(counts, groups, live if len(calls) > 1 else ~live)

    monkeypatch.setattr(ctq, "MICRO_BATCH_ROWS", 1_000)
    monkeypatch.setattr(ctq, "fresh_tables", short)
    with pytest.raises(AssertionError, match="differ"):
        ctq.run(subscriptions=20, objects=2_000)
