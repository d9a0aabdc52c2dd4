"""Random worlds for the pipeline: rows, cuts into batches, subscriptions that come and go, and the oracle's answers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sightline as sl
from sightline.model.config import Indexes, StoreConfig
from sightline.model.queries import Query
from sightline.stages.batch import Batches
from sightline.stages.inline import execute_inline
from sightline.stages.registered.registry import Registry
from sightline.stages.results.results import Results
from sightline.stages.search.search import Searcher
from sightline.stages.search.search_view import OBJECT_SCHEMA as SCHEMA
from sightline.stages.upkeep.compact import Compaction
from sightline.store.store import Store
from sightline.testing import StandingOracle

SECOND = 1_000_000
WORDS = ["flood", "boat", "rescue", "calm", "#flood", "東京", "Noël"]
LONS = [-180.0, 180.0, 179.95, -179.95, 0.0, 10.0, 10.5]
LATS = [-90.0, 90.0, 0.0, 0.5, 45.0]
expressions = st.sampled_from(
    [
        "",
        "flood",
        "flood boat",
        "flood OR calm",
        "flood AND (boat OR rescue)",
        "flood AND NOT calm",
        "#flood",
        "東京",
        "noël OR (boat AND NOT (rescue calm))",
    ]
)
regions = st.sampled_from(
    [
        sl.Box(-180, -90, 180, 90),
        sl.Box(0, 0, 0, 0),
        sl.Box(0, 0, 10, 0.5),
        sl.Box(179, -10, -179, 50),
        sl.Box(180, -90, 180, 90),
        sl.Circle(0, 0, 0),
        sl.Circle(180, 0, 20_000),
        sl.Circle(50, 89.9, 50_000),
        sl.Circle(10, 0.2, 60_000),
        sl.Circle(0, 0, 3e7),
        sl.Polygon(
            [(-1, -1), (11, -1), (11, 1), (-1, 1)], holes=[[(9.5, -0.5), (10.2, -0.5), (10.2, 0.2), (9.5, 0.2)]]
        ),
    ]
)
ranges = st.builds(sl.RangeQuery, expressions, regions)
nearests = st.builds(
    sl.NearestQuery,
    expressions,
    at=st.tuples(st.sampled_from(LONS), st.sampled_from(LATS)),
    k=st.sampled_from([1, 2, 5, 60]),
)
seconds = st.sampled_from([1, 2, 3, 5, 7, 12])
top_terms = st.builds(
    lambda region, k, window, every: sl.TopTermsQuery(
        region, k, window=timedelta(seconds=window), every=timedelta(seconds=every)
    ),
    regions,
    st.sampled_from([1, 3, 50]),
    seconds,
    seconds,
)
rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", "ä", "c1", "c10"]),
        "lon": st.sampled_from(LONS),
        "lat": st.sampled_from(LATS),
        "ts_us": st.integers(0, 40).map(lambda s: s * SECOND),
        "text": st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    }
)


@dataclass(frozen=True)
class Registered:
    """A subscription, the batch before which it is registered, and the one before which it is dropped."""

    query: Query
    at: int
    ttl_s: int | None
    until: int | None


subscriptions = st.builds(
    Registered,
    st.one_of(ranges, nearests, top_terms),
    st.integers(0, 3),
    st.sampled_from([None, None, 3, 15]),
    st.sampled_from([None, None, None, 2, 4]),
)


@dataclass
class Deployment:
    """A store and the pure stages over it, in one process."""

    folder: Path
    partitioner: str = "grid"
    workers: int = 2
    lateness_us: int = 0
    hash_bits: int = 64
    indexes: Indexes = field(default_factory=Indexes)
    space: sl.Space = field(default_factory=sl.Space)
    text: sl.TextConfig = field(default_factory=sl.TextConfig)
    keep_objects: bool = True

    def __post_init__(self) -> None:
        chosen = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "folder"}
        config = StoreConfig(seed=3, ahead_us=None, **chosen)
        self._use(Store.create(self.folder, config, durable=False))
        self.number = 0

    def _use(self, store: Store) -> None:
        self.store = store
        self.batches = Batches(store, segment_rows=7)
        self.batches.epochs.ensure(self.partitioner, self.workers)
        self.registry = Registry(store, self.batches.book)
        self.results = Results(store, self.batches.book)
        self.searcher = Searcher(store)

    def reopen(self) -> None:
        self._use(Store.open(self.folder, durable=False))

    def merge(self) -> int:
        return Compaction(self.store, self.batches.book, self.batches.commit_lock).run(min_files=2)

    def feed(self, batch: list[dict[str, Any]]) -> int:
        """One commit; the rows arrive as two source partitions of small Arrow batches. Returns the version."""
        table = table_of(batch)
        half = len(batch) // 2
        parts = [table.slice(0, half).to_batches(3), table.slice(half).to_batches(2)]
        report = self.batches.process("run", self.number, table.schema, lambda job: execute_inline(parts, job))
        assert report is not None
        assert self.batches.process("run", self.number, table.schema, lambda job: execute_inline(parts, job)) is None
        self.number += 1
        return report.version


def table_of(batch: list[dict[str, Any]]) -> pa.Table:
    named = ((field, "ts_us" if field.name == "ts" else field.name) for field in SCHEMA)
    return pa.table([pa.array([row.get(name) for row in batch], field.type) for field, name in named], schema=SCHEMA)


def new_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="sightline-test-")


def us(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def fed_alike(
    deployment: Deployment,
    oracle: StandingOracle,
    batches: list[list[dict[str, Any]]],
    subscriptions: list[Registered],
    known: dict[str, Registered],
) -> Iterator[int]:
    """Feed both batch by batch, with what is registered and dropped before each; yields its number afterwards.

    ``known`` gets what was registered, by id.
    """
    for number, batch in enumerate(batches):
        for i, registered in enumerate(subscriptions):
            id_ = f"s{i}"
            if registered.at == number:
                endless = registered.ttl_s is None or oracle.high_us is None
                ttl = None if endless else timedelta(seconds=registered.ttl_s or 0)
                deployment.registry.subscribe(registered.query, id_, None, ttl, False)
                ttl_us = None if ttl is None else ttl // timedelta(microseconds=1)
                oracle.subscribe(id_, registered.query.to_dict(), ttl_us=ttl_us)
                known[id_] = registered
            elif registered.until == number and id_ in known:
                deployment.registry.unsubscribe([id_])
                oracle.unsubscribe(id_)
        oracle.feed(batch, batch=deployment.feed(batch))
        yield number


def check_standing(deployment: Deployment, oracle: StandingOracle, known: dict[str, Registered]) -> None:
    """Every results table equals the oracle's."""
    book = deployment.batches.book
    book.refresh()
    for id_, registered in known.items():
        nums = book.numbers(id_)
        kind = registered.query.to_dict()["kind"]
        if kind == "range":
            got = [
                (r["batch"], r["object_id"], us(r["ts"]), r["lon"], r["lat"], r["text"])
                for r in deployment.results.matches(id_, nums).to_pylist()
            ]
            want = [
                (m.batch, m.row["id"], m.row["ts_us"], m.row["lon"], m.row["lat"], m.row["text"])
                for m in oracle.matches_of(id_)
            ]
            assert sorted(got) == sorted(want), (id_, registered)
        elif kind == "nearest":
            got = [
                (r["rank"], r["object_id"], r["distance_m"], us(r["ts"]), r["text"])
                for r in deployment.results.nearest(nums[-1]).to_pylist()
            ]
            want = [
                (rank, row["id"], mm / 1000, row["ts_us"], row["text"])
                for rank, (mm, row) in enumerate(oracle.nearest_of(id_), start=1)
            ]
            assert got == want, (id_, registered)
            got = [
                (r["batch"], r["event"], r["rank"], r["object_id"], r["distance_m"], us(r["ts"]))
                for r in deployment.results.nearest_events(nums).to_pylist()
            ]
            want = [
                (e.batch, e.event, e.rank, e.row["id"], e.distance_mm / 1000, e.row["ts_us"])
                for batch in oracle.batches
                for e in batch.nearest_events
                if e.subscription == id_
            ]
            assert got == want, (id_, registered)
        else:
            got = [
                (us(r["window_end"]), r["rank"], r["term"], r["count"])
                for r in deployment.results.reports(nums).to_pylist()
            ]
            want = [(r.window_end, r.rank, r.term, r.count) for r in oracle.reports_of(id_)]
            assert got == sorted(want), (id_, registered)
    expired = [
        (e["batch"], e["subscription_id"]) for e in deployment.results.events().to_pylist() if e["event"] == "expired"
    ]
    assert sorted(expired) == sorted((batch.batch, id_) for batch in oracle.batches for id_ in batch.expired)
    late = deployment.store.commits.snapshot().counters.get("late", 0)
    assert late == sum(len(batch.late) for batch in oracle.batches)


def check_search(deployment: Deployment, oracle: StandingOracle, query: Query) -> None:
    """A snapshot answer equals the oracle's."""
    table, _ = deployment.searcher.answer(query)
    got = table.to_pylist()
    want = oracle.search(query.to_dict())
    if isinstance(query, sl.TopTermsQuery):
        assert [(row["term"], row["count"]) for row in got] == want, query
    elif isinstance(query, sl.NearestQuery):
        assert [(row["distance_m"], row["id"], us(row["ts"]), row["text"]) for row in got] == [
            (mm / 1000, row["id"], row["ts_us"], row["text"]) for mm, row in want
        ], query
    else:
        assert [(row["id"], us(row["ts"]), row["lon"], row["lat"], row["text"]) for row in got] == [
            (row["id"], row["ts_us"], row["lon"], row["lat"], row["text"]) for row in want
        ], query
