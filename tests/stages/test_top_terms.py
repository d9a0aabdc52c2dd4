"""Top-terms subscriptions that share tables: answers of the oracle, for the work of one."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.index.standing.panes import leaders
from sightline.stages.exchange.mapped import FILES
from sightline.stages.flow import pane_files, top_terms
from sightline.stages.upkeep import compact
from sightline.store.array_file import ArrayFile
from sightline.testing import StandingOracle
from tests.stages import worlds
from tests.stages.worlds import SECOND, Deployment, Registered, check_standing

WORLD = sl.Box(-180, -90, 180, 90)
overlapping = st.sampled_from(
    [WORLD, sl.Box(-1, -10, 11, 50), sl.Box(0, 0, 10, 0.5), sl.Box(-1, -1, 10.2, 46), sl.Box(179, -10, -179, 50),
     sl.Box(179.9, -90, -170, 1), sl.Circle(10, 0.2, 60_000)]
)  # fmt: skip
shared = st.builds(
    lambda region, k, window, every, at, ttl, until: Registered(
        sl.TopTermsQuery(region, k, window=timedelta(seconds=window), every=timedelta(seconds=every)), at, ttl, until
    ),
    overlapping, st.sampled_from([1, 3, 50]), st.sampled_from([2, 4, 5, 6]), st.sampled_from([2, 2, 3]),
    st.integers(0, 2), st.sampled_from([None, None, 15]), st.sampled_from([None, None, 2, 4]),
)  # fmt: skip


@settings(max_examples=50)
@given(
    st.sampled_from([0, 5 * SECOND]),
    st.lists(st.lists(worlds.rows, max_size=15), min_size=2, max_size=6),
    st.lists(shared, min_size=2, max_size=12),
    st.sampled_from([1, 3, 128]),
    st.sampled_from([1, 3]),
    st.sets(st.integers(0, 5)),
)
def test_reports_equal_the_oracle_however_tables_are_shared(lateness, batches, subscriptions, most, workers, merges):
    with (
        patch.object(leaders, "LEADERS", most),
        patch.object(top_terms, "LEADERS", most),
        worlds.new_folder() as folder,
    ):
        deployment = Deployment(Path(folder) / "store", workers=workers, lateness_us=lateness)
        oracle = StandingOracle(lateness_us=lateness)
        known = {}
        for number in worlds.fed_alike(deployment, oracle, batches, subscriptions, known):
            if number in merges:
                deployment.merge()
        check_standing(deployment, oracle, known)


def row(i, second, text="flood boat"):
    return {"id": f"o{i}", "lon": 0.0, "lat": 0.0, "ts_us": second * SECOND, "text": text}


def subscribe(deployment, n, window="10s", every="5s"):
    query = sl.TopTermsQuery(WORLD, 2, window=window, every=every)
    for i in range(n):
        deployment.registry.subscribe(query, f"s{i}", None, None, False)


@contextmanager
def panes_read(module):
    """The files of pane counts that a module reads."""
    read = []

    def get(store, name, use, make):
        read.extend([name] if use == "panes" else [])
        return FILES.get(store, name, use, make)

    with patch.object(module, "FILES") as files:
        files.get.side_effect = get
        yield read


def test_equal_subscriptions_are_counted_and_stored_once(tmp_path):
    made = []
    for n in (1, 40):
        deployment = Deployment(tmp_path / str(n), workers=2)
        subscribe(deployment, n)
        deployment.feed([row(i, i) for i in range(1, 4)])
        deployment.feed([row(i, i) for i in range(4, 12)])
        snapshot = deployment.store.commits.snapshot()
        made.append((snapshot.counters["counted"], [entry.rows for entry in snapshot.entries("panes")]))
        reports = {tuple(map(str, deployment.results.reports([num]).to_pylist())) for num in range(n)}
        assert len(reports) == 1
        assert deployment.results.reports([n - 1]).num_rows == 4  # two terms in the windows that end at 5 and 10
    assert made[0] == made[1]


def test_earlier_counts_are_read_when_a_window_ends_and_not_before(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=2)
    subscribe(deployment, 3)
    deployment.feed([row(0, 1)])
    with panes_read(top_terms) as read:
        for second in (2, 3, 4, 5):
            deployment.feed([row(second, second)])
        assert read == []
        deployment.feed([row(6, 6)])
        assert len(read) == 5
    assert deployment.results.reports([2])["count"].to_pylist() == [5, 5]


def test_merged_counts_are_one_table_per_set_of_subscriptions(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    subscribe(deployment, 3, window="100s", every="50s")
    for second in (1, 2, 3, 4):
        deployment.feed([row(second, second)])
    deployment.registry.unsubscribe(["s1"])
    deployment.merge()
    (entry,) = deployment.store.commits.snapshot().entries("panes")
    tables = pane_files.open_tables(ArrayFile.open(deployment.store.data_path(entry.name)))
    assert tables.members.tolist() == [0, 2]
    assert tables.counts.count.tolist() == [4, 4]
    deployment.feed([row(4, 51)])
    assert deployment.results.reports([2])["count"].to_pylist() == [4, 4]


def test_counts_whose_windows_have_closed_are_dropped_unread(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    subscribe(deployment, 1, window="5s")
    for second in (1, 3, 6, 11, 16):
        deployment.feed([row(second, second)])
    held = deployment.store.commits.snapshot().entries("panes")
    with panes_read(compact) as read:
        deployment.merge()
    assert read == []  # what is left is one file, which needs no merging
    left = deployment.store.commits.snapshot().entries("panes")
    assert [entry.meta["last_us"] for entry in left] == [20 * SECOND]
    assert min(entry.meta["last_us"] for entry in held) == 5 * SECOND
    before = deployment.results.reports([0]).num_rows
    deployment.feed([row(21, 21)])
    last = deployment.results.reports([0]).slice(before)
    assert last["count"].to_pylist() == [1, 1]  # the window that ends at 20 has what came at 16


def test_counts_travel_as_they_are():
    deployment_words = ["b", "a", "東京"]
    counts = top_terms.PaneCounts(
        np.array([0, 4]), np.array([-3, 7]), np.array([0, 1, 3]), np.array([2, 0, 1], np.int32), np.array([5, 1, 2]),
        top_terms.concat_counts([]).dictionary.from_strings(deployment_words, 7),
    )  # fmt: skip
    back = pane_files.unpack_counts(pane_files.pack_counts(counts).joined())
    for name in ("table", "pane", "offsets", "term", "count"):
        assert getattr(back, name).tolist() == getattr(counts, name).tolist()
    assert back.dictionary.strings().to_pylist() == deployment_words


@pytest.mark.parametrize("every", ["1s", "7s"])
def test_a_long_gap_costs_no_windows(tmp_path, every):
    """Between two objects lie a hundred thousand windows without any."""
    deployment = Deployment(tmp_path / "store", workers=1)
    subscribe(deployment, 1, window="5s", every=every)
    deployment.feed([row(0, 1)])
    deployment.feed([row(1, 700_000)])
    ends = {worlds.us(r["window_end"]) // SECOND for r in deployment.results.reports([0]).to_pylist()}
    assert ends == ({1, 2, 3, 4, 5} if every == "1s" else set())
