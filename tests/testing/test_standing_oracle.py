"""Subscriptions of the oracle: every rule of the definition on a case small enough to check by eye."""

import random
from typing import Any

import pytest

from sightline.testing import Report, Row, StandingOracle

WORLD = {"box": [-180, -90, 180, 90]}
RANGE = {"kind": "range", "keywords": "", "region": WORLD}


def row(id: str, ts: int, text: str = "x", lon: float = 0.0) -> Row:
    return {"id": id, "lon": lon, "lat": 0.0, "ts_us": ts, "text": text}


def top(window: int, every: int, k: int = 5) -> dict[str, Any]:
    return {"kind": "top_terms", "region": WORLD, "k": k, "window": window, "every": every}


def windows(reports: list[Report]) -> dict[int, list[tuple[str, int]]]:
    out: dict[int, list[tuple[str, int]]] = {}
    for report in sorted(reports, key=lambda r: (r.window_end, r.rank)):
        out.setdefault(report.window_end, []).append((report.term, report.count))
    return out


def matched(oracle: StandingOracle, id: str) -> list[str]:
    return [match.row["id"] for match in oracle.matches_of(id)]


def test_default_start_is_the_high_mark_of_the_last_commit() -> None:
    oracle = StandingOracle()
    oracle.subscribe("early", RANGE)
    oracle.feed([row("a", 10), row("b", 20)])
    oracle.subscribe("late", RANGE)
    oracle.feed([row("c", 15), row("d", 20), row("e", 21)])
    assert matched(oracle, "early") == ["a", "b", "c", "d", "e"]
    assert matched(oracle, "late") == ["d", "e"]


def test_a_dropped_subscription_keeps_what_it_has() -> None:
    oracle = StandingOracle()
    oracle.feed([row("a", 1)], subscribe={"s": RANGE})
    oracle.feed([row("b", 2)], unsubscribe=["s"])
    assert matched(oracle, "s") == ["a"]


def test_names_are_taken_once_and_a_ttl_needs_a_start() -> None:
    oracle = StandingOracle()
    with pytest.raises(ValueError, match="start"):
        oracle.subscribe("s", RANGE, ttl_us=5)
    oracle.subscribe("s", RANGE, start_us=0, ttl_us=5)
    with pytest.raises(ValueError, match="exists"):
        oracle.subscribe("s", RANGE)
    oracle.subscribe("s", RANGE, replace=True)


def test_the_closing_batch_counts_and_later_objects_are_late() -> None:
    oracle = StandingOracle(lateness_us=5)
    oracle.feed([row("z", 0)])
    oracle.subscribe("s", RANGE, ttl_us=10)
    first = oracle.feed([row("a", 9), row("b", 10), row("c", 14)])  # 14 - 5 < 10
    assert first.expired == []
    second = oracle.feed([row("d", 15), row("e", 8)])  # 15 - 5 >= 10: closes, with e
    assert second.expired == ["s"]
    third = oracle.feed([row("f", 7), row("g", 30)])
    assert third.expired == []
    assert [(late.subscription, late.row["id"], late.windows) for late in third.late] == [("s", "f", ())]
    assert matched(oracle, "s") == ["a", "e"]


def test_a_subscription_that_is_over_when_registered_closes_at_its_first_commit() -> None:
    oracle = StandingOracle()
    oracle.feed([row("a", 100)])
    oracle.subscribe("s", RANGE, start_us=10, ttl_us=10)
    assert oracle.feed([row("b", 12), row("c", 20)]).expired == ["s"]
    assert matched(oracle, "s") == ["b"]


def test_nearest_emits_net_changes_with_new_and_old_ranks() -> None:
    oracle = StandingOracle()
    oracle.subscribe("n", {"kind": "nearest", "keywords": "x", "at": [0, 0], "k": 2})
    oracle.feed([row("a", 1, lon=5), row("b", 2, lon=3), row("no", 2, "y", lon=0)])
    assert [r["id"] for _, r in oracle.nearest_of("n")] == ["b", "a"]
    batch = oracle.feed([row("c", 3, lon=1), row("d", 3, lon=4), row("e", 3, lon=9)])
    events = {(e.event, e.row["id"], e.rank) for e in batch.nearest_events}
    assert events == {("leave", "a", 2), ("enter", "c", 1)}  # b moved to rank 2: no row
    assert oracle.feed([row("f", 4, lon=8)]).nearest_events == []
    assert {e.event for e in oracle.batches[0].nearest_events} == {"enter"}


def test_nearest_ties_go_to_the_newer_then_by_id_and_equal_rows_stay() -> None:
    oracle = StandingOracle()
    oracle.subscribe("n", {"kind": "nearest", "keywords": "", "at": [0, 0], "k": 2})
    oracle.feed([row("b", 5, lon=1), row("c", 5, lon=1), row("a", 4, lon=-1)])
    assert [r["id"] for _, r in oracle.nearest_of("n")] == ["b", "c"]
    assert oracle.feed([row("c", 5, lon=1)]).nearest_events == []


