"""The statistics of a store: searches that are logged, objects that are counted as they come, and who uses them."""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import sightline as sl
from sightline.index.protocol import NO_BOUND, ObjectColumns
from sightline.model.config import StoreConfig
from sightline.partition import routing_class
from sightline.partition.statistics.distribution import Statistics
from sightline.stages.exchange.tallies import tally, tally_text
from sightline.stages.exchange.target import Target
from sightline.stages.routing import epochs
from sightline.stages.routing.asked_block import asked_block
from sightline.stages.routing.cells import CellCounts
from sightline.stages.routing.sample import BatchSample, objects_in, sampled_objects
from sightline.stages.search import search_log
from sightline.stages.search.search_log import SearchLog
from sightline.stages.upkeep.maintain import Maintenance
from sightline.store.array_file import ArrayFile
from sightline.store.kinds import FileKind
from sightline.store.requests import CountSearches
from sightline.store.store import Store
from sightline.store.sweep import sweep
from sightline.text.tokeniser import tokenise
from tests.stages.worlds import SECOND, Deployment, table_of

HOUR = 3600 * SECOND
WORLD = sl.Box(-180, -90, 180, 90)
SEARCHES = [
    sl.RangeQuery("flood boat OR calm", sl.Box(170, -10, -170, 10)),
    sl.RangeQuery("flood AND NOT calm", sl.Circle(3, 3, 50_000), last="1h", limit=2),
    sl.RangeQuery("", sl.Box(0, 0, 5, 5)),
    sl.NearestQuery("flood", (0.5, 0.5), 3),
    sl.NearestQuery("flood", (0.5, 0.5), 50),
    sl.TopTermsQuery(sl.Box(-20, 0, 20, 20), 4),
]


def rows(n, start_us=0, lon=0.0):
    return [
        {"id": f"r{i}", "lon": lon + i % 9, "lat": float(i % 7), "ts_us": start_us + i * SECOND, "text": "flood"}
        for i in range(n)
    ]


def same(a, b):
    return all(np.allclose(x, b.to_arrays()[name], rtol=1e-12, atol=0) for name, x in a.to_arrays().items())


def logged(store):
    return [entry for entry in store.control.read() if isinstance(entry.request, CountSearches)]


def counted(store):
    """Everything that was logged, added up."""
    out = Statistics.empty(store.config.space)
    for entry in logged(store):
        file = ArrayFile.open(store.data_path(entry.request.file))
        out = out.with_searches({name: file.array(name) for name in file.names})
    return out


def expected(deployment, times=1):
    """The same searches counted one by one, in the form histories have, with the k-th distances found."""
    out = Statistics.empty(deployment.store.config.space)
    for query in SEARCHES * times:
        reach = 0
        if isinstance(query, sl.NearestQuery):
            found = deployment.searcher.answer(query)[0]["distance_m"].to_pylist()
            reach = round(found[-1] * 1000) if len(found) == query.k else NO_BOUND
        out = out.added(asked_block([query], deployment.store.config), asked=True, reach_mm=[reach])
    return out


@pytest.fixture
def deployment(tmp_path):
    made = Deployment(tmp_path / "store")
    made.feed(rows(20))
    return made


# Searches.


def test_searches_are_logged_when_the_engine_closes(deployment):
    """Two engines, three times each; explaining is no search; nothing is logged where nothing was searched."""
    for _ in range(2):
        with sl.open(deployment.folder) as engine:
            for query in SEARCHES * 3:
                engine.search(query)
            engine.explain(SEARCHES[0])
            engine.close()
    with sl.open(deployment.folder) as engine:
        engine.subscriptions()
    said = [entry.request.queries for entry in logged(deployment.store)]
    assert (sum(said), 0 in said) == (36, False)  # two entries, unless kernels took a minute to compile
    assert same(counted(deployment.store), expected(deployment, 6))


