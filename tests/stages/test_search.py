"""Searching in the caller's process: what is opened, what threads do, what explain says; answers equal the oracle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sightline as sl
from sightline.model.errors import CorruptFile
from sightline.stages.exchange.mapped import MappedFiles
from sightline.stages.inline import execute_inline
from sightline.stages.search import answers, search_view
from sightline.stages.search.search import Searcher
from sightline.stages.search.search_view import OpenSegment, SegmentsView
from sightline.stages.search.share import share
from sightline.store.sweep import sweep
from sightline.testing import StandingOracle
from tests.stages import worlds
from tests.stages.test_invariance import snapshots
from tests.stages.worlds import SECOND, Deployment, check_search, table_of

WORLD = sl.Box(-180, -90, 180, 90)


def row(i, text="flood boat", lon=0.0, lat=0.0, ts=None):
    return {"id": f"o{i}", "lon": lon, "lat": lat, "ts_us": (i if ts is None else ts) * SECOND, "text": text}


@pytest.fixture
def opened(monkeypatch):
    """Places of the segments that are opened, in order."""
    seen = []
    real = SegmentsView.open

    def count(view, segment):
        seen.append(segment)
        return real(view, segment)

    monkeypatch.setattr(SegmentsView, "open", count)
    return seen


def four_places(folder):
    """Four segments, 100 seconds and 10 degrees apart, each with a word of its own."""
    deployment = Deployment(folder, workers=1)
    for i in range(4):
        deployment.feed([row(100 * i + j, f"word{i}", lon=10.0 * i) for j in range(5)])
    # One thread: a second one may begin a segment that the first is about to rule out.
    deployment.searcher = Searcher(deployment.store, threads=1)
    return deployment


@pytest.mark.parametrize(
    ("query", "opens", "fates", "why"),
    [
        (sl.RangeQuery("", sl.Box(9, -1, 11, 1)), [1], ["place", None, "place", "place"], "lies within 0, 0, 0, 0"),
        (
            sl.RangeQuery("", WORLD, last=timedelta(seconds=50)),
            [3],
            ["time", "time", "time", None],
            "ends 1970-01-01T00:00:04Z, before 1970-01-01T00:04:14.000001Z",
        ),
        (sl.RangeQuery("word2", WORLD), [0, 1, 2, 3], ["terms", "terms", None, "terms"], "no object has 'word2'"),
        # The newest segment has as many as are asked for.
        (
            sl.RangeQuery("", WORLD, limit=5),
            [3],
            ["time", "time", "time", None],
            "ends 1970-01-01T00:00:04Z, and newer ones fill the limit",
        ),
        (sl.RangeQuery("", WORLD, limit=6), [3, 2], ["time", "time", None, None], None),
        # The segment round the point has k; nothing else comes near.
        (
            sl.NearestQuery("", (30.0, 0.0), 3),
            [3],
            ["place", "place", "place", None],
            "lies beyond the k nearest of other segments",
        ),
        (sl.NearestQuery("word0", (0.0, 0.0), 1), [0], [None, "place", "place", "place"], None),
        (sl.NearestQuery("", (30.0, 0.0), 6), [3, 2], ["place", "place", None, None], None),
    ],
)
def test_segments_that_cannot_change_the_answer_are_not_opened(tmp_path, opened, query, opens, fates, why):
    deployment = four_places(tmp_path / "store")
    explain = deployment.searcher.answer(query)[1]
    assert opened == opens
    assert [segment.get("pruned") for segment in explain.segments] == fates
    if why is not None:
        assert explain.segments[0]["why"] == why


def test_a_segment_without_the_words_is_not_read(tmp_path, monkeypatch):
    """Only its dictionary is: neither its index nor its rows are mapped."""
    deployment = four_places(tmp_path / "store")
    asked = []
    real = OpenSegment.ask
    monkeypatch.setattr(OpenSegment, "ask", lambda *args: asked.append(args[0]) or real(*args))
    deployment.searcher.answer(sl.RangeQuery("word1 OR (word2 AND word3)", WORLD))
    assert len(asked) == 1


def test_explain_adds_up(tmp_path):
    deployment = four_places(tmp_path / "store")
    table, explain = deployment.searcher.answer(sl.RangeQuery("word1 OR word2", WORLD))
    said = explain.to_dict()
    assert table.num_rows == said["rows"] == sum(segment.get("found", 0) for segment in said["detail"]) == 10
    assert (said["segments"], said["searched"], said["pruned"]) == (4, 2, {"terms": 2})
    assert said["candidates"] == sum(segment.get("candidates", 0) for segment in said["detail"]) >= 10
    assert said["version"] == deployment.store.commits.snapshot().version
    assert said["threads"] == 1
    assert list(said["microseconds"]) == ["plan", "segments", "merge"]
    assert said["seconds"] * 1e6 == pytest.approx(sum(said["microseconds"].values()), rel=0.01)
    assert sum(segment.get("microseconds", 0) for segment in said["detail"]) <= said["microseconds"]["segments"] + 1


def test_explain_of_an_empty_store(tmp_path):
    said = Deployment(tmp_path / "store").searcher.answer(sl.RangeQuery("x", WORLD))[1].to_dict()
    assert (said["segments"], said["rows"], said["detail"]) == (0, 0, [])


def test_ties_at_the_edge_of_a_limit(tmp_path):
    """Four segments end at the same instant: the limit cuts by id, whichever segment holds it."""
    deployment = Deployment(tmp_path / "store", workers=1)
    for ids in ((7, 1), (5, 3), (6, 2), (4, 8)):
        deployment.feed([row(i, ts=9) for i in ids])
    assert deployment.searcher.answer(sl.RangeQuery("", WORLD, limit=3))[0]["id"].to_pylist() == ["o1", "o2", "o3"]
    near = deployment.searcher.answer(sl.NearestQuery("", (0, 0), 5))[0]
    assert near["id"].to_pylist() == ["o1", "o2", "o3", "o4", "o5"]


def test_a_round_region_tested_early_and_late(tmp_path, monkeypatch):
    """Large parts are tested against the region where they are read, small ones after they were put together."""
    monkeypatch.setattr(answers, "MANY_ROWS", 3)
    deployment = Deployment(tmp_path / "store", workers=1)
    oracle = StandingOracle()
    # A step is 0.7 times the radius along both axes: the box of the circle holds three, the circle one or two.
    batches = [[row(i, lon=0.0063 * i, lat=0.0063 * i) for i in range(n)] for n in (6, 2, 3)]
    for batch in batches:
        oracle.feed(batch * 2, batch=deployment.feed(batch * 2))
    triangle = sl.Polygon([(0, 0), (0.02, 0), (0.02, 0.01)])
    for region in (sl.Circle(0, 0, 1000), sl.Circle(0.0063, 0.0063, 900), triangle):
        query = sl.RangeQuery("flood", region)
        check_search(deployment, oracle, query)
        table, explain = deployment.searcher.answer(query)
        assert table.num_rows == sum(segment.get("found", 0) for segment in explain.segments) > 0


def test_columns_that_came_later(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    for number, extra in enumerate(({}, {"lang": ["de"]}, {"size": [3], "lang": ["en"]}, {})):
        table = table_of([row(number)])
        for name, values in extra.items():
            table = table.append_column(name, pa.array(values))
        parts = [table.to_batches()]
        deployment.batches.process("run", number, table.schema, lambda job, parts=parts: execute_inline(parts, job))
    found = deployment.searcher.answer(sl.RangeQuery("", WORLD))[0]
    assert found.column_names == ["id", "lon", "lat", "ts", "text", "lang", "size"]
    assert found["lang"].to_pylist() == [None, "en", "de", None]
    assert found["size"].to_pylist() == [None, 3, None, None]
    near = deployment.searcher.answer(sl.NearestQuery("", (0, 0), 4))[0]
    assert near.column_names == [*found.column_names, "distance_m"]
    assert near["lang"].to_pylist() == found["lang"].to_pylist()


@settings(max_examples=40)
@given(
    st.lists(st.lists(worlds.rows, max_size=12), min_size=1, max_size=4),
    st.lists(snapshots, min_size=1, max_size=8),
    st.sampled_from([64, 1]),
)
def test_threads_and_searching_together_give_the_oracles_rows(batches, queries, hash_bits):
    with worlds.new_folder() as folder:
        deployment = Deployment(Path(folder) / "store", hash_bits=hash_bits)
        oracle = StandingOracle()
        for batch in batches:
            oracle.feed(batch, batch=deployment.feed(batch))
        alone = [deployment.searcher.answer(query)[0] for query in queries]
        deployment.searcher = Searcher(deployment.store, threads=3, alone_s=0.0)
        for query in queries:
            check_search(deployment, oracle, query)
        assert deployment.searcher.answer_many(queries, deployment.store.commits.snapshot()) == alone


def test_answering_many_opens_a_segment_once_per_query_it_may_serve(tmp_path, opened):
    deployment = four_places(tmp_path / "store")
    queries = [sl.RangeQuery("", sl.Box(10.0 * i - 1, -1, 10.0 * i + 1, 1)) for i in (0, 3, 0, 1)]
    found = deployment.searcher.answer_many(queries, deployment.store.commits.snapshot())
    assert opened == [3, 1, 0, 0]
    assert [table.num_rows for table in found] == [5, 5, 5, 5]


def test_many_threads_count_their_own_work(tmp_path):
    deployment = four_places(tmp_path / "store")
    queries = [sl.RangeQuery(f"word{i} OR word3", WORLD) for i in range(3)] * 40
    searcher = Searcher(deployment.store, threads=3, alone_s=0.0)
    want = [deployment.searcher.answer(query)[1].candidates for query in queries]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda query: searcher.answer(query)[1].candidates, queries)) == want


def test_searching_while_batches_commit_and_merged_files_are_removed(tmp_path, monkeypatch):
    """Nothing is missed, nothing is seen twice, and a file that went since the log was read fails no search."""
    monkeypatch.setattr(search_view, "FILES", MappedFiles(limit_files=1))  # so that files are opened again and again
    deployment = Deployment(tmp_path / "store", workers=2)
    deployment.feed([row(0)])
    stop = threading.Event()
    searcher = Searcher(deployment.store, threads=2, alone_s=0.0)
    committed = [1]

    def look() -> int:
        looks = 0
        while not stop.is_set() or looks == 0:
            least = committed[-1]
            ids = searcher.answer(sl.RangeQuery("flood", WORLD))[0]["id"].to_pylist()
            assert len(set(ids)) == len(ids) >= least
            counts = searcher.answer(sl.TopTermsQuery(WORLD, 1))[0]["count"].to_pylist()
            assert counts[0] >= len(ids)
            assert searcher.answer(sl.NearestQuery("boat", (0, 0), 1))[0].num_rows == 1
            looks += 1
        return looks

    with ThreadPoolExecutor(3) as pool:
        looking = [pool.submit(look) for _ in range(3)]
        try:
            for number in range(1, 25):
                deployment.feed([row(10 * number + j, lon=float(j)) for j in range(3)])
                committed.append(3 * number + 1)
                if number % 3 == 0:
                    deployment.merge()
                    sweep(deployment.store, grace_s=-1.0)
        finally:
            stop.set()
        assert all(looks.result(timeout=60) > 0 for looks in looking)
    assert searcher.answer(sl.RangeQuery("", WORLD))[0].num_rows == committed[-1]


def test_a_swept_file_is_looked_for_on_a_newer_version(tmp_path, monkeypatch):
    deployment = Deployment(tmp_path / "store", workers=1)
    for i in range(3):
        deployment.feed([row(i)])
    old = deployment.store.commits.snapshot()
    deployment.merge()
    sweep(deployment.store, grace_s=-1.0)
    with pytest.raises(FileNotFoundError):
        deployment.searcher.answer_many([sl.RangeQuery("", WORLD)], old)
    real, given_old = deployment.store.commits.refresh, []
    monkeypatch.setattr(
        deployment.store.commits, "refresh", lambda: real() if given_old else given_old.append(1) or old
    )
    table, explain = deployment.searcher.answer(sl.RangeQuery("", WORLD))
    assert table.num_rows == 3
    assert explain.version > old.version


def test_a_file_that_is_lost_is_named(tmp_path):
    deployment = Deployment(tmp_path / "store", workers=1)
    deployment.feed([row(0)])
    (entry,) = deployment.store.commits.snapshot().entries("segment")
    deployment.store.data_path(entry.name).unlink()
    with pytest.raises(CorruptFile, match=entry.name):
        deployment.searcher.answer(sl.RangeQuery("", WORLD))


class TestShare:
    def test_every_item_once(self):
        done = []
        assert share(range(50), done.append, threads=4, alone_s=0.0) in (1, 2, 3, 4)
        assert sorted(done) == list(range(50))

    def test_short_work_stays_with_its_caller(self):
        me, seen = threading.current_thread(), []
        assert share(range(5), lambda _: seen.append(threading.current_thread()), threads=4, alone_s=60.0) == 1
        assert seen == [me] * 5

    def test_threads_work_at_the_same_time(self):
        both = threading.Barrier(2, timeout=30)
        assert share([0, 1], lambda _: both.wait(), threads=2, alone_s=0.0) == 2

    @pytest.mark.parametrize("bad", [0, 7, 19])
    def test_an_error_ends_it(self, bad):
        def work(item):
            if item == bad:
                raise FileNotFoundError(2, "gone", str(item))

        with pytest.raises(FileNotFoundError, match=str(bad)):
            share(range(20), work, threads=3, alone_s=0.0)