def test_nearest_keeps_its_last_state_after_closing() -> None:
    oracle = StandingOracle()
    oracle.subscribe("n", {"kind": "nearest", "keywords": "", "at": [0, 0], "k": 1}, start_us=0, ttl_us=10)
    oracle.feed([row("a", 5, lon=3), row("z", 10)])
    batch = oracle.feed([row("b", 6, lon=1)])
    assert ([r["id"] for _, r in oracle.nearest_of("n")], batch.nearest_events) == (["a"], [])
    assert len(batch.late) == 1


def test_windows_are_half_open_and_wait_for_the_mark_to_pass() -> None:
    oracle = StandingOracle()
    oracle.feed([row("z", 100, "z")])
    oracle.subscribe("t", top(window=20, every=10))
    assert oracle.feed([row("a", 100, "a"), row("b", 101, "b"), row("c", 110, "c")]).reports == []  # 110 is not > 110
    batch = oracle.feed([row("d", 110, "d"), row("e", 111, "e")])
    # (90, 110], without z, which came before the subscription
    assert windows(batch.reports) == {110: [("a", 1), ("b", 1), ("c", 1), ("d", 1)]}
    batch = oracle.feed([row("f", 131, "f")])
    # (100, 120] has lost a, (110, 130] begins after 110
    assert windows(batch.reports) == {120: [("b", 1), ("c", 1), ("d", 1), ("e", 1)], 130: [("e", 1)]}


def test_a_late_object_still_counts_in_windows_that_are_open() -> None:
    oracle = StandingOracle()
    oracle.feed([row("z", 0)])
    oracle.subscribe("t", top(window=20, every=10))
    oracle.feed([row("a", 5, "a"), row("b", 11, "b")])  # emits 10
    batch = oracle.feed([row("c", 6, "c")])
    assert [(late.row["id"], late.windows) for late in batch.late] == [("c", (10,))]
    batch = oracle.feed([row("d", 25, "d")])
    assert windows(batch.reports) == {20: [("a", 1), ("b", 1), ("c", 1)]}


def test_lateness_delays_reports() -> None:
    oracle = StandingOracle(lateness_us=7)
    oracle.feed([row("z", 0)])
    oracle.subscribe("t", top(window=10, every=10))
    assert oracle.feed([row("a", 5, "a"), row("b", 17, "b")]).reports == []
    assert oracle.feed([row("c", 6, "c")]).late == []
    assert windows(oracle.feed([row("d", 18, "d")]).reports) == {10: [("a", 1), ("c", 1)]}


def test_the_last_window_ends_with_the_lifetime_and_may_be_emitted_after_closing() -> None:
    oracle = StandingOracle()
    oracle.feed([row("z", 0)])
    oracle.subscribe("t", top(window=10, every=10), ttl_us=20)
    batch = oracle.feed([row("a", 15, "a"), row("b", 20, "b")])
    assert (batch.expired, windows(batch.reports)) == (["t"], {})
    batch = oracle.feed([row("c", 16, "c"), row("d", 45, "d")])
    assert windows(batch.reports) == {20: [("a", 1)]}
    assert [late.row["id"] for late in batch.late] == ["c"]


def test_windows_of_an_empty_store_end_at_multiples() -> None:
    oracle = StandingOracle()
    oracle.subscribe("t", top(window=10, every=10))
    batch = oracle.feed([row("a", -13, "a"), row("b", 10, "b"), row("c", 12, "c")])
    assert windows(batch.reports) == {-10: [("a", 1)], 10: [("b", 1)]}


def test_objects_between_windows_are_in_none_and_not_late() -> None:
    oracle = StandingOracle()
    oracle.subscribe("t", top(window=3, every=10))
    batch = oracle.feed([row("a", 7, "a"), row("b", 8, "b"), row("c", 21, "c")])
    assert windows(batch.reports) == {10: [("b", 1)]}
    assert oracle.feed([row("d", 5, "d")]).late == []


def test_the_cut_into_batches_changes_nothing_that_must_not_depend_on_it() -> None:
    rng = random.Random(3)
    rows = [row(str(n), n * 3 + rng.randint(0, 9), rng.choice("xyz"), rng.uniform(0, 9)) for n in range(60)]
    answers = []
    for size in (1, 7, 60):
        oracle = StandingOracle(lateness_us=12)
        oracle.subscribe("r", {"kind": "range", "keywords": "x OR y", "region": WORLD}, start_us=20, ttl_us=90)
        oracle.subscribe("n", {"kind": "nearest", "keywords": "z", "at": [4, 0], "k": 4}, start_us=20)
        oracle.subscribe("t", top(window=25, every=10), start_us=20)
        for first in range(0, len(rows), size):
            oracle.feed(rows[first : first + size])
        oracle.feed([row("end", 1000)])
        held = [r["id"] for _, r in oracle.nearest_of("n")]
        answers.append((sorted(matched(oracle, "r")), held, windows(oracle.reports_of("t"))))
        assert not any(batch.late for batch in oracle.batches)
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0]
    assert len(answers[0][2]) > 10
