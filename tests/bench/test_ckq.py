"""The benchmark of nearest subscriptions, with next to nothing to measure."""

from __future__ import annotations

import pytest

from sightline.bench import ckq
from sightline.index.standing.balls import NearestState


def test_the_figures() -> None:
    result = ckq.run(subscriptions=2_000, objects=2_000, batch_rows=700, rounds=1)
    metrics = result["metrics"]
    for name in ("objects_per_s", "ratio_inverted", "inverted_vs_numpy", "updates_per_object", "candidates_per_object"):
        assert metrics[name] > 0
    assert metrics["checked"] == 200
    assert metrics["updates_per_object"] <= metrics["candidates_per_object"]
    assert result["params"]["subscriptions"] == 2_000


def test_a_wrong_state_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NearestState, "of", lambda _state, query: [(query, query)])
    with pytest.raises(AssertionError, match="brute force"):
        ckq.run(subscriptions=500, objects=500, batch_rows=500, rounds=1)


def test_an_index_that_loses_pairs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ckq.InvertedIndex.candidates

    def short(index, objects, bounds):  # type: ignore[no-untyped-def]
        found = whole(index, objects, bounds)
        return found._replace(object=found.object[1:], query=found.query[1:], distance_mm=found.distance_mm[1:])

    monkeypatch.setattr(ckq.InvertedIndex, "candidates", short)
    with pytest.raises(AssertionError):
        ckq.run(subscriptions=500, objects=500, batch_rows=500, rounds=1)