def test_searches_are_logged_every_minute(deployment):
    log = SearchLog(deployment.store, every_s=0.2)
    for lap in (1, 2):
        log.count(SEARCHES[2], None)
        assert len(logged(deployment.store)) == lap - 1
        until = time.monotonic() + 10
        while len(logged(deployment.store)) < lap and time.monotonic() < until:
            time.sleep(0.01)
        assert len(logged(deployment.store)) == lap
    log.close()
    assert len(logged(deployment.store)) == 2  # nothing was left


def test_many_searches_wait_for_their_count_in_the_background(deployment):
    """Work done: a search is an append, and what piles up within the minute is counted together."""
    log = SearchLog(deployment.store)
    with patch.object(search_log, "FOLD", 8):
        for _ in range(100):
            log.count(SEARCHES[2], None)
            time.sleep(0.0001)
        until = time.monotonic() + 10
        while len(log._waiting) >= 8 and time.monotonic() < until:
            time.sleep(0.01)
    assert len(log._waiting) < 8
    assert not logged(deployment.store)
    log.close()
    assert [entry.request.queries for entry in logged(deployment.store)] == [100]


def test_searches_answered_together_count_alike(deployment):
    answers = [
        table.add_column(0, "query", pa.array([number] * table.num_rows, pa.int64()))
        for number, table in enumerate(deployment.searcher.answer(query)[0] for query in SEARCHES)
    ]
    log = SearchLog(deployment.store)
    log.count_many(SEARCHES, pa.concat_tables(answers, promote_options="default"))
    log.count_many([], pa.table({"query": pa.array([], pa.int64())}))
    log.close()
    assert same(counted(deployment.store), expected(deployment))


def test_a_log_that_cannot_be_written_fails_no_search(deployment, caplog):
    with sl.open(deployment.folder) as engine:
        with patch.object(engine._store.control, "append", side_effect=OSError("no space")):
            engine.search(SEARCHES[0])
            engine._searches.flush()
        assert "no space" in caplog.text
        engine.search(SEARCHES[0])
    assert [entry.request.queries for entry in logged(deployment.store)] == [2]


def test_a_store_that_cannot_be_written_is_not_counted_for(deployment):
    with patch.object(search_log.os, "access", return_value=False), sl.open(deployment.folder) as engine:
        assert engine.search(SEARCHES[2]).to_pylist()
    assert not logged(deployment.store)


# Objects.


def test_objects_are_counted_cell_by_cell_and_decay(deployment):
    """A day halves what was before, however the objects were cut into tasks; every level adds up."""
    near, far, late = rows(20), rows(10, start_us=24 * HOUR + 10 * SECOND, lon=100.0), rows(4, lon=-50.0)
    deployment.feed(far)
    deployment.feed(late)  # the high mark stands
    made = deployment.batches.statistics.at(-1)
    last = np.zeros((128, 128))
    for batch, weight in ((near, 0.5), (far, 1.0), (late, 1.0)):  # the high mark went from 19 s to a day and 19 s
        for row in batch:
            last[int((row["lat"] + 90) / 180 * 128), int((row["lon"] + 180) / 360 * 128)] += weight
    first = made.pyramid.first(7)
    assert np.allclose(made.objects[first:], last.reshape(-1), rtol=1e-12)
    assert np.allclose(made.objects[1:5], [[last[:64, :64].sum(), last[:64, 64:].sum(), 4, 20 / 2 + 10]])
    assert made.span_s == pytest.approx(19 / 2 + 24 * 3600)
    assert not made.weights.any()


def test_one_commit_forgets_at_most_half(deployment):
    deployment.feed(rows(2, start_us=1000 * 24 * HOUR))
    assert deployment.batches.statistics.at(-1).objects[0] == 20 / 2 + 2


def test_packed_counts_give_them_back():
    space = StoreConfig(seed=1).space
    some, whole = CellCounts(space), CellCounts(space)
    some.add(np.array([0.0, 0.0, 180.0]), np.array([0.0, 0.0, 90.0]))
    whole.add_text([some.to_text(), some.to_text(), CellCounts(space).to_text()])
    assert whole.counts.tolist() == (2 * some.counts).tolist()
    assert sorted(whole.counts[whole.counts > 0].tolist()) == [2, 4]
    assert tally([tally_text(np.array([0, 3])), tally_text(np.array([1, 0, 0, 2**40]))]).tolist() == [1, 3, 0, 2**40]
    assert tally([]).tolist() == []


