"""Answers equal the oracle whatever the partitioner, index, workers, cut into batches, merging and reopening."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.index.registry import NEAREST_INDEXES, OBJECT_INDEXES, STANDING_INDEXES
from sightline.model.config import Indexes
from sightline.partition import PARTITIONERS
from sightline.stages.routing import epochs
from sightline.testing import StandingOracle
from tests.partition.everywhere import EverywhereRouting
from tests.stages import worlds
from tests.stages.worlds import Deployment, check_search, check_standing

deployments = st.fixed_dictionaries(
    {
        "partitioner": st.sampled_from([*sorted(PARTITIONERS), "everywhere"]),
        "workers": st.sampled_from([1, 2, 3, 5]),
        "lateness_us": st.sampled_from([0, 5 * worlds.SECOND]),
        "hash_bits": st.sampled_from([64, 8, 1]),
        "indexes": st.builds(
            Indexes,
            st.sampled_from(sorted(STANDING_INDEXES)),
            st.sampled_from(sorted(NEAREST_INDEXES)),
            st.sampled_from(sorted(OBJECT_INDEXES)),
        ),
    }
)
snapshots = st.one_of(
    st.builds(
        lambda q, last, limit: sl.RangeQuery(q.keywords, q.region, last=last, limit=limit),
        worlds.ranges,
        st.sampled_from([None, timedelta(seconds=4), timedelta(days=1)]),
        st.sampled_from([None, 1, 3]),
    ),
    st.builds(
        lambda q, last: sl.NearestQuery(q.keywords, q.at, q.k, last=last),
        worlds.nearests,
        st.sampled_from([None, timedelta(seconds=4)]),
    ),
    st.builds(
        lambda q, last: sl.TopTermsQuery(q.region, q.k, last=last),
        worlds.top_terms,
        st.sampled_from([None, timedelta(seconds=4)]),
    ),
)


@settings(max_examples=100)
@given(
    deployments,
    st.lists(st.lists(worlds.rows, max_size=12), min_size=1, max_size=5),
    st.lists(worlds.subscriptions, max_size=6),
    st.lists(snapshots, min_size=1, max_size=4),
    st.sets(st.integers(0, 4)),
    st.sets(st.integers(0, 4)),
    st.sampled_from([1, 8, 1 << 40]),
)
def test_every_answer_equals_the_oracle(how, batches, subscriptions, queries, merge_after, reopen_after, fit_after):
    # `everywhere` is no product partitioner: it finds every pair on every worker, so that merging must remove repeats.
    with (
        patch.dict(PARTITIONERS, everywhere=EverywhereRouting),
        patch.object(epochs, "FIT_OBJECTS", fit_after),
        worlds.new_folder() as folder,
    ):
        deployment = Deployment(Path(folder) / "store", **how)
        oracle = StandingOracle(lateness_us=how["lateness_us"])
        known = {}
        for number in worlds.fed_alike(deployment, oracle, batches, subscriptions, known):
            if number in merge_after:
                deployment.merge()
            if number in reopen_after:
                deployment.reopen()
        check_standing(deployment, oracle, known)
        for query in queries:
            check_search(deployment, oracle, query)
        deployment.merge()
        check_standing(deployment, oracle, known)
        for query in queries:
            check_search(deployment, oracle, query)


@settings(max_examples=40)
@given(
    st.lists(worlds.rows, min_size=2, max_size=24), st.lists(worlds.subscriptions, min_size=1, max_size=4), st.data()
)
def test_the_cut_into_batches_does_not_matter(rows, subscriptions, data):
    """In time order, whatever the cut: matches, nearest state and reports are those of one batch per row."""
    rows = sorted(rows, key=lambda row: row["ts_us"])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1))))
    answers = []
    for places in (cuts, list(range(1, len(rows)))):
        with worlds.new_folder() as folder:
            deployment = Deployment(Path(folder) / "store")
            for i, registered in enumerate(subscriptions):
                deployment.registry.subscribe(registered.query, f"s{i}", None, None, False)
            for low, high in zip([0, *places], [*places, len(rows)], strict=True):
                deployment.feed(rows[low:high])
            answers.append([_answer(deployment, f"s{i}", sub.query) for i, sub in enumerate(subscriptions)])
    assert answers[0] == answers[1]


def _answer(deployment, id_, query):
    """Rows of a subscription without their batch, in an order of their own."""
    deployment.batches.book.refresh()
    nums = deployment.batches.book.numbers(id_)
    results = deployment.results
    if isinstance(query, sl.RangeQuery):
        table = results.matches(id_, nums).drop(["batch"])
    else:
        table = results.nearest(nums[-1]) if isinstance(query, sl.NearestQuery) else results.reports(nums)
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("partitioner", sorted(PARTITIONERS))
def test_an_empty_store_answers_with_nothing(tmp_path, partitioner):
    deployment = Deployment(tmp_path / "store", partitioner=partitioner)
    for query in (sl.RangeQuery("", sl.Box(-180, -90, 180, 90)), sl.NearestQuery("x", (0, 0), 3)):
        assert deployment.searcher.answer(query)[0].num_rows == 0
    assert deployment.searcher.answer(sl.TopTermsQuery(sl.Circle(0, 0, 10), 3))[0].column_names == ["term", "count"]
