"""A store begins plain, and is fitted to what it has seen or to a history it is given."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import sightline as sl
from sightline.model.errors import BadSource
from sightline.stages.exchange.mapped import FILES
from sightline.stages.routing import epochs, fitting
from sightline.store.array_file import write_array_file
from tests.stages.worlds import SECOND, Deployment, table_of


def rows(n, text="flood boat"):
    return [
        {"id": f"r{i}", "lon": float(i % 20), "lat": float(i % 7), "ts_us": i * SECOND, "text": text} for i in range(n)
    ]


def reasons(deployment):
    return [epoch.why for epoch in deployment.store.commits.refresh().epochs]


def test_the_first_data_fit_the_partitioning_once(tmp_path):
    deployment = Deployment(tmp_path / "store")
    with patch.object(epochs, "FIT_OBJECTS", 10):
        deployment.feed(rows(9))
        assert reasons(deployment) == ["opened"]
        deployment.feed(rows(3))
        assert reasons(deployment) == ["opened"]  # the plan saw nine
        for _ in range(3):
            deployment.feed(rows(3))
    assert reasons(deployment) == ["opened", "fitted"]


def test_a_partitioner_that_no_history_changes_is_not_fitted(tmp_path):
    deployment = Deployment(tmp_path / "store", partitioner="broadcast")
    with patch.object(epochs, "FIT_OBJECTS", 1):
        deployment.feed(rows(5))
        deployment.feed(rows(5))
    assert reasons(deployment) == ["opened"]


def test_a_given_history_is_the_next_epoch(tmp_path):
    deployment = Deployment(tmp_path / "store")
    deployment.feed(rows(4))
    history = fitting.given_history(
        table_of(rows(50)), [sl.RangeQuery("flood", sl.Box(0, 0, 5, 5))], deployment.store, deployment.batches.book
    )
    deployment.registry.fit(fitting.history_arrays(history))
    deployment.feed(rows(4))
    assert reasons(deployment) == ["opened", "fitted"]
    deployment.feed(rows(4))
    assert reasons(deployment) == ["opened", "fitted"]
    loads = epochs.leaf_objects(
        deployment.store.commits.snapshot(),
        deployment.batches.epochs.routing(deployment.store.commits.snapshot().epochs[-1]),
    )
    assert loads.sum() == 8  # of the new leaves


def test_a_history_survives_its_file(tmp_path):
    deployment = Deployment(tmp_path / "store")
    deployment.registry.subscribe(sl.RangeQuery("flood", sl.Box(0, 0, 5, 5)), "s", None, None, False)
    deployment.batches.book.refresh()
    searches = [sl.RangeQuery("boat OR calm", sl.Box(0, 0, 1, 1)), sl.NearestQuery("flood", at=(0, 0), k=3)]
    history = fitting.given_history(table_of(rows(30)), searches, deployment.store, deployment.batches.book)
    name = "history/" + "0" * 32 + ".sl"
    path = deployment.store.data_path(name)
    write_array_file(path, fitting.history_arrays(history), {}, durable=False)
    again = FILES.get(str(deployment.store.path), name, "history", fitting.open_history)
    assert again.objects.lon.tolist() == history.objects.lon.tolist()
    assert again.objects.terms.row_strings(0) == history.objects.terms.row_strings(0)
    assert again.asked.kind.tolist() == history.asked.kind.tolist()
    assert len(again.standing) == 1
    assert again.span_us == 29 * SECOND


def test_a_large_history_is_sampled_evenly(tmp_path):
    deployment = Deployment(tmp_path / "store")
    with patch.object(fitting, "SAMPLE_ROWS", 10):
        history = fitting.given_history(table_of(rows(95)), [], deployment.store, deployment.batches.book)
        assert len(history.objects) <= 10
        assert np.diff(history.objects.ts).tolist() == [10 * SECOND] * 9
        deployment.feed(rows(30))
        stored = fitting.stored_history(deployment.store, deployment.batches.book, deployment.store.commits.snapshot())
        assert len(stored.objects) == 10


def test_a_history_without_a_place_is_refused(tmp_path):
    deployment = Deployment(tmp_path / "store")
    with pytest.raises(BadSource, match="lat"):
        fitting.given_history(pa.table({"lon": [1.0], "text": ["x"]}), [], deployment.store, deployment.batches.book)


def test_bad_rows_of_a_history_do_not_count(tmp_path):
    deployment = Deployment(tmp_path / "store")
    bad = [*rows(3), {"id": "x", "lon": 500.0, "lat": 0.0, "ts_us": 0, "text": "flood"}]
    assert len(fitting.given_history(table_of(bad), [], deployment.store, deployment.batches.book).objects) == 3