# Kept.


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_statistics_are_saved_once_a_minute_and_reread(deployment):
    clock, store = Clock(), deployment.store
    deployment.batches.statistics._clock, deployment.batches.statistics._saved_at = clock, 0.0
    log = SearchLog(store)
    log.count(SEARCHES[0], None)
    log.close()
    deployment.feed(rows(5))
    clock.now = 59.0
    deployment.feed(rows(5))
    assert not store.commits.snapshot().entries(FileKind.STATISTICS)
    clock.now = 60.0
    deployment.feed(rows(5))
    (first,) = store.commits.snapshot().entries(FileKind.STATISTICS)
    kept = deployment.batches.statistics.at(-1)
    assert (kept.weights[0, 0], kept.objects[0]) == (1, 35)
    deployment.feed(rows(5))
    deployment.reopen()  # as after a crash: the last batch is forgotten, the search is not counted again
    again = deployment.batches.statistics.at(deployment.batches.book.refresh())
    assert same(again, kept)
    deployment.feed(rows(5))
    deployment.batches.statistics.save()
    deployment.batches.statistics.save()
    (second,) = deployment.store.commits.snapshot().entries(FileKind.STATISTICS)
    assert second.name != first.name
    assert list(deployment.store.commits.snapshot().gone) == [first.name]
    assert deployment.batches.statistics.at(-1).objects[0] == 40


def test_what_another_pipeline_has_saved_goes_on(deployment):
    mine = deployment.batches.statistics
    mine.save()
    other = Deployment.__new__(Deployment)
    other.__dict__.update(deployment.__dict__)
    other.reopen()
    other.feed(rows(5))
    other.batches.statistics.save()
    deployment.number = other.number
    deployment.feed(rows(3))
    assert mine.at(-1).objects[0] == 28


def test_lost_statistics_begin_anew(deployment, caplog):
    deployment.batches.statistics.save()
    (entry,) = deployment.store.commits.snapshot().entries(FileKind.STATISTICS)
    deployment.store.data_path(entry.name).unlink()
    log = SearchLog(deployment.store)
    log.count(SEARCHES[0], None)
    log.close()
    deployment.store.data_path(logged(deployment.store)[0].request.file).write_bytes(b"damaged")
    deployment.reopen()
    deployment.feed(rows(3))
    assert deployment.batches.statistics.at(deployment.batches.book.refresh()).objects[0] == 3
    assert "begins anew" in caplog.text
    assert "1 searches are not counted" in caplog.text


def test_files_of_counted_searches_are_swept(deployment):
    log = SearchLog(deployment.store)
    names = []
    for _ in range(2):
        log.count(SEARCHES[0], None)
        log.close()
        names.append(logged(deployment.store)[-1].request.file)
        if len(names) == 1:
            deployment.feed(rows(3))
            deployment.batches.statistics.save()
    assert deployment.batches.statistics.counted_files() == names[:1]
    maintenance = Maintenance(deployment.batches)
    maintenance._swept = -1000
    with patch("sightline.stages.upkeep.maintain.sweep", lambda store, **how: sweep(store, -1.0, **how)):
        maintenance._sweep()
    assert [deployment.store.data_path(name).exists() for name in names] == [False, True]
    deployment.reopen()
    assert deployment.batches.statistics.at(deployment.batches.book.refresh()).weights[0, 0] == 2


# Used.


class Fits:
    """Which histories a partitioner is fitted to."""

    def __init__(self, monkeypatch):
        self.seen = []
        routing = routing_class("grid")
        real = routing.fitted

        def fitted(history, space, workers):
            self.seen.append(history)
            return real(history, space, workers)

        monkeypatch.setattr(routing, "fitted", fitted)


def test_every_fit_knows_what_was_searched(deployment, monkeypatch):
    """The first fit to stored objects, and one that was asked for; the searches come through the control log."""
    fits = Fits(monkeypatch)
    with sl.open(deployment.folder) as engine:
        for query in SEARCHES:
            engine.search(query)
    with patch.object(epochs, "FIT_OBJECTS", 10):
        deployment.feed(rows(3))
    (history,) = fits.seen
    assert len(history.asked) == 0
    assert history.statistics.types[:3] == pytest.approx([0.5, 1 / 3, 1 / 6])
    assert history.statistics.objects[0] == 20
    assert deployment.store.commits.snapshot().entries(FileKind.STATISTICS)  # saved with the fit
    plain = Statistics.of(history, deployment.store.config.space)
    assert plain.types.tolist() == [0, 0, 1, 0, 0, 0]
    with sl.open(deployment.folder) as engine:
        engine.search(SEARCHES[0])
        engine.fit(table_of(rows(30)))  # logs the search before the request
        deployment.feed(rows(3))
    assert fits.seen[1].statistics.types[:3] == pytest.approx([4 / 7, 2 / 7, 1 / 7])


def test_nothing_counted_is_no_statistics(tmp_path):
    made = Deployment(tmp_path / "store")
    assert made.batches.statistics.at(-1) is None


# Stores that keep no objects.


def samples(store):
    return store.commits.refresh().entries("sample")


def test_a_store_without_objects_is_fitted_to_a_sample(tmp_path, monkeypatch):
    fits = Fits(monkeypatch)
    deployment = Deployment(tmp_path / "store", keep_objects=False)
    deployment.registry.subscribe(sl.RangeQuery("calm", WORLD), "s", None, None, False)
    with patch.object(epochs, "FIT_OBJECTS", 25):
        deployment.feed(rows(20))  # none of them is sent anywhere
        assert sum(entry.meta["seen"] for entry in samples(deployment.store)) == 20
        deployment.reopen()
        deployment.feed(rows(6, start_us=20 * SECOND, lon=50.0))
        deployment.feed(rows(2))
    (history,) = fits.seen
    assert sorted(history.objects.lon.tolist()) == sorted(row["lon"] for row in [*rows(20), *rows(6, lon=50.0)])
    assert history.objects.terms.row_strings(0) == ["flood"]
    assert len(history.standing) == 1
    assert history.span_us == 25 * SECOND
    assert [epoch.why for epoch in deployment.store.commits.snapshot().epochs] == ["opened", "fitted"]
    assert not samples(deployment.store)
    assert not deployment.store.commits.snapshot().entries("segment")


@pytest.mark.parametrize("how", [{"keep_objects": True}, {"keep_objects": False, "partitioner": "broadcast"}])
def test_no_sample_where_none_is_needed(tmp_path, how):
    deployment = Deployment(tmp_path / "store", **how)
    deployment.feed(rows(5))
    assert not samples(deployment.store)


def objects_of(first, n):
    terms = tokenise(pa.array([f"w{first + i}" for i in range(n)], pa.string()), sl.TextConfig(), 1)
    place = np.arange(first, first + n, dtype=np.float64)
    return ObjectColumns(place, place, np.arange(first, first + n), terms)


def test_a_sample_is_even_and_bounded(tmp_path):
    """Every 16th of 103 objects, however they come; samples of other steps are thinned alike."""
    sample = BatchSample(most=8)
    for first, n in ((0, 3), (3, 1), (4, 40), (44, 0), (44, 59)):
        sample.add(objects_of(first, n))
    store = Store.create(tmp_path / "store", StoreConfig(seed=1), durable=False)
    entry = sample.write(Target(store.path, durable=False))
    assert (entry.rows, entry.meta) == (7, {"seen": 103, "step": 16})
    file = ArrayFile.open(store.data_path(entry.name))
    kept = objects_in({name: file.array(name) for name in file.names})
    assert kept.ts.tolist() == list(range(0, 103, 16))
    assert [kept.terms.row_strings(i) for i in range(7)] == [[f"w{i}"] for i in range(0, 103, 16)]
    both = sampled_objects([(kept, 16), (objects_of(1000, 33), 1)])
    assert both.ts.tolist() == [*range(0, 103, 16), 1000, 1016, 1032]
