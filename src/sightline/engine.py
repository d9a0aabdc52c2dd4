"""The façade: open a store, load and run streams into it, subscribe, search.

Everything here is thin. Subscribing, searching and reading results need neither Spark nor a lock and work from any
process; loading and running start the pipeline, of which a store has one at a time.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sightline.model.closed import Closed
from sightline.model.config import Indexes, StoreConfig
from sightline.model.doubts import doubts_of, warn_of_doubts, warn_of_gap
from sightline.model.durations import duration_us
from sightline.model.errors import (
    BadConfig,
    BadQuery,
    BadSource,
    IncompatibleStore,
    UnknownPlugin,
)
from sightline.model.queries import Query
from sightline.model.result import Result
from sightline.model.scalars import whole
from sightline.model.space import Space
from sightline.model.subscription import Subscription
from sightline.model.text_config import TextConfig
from sightline.spark.connect import refuse_connect
from sightline.stages.exchange import plugins
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.registry import Registry
from sightline.stages.results.results import Results, numbers_of
from sightline.stages.results.totals import OnBatch
from sightline.stages.routing.fitting import given_history, history_arrays
from sightline.stages.routing.leaves import leaf_rows, routes_of
from sightline.stages.search.search import Searcher
from sightline.stages.search.search_log import SearchLog
from sightline.store.positions import check_run_name
from sightline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sightline.inline.starter import InlineStarter
    from sightline.runs.handle import Run
    from sightline.spark.starter import Starter

BALANCE_POLICIES = ("never",)
INLINE = "inline"
_KEEP: Any = object()  # "what is omitted stays as stored"


def open(
    path: str | Path,
    spark: SparkSession | str | None = None,
    *,
    workers: int | None = None,
    partitioner: str | None = None,
    indexes: Mapping[str, str] | None = None,
    balance: str | None = None,
    lateness: str | timedelta | None = None,
    ahead: str | timedelta | None = _KEEP,
    retention: str | timedelta | None = None,
    keep_objects: bool | None = None,
    space: Space | None = None,
    text: TextConfig | None = None,
) -> Engine:
    """Open a store, or create it at a path that does not exist.

    Parameters
    ----------
    path : where the store is; a local folder
    spark : session to run on; by default a local one is started when the first load or run needs it. ``"inline"`` runs
        the same stages in this process, without Spark: for notebooks, tests and small files
    workers, partitioner : how the work is divided; a change on reopening is the next epoch
    indexes : who finds candidates, by name: ``{"range": ..., "nearest": ..., "objects": ...}``; a change takes effect
        with the next load or run, files written before are read as they are
    balance : policy of rebalancing, ``never``
    lateness : how far behind the high mark an object may come and still count in windows and lifetimes ("0s")
    ahead : how far ahead of the wall clock a ts may be ("1d"); None = any
    keep_objects : False = only match, keep no objects to search
    space, text : what places and words mean; fixed when the store is created
    """
    refuse_connect(spark)
    if isinstance(spark, str) and spark != INLINE:
        raise BadConfig("not a Spark session", value=spark, allowed="a SparkSession, 'inline' or None")
    if retention is not None:
        raise BadConfig("retention is not available yet", value=str(retention), allowed="None: everything is kept")
    if balance is not None and balance not in BALANCE_POLICIES:
        raise UnknownPlugin("unknown balance policy", value=balance, allowed=", ".join(BALANCE_POLICIES))
    chosen = Indexes.from_dict({} if indexes is None else indexes)
    plugins.admit(partitioner, dict(indexes or {}))
    given: dict[str, Any] = {
        "workers": workers,
        "partitioner": partitioner,
        "balance": balance,
        "keep_objects": keep_objects,
        "lateness_us": None
        if lateness is None
        else duration_us(lateness, "lateness", allow_zero=True, error=BadConfig),
    }
    given = {name: value for name, value in given.items() if value is not None}
    if ahead is not _KEEP:
        given["ahead_us"] = None if ahead is None else duration_us(ahead, "ahead", allow_zero=True, error=BadConfig)
    fresh = StoreConfig(
        seed=secrets.randbits(63),
        indexes=chosen,
        **{**given, **({} if space is None else {"space": space}), **({} if text is None else {"text": text})},
    )
    store = Store.open_or_create(path, fresh)
    for name, value in (("space", space), ("text", text)):
        if value is not None and value != getattr(store.config, name):
            raise IncompatibleStore(
                f"the store was made with another {name}",
                value=value.to_dict(),
                allowed=str(getattr(store.config, name).to_dict()),
                hint=f"leave {name}= out, or make a new store",
            )
    changed = replace(store.config, indexes=replace(store.config.indexes, **(indexes or {})), **given)
    if changed.keep_objects != store.config.keep_objects:
        warn_of_gap(keeps=changed.keep_objects)
    if changed != store.config:
        store.update_config(changed)
    return Engine(store, spark)


class Engine:
    """An open store. Use :func:`open`; leaving the ``with`` block stops what it runs."""

    def __init__(self, store: Store, spark: SparkSession | str | None = None) -> None:
        self._store, self._spark = store, spark
        self._book = SubscriptionBook(store)
        self._registry = Registry(store, self._book)
        self._results = Results(store, self._book)
        self._searcher = Searcher(store)
        self._searches = SearchLog(store)
        self._starter: Starter | InlineStarter | None = None
        self._runs: list[Run] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the runs, each after its batch in flight; log what was searched. Whatever is asked later is refused."""
        if isinstance(self._store, Closed):
            return
        for run in self._runs:
            run.stop()
        self._runs.clear()
        self._searches.close()
        closed: Any = Closed(self.path)
        self._store = self._book = self._registry = self._results = closed
        self._searcher = self._searches = self._starter = closed

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._store.path

    @property
    def space(self) -> Space:
        """The space its places are in: the globe, or a plane."""
        return self._store.config.space

    @property
    def spark(self) -> SparkSession:
        """The session loads and runs use; started when first asked for."""
        if isinstance(self._spark, str):
            raise BadConfig("an inline engine has no Spark session", value=self._spark, hint="open it without spark=")
        if self._spark is None:
            from sightline.spark.session import local_session

            self._spark = local_session()
        return self._spark

    # --- writing: load and run -------------------------------------------------------------------------------------

    def load(
        self,
        source: DataFrame | pa.Table | str | Path,
        columns: Mapping[str, str] | None = None,
        *,
        on_batch: OnBatch | None = None,
    ) -> dict[str, Any]:
        """Bring a one-shot source in, through the same pipeline as a stream; returns what was counted."""
        return self._start().load(source, columns, on_batch)

    def run(
        self,
        source: DataFrame | pa.Table | str | Path,
        name: str = "default",
        trigger: str | timedelta = "0s",
        sinks: Sequence[object] = (),
        columns: Mapping[str, str] | None = None,
        *,
        on_batch: OnBatch | None = None,
    ) -> Run:
        """Start a stream; started again under its name, it goes on where it was. Returns a handle."""
        if sinks:
            raise BadConfig(
                "sinks are not available yet",
                value=[type(sink).__name__ for sink in sinks],
                allowed="()",
                hint="read the committed results: matches, nearest, reports",
            )
        check_run_name(name)
        duration_us(trigger, "trigger", allow_zero=True, error=BadConfig)
        if any(run.name == name and run.is_active for run in self._runs):
            raise BadConfig("a run of this name is active", value=name, hint="stop it first, or pass another name=")
        run = self._start().run(source, name, trigger, columns, on_batch)
        self._runs.append(run)
        return run

    # --- subscriptions ---------------------------------------------------------------------------------------------

    def subscribe(
        self,
        query: Query,
        id: str | None = None,
        start: datetime | str | None = None,
        ttl: str | timedelta | None = None,
        replace: bool = False,
    ) -> Subscription:
        """Register a standing query; it sees every batch planned from now on."""
        warn_of_doubts([query])
        return self._registry.subscribe(query, id, start, ttl, replace)

    def subscribe_many(
        self,
        queries: pa.Table | DataFrame | Iterable[Query],
        start: datetime | str | None = None,
        ttl: str | timedelta | None = None,
    ) -> Result:
        """Register many at once, all or nothing; returns their ids (column ``id``)."""
        to_arrow = getattr(queries, "toArrow", None)
        given = to_arrow() if to_arrow is not None else queries
        if not isinstance(given, pa.Table) and isinstance(given, Iterable):
            given = list(given)
            warn_of_doubts(given)
        return Result(pa.table({"id": self._registry.subscribe_many(given, start, ttl)}))

    def unsubscribe(self, id: str | Subscription | Iterable[str | Subscription]) -> None:
        """Drop one or several subscriptions; their results stay."""
        given = [id] if isinstance(id, (str, Subscription)) else list(id)
        self._registry.unsubscribe([_id_of(one) for one in given])

    def subscriptions(self) -> Result:
        """The standing subscriptions: id, kind, query (JSON), start, end."""
        self._book.refresh()
        return Result(self._book.table(self._book.live()))

    def subscription_events(self) -> Result:
        """Registered, replaced, dropped, expired: position in the control log or batch, id, event, high mark."""
        self._book.refresh()
        return Result(self._results.events())

    def rebalance(self) -> None:
        """Ask the pipeline, wherever it runs, to deal its leaves to the workers anew before its next batch."""
        self._registry.rebalance()

    def fit(self, objects: pa.Table | DataFrame, queries: Iterable[Query | Subscription] = ()) -> None:
        """Fit the partitioner to a history, before the next batch of the pipeline, wherever it runs.

        Parameters
        ----------
        objects : pa.Table or DataFrame
            Rows with lon, lat, ts and text; an even sample of 200,000 of them is used.
        queries : iterable
            Searches to expect beside those counted so far, and subscriptions beside those that stand already.
        """
        to_arrow = getattr(objects, "toArrow", None)
        table = to_arrow() if to_arrow is not None else objects
        if not isinstance(table, pa.Table):
            allowed = "a pyarrow.Table or a Spark DataFrame with lon, lat, ts and text"
            raise BadSource("cannot fit to this", value=objects, allowed=allowed)
        if not isinstance(queries, Iterable):
            raise BadQuery("not a set of queries", value=queries, allowed="queries and subscriptions")
        self._book.refresh()
        self._searches.flush()
        past = given_history(table, queries, self._store, self._book)
        self._registry.fit(history_arrays(past))

    # --- results ---------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The last commit, which ``since_batch`` and the column ``batch`` count in."""
        return self._store.commits.refresh().version

    def matches(
        self, id: str | Subscription | None = None, since_batch: int | None = None, limit: int | None = None
    ) -> Result:
        """Committed matches of a range subscription, or of all, by batch; of later batches only, if one is named.

        ``limit`` keeps the first rows.
        """
        most = None if limit is None else whole(limit, "limit", 1)
        if id is None:
            self._book.refresh()
            rows = self._results.all_matches(since_batch)
        else:
            rows = self._results.matches(_id_of(id), self._numbers(id, "range"), since_batch)
        return Result(rows if most is None else rows.slice(0, most))

    def nearest(self, id: str | Subscription) -> Result:
        """The current k nearest of a nearest subscription, by rank."""
        return Result(self._results.nearest(self._numbers(id, "nearest")[-1]))

    def nearest_events(self, id: str | Subscription, since_batch: int | None = None) -> Result:
        """What entered and left a nearest subscription, by batch; in later batches only, if one is named."""
        return Result(self._results.nearest_events(self._numbers(id, "nearest"), since_batch))

    def reports(self, id: str | Subscription, since_batch: int | None = None) -> Result:
        """Reports of a top-terms subscription, by window; of later batches only, if one is named."""
        return Result(self._results.reports(self._numbers(id, "top_terms"), since_batch))

    def counters(self) -> dict[str, int]:
        """Totals over all commits: objects, matches, rejects (and by reason), late, candidates."""
        totals = self._store.commits.refresh().counters
        return {name: count for name, count in totals.items() if not name.startswith("leaf:")}

    def rejects(self) -> Result:
        """Rows that were rejected, with reason and raw content."""
        return Result(self._results.rejects())

    # --- search ----------------------------------------------------------------------------------------------------

    def search(self, query: Query) -> Result:
        """Answer a query over everything committed, in this process."""
        warn_of_doubts([query])
        table, explain = self._searcher.answer(query)
        self._searches.count(query, table)
        return Result(table, lambda: explain.to_dict() | doubts_of([query]))

    def search_many(self, queries: Iterable[Query]) -> Result:
        """Answer many queries as one Spark job; the column ``query`` is the place of each in the list."""
        asked = list(queries)
        warn_of_doubts(asked)
        if self._spark == INLINE:
            from sightline.inline import searches as inline_searches

            table = inline_searches.search_many(self._store, asked)
        else:
            from sightline.spark.searches import search_many

            table = search_many(self.spark, self._store, asked)
        self._searches.count_many(asked, table)
        return Result(table)

    def explain(self, query: Query) -> dict[str, Any]:
        """How a search is answered: segments read, left out and why, candidates, microseconds; leaves and workers."""
        _, explain = self._searcher.answer(query)
        return explain.to_dict() | doubts_of([query]) | routes_of(query, self._store, self._book)

    def partitions(self) -> Result:
        """The leaves of the epoch in force: split, region, keywords, objects owned, subscriptions, load, worker."""
        return Result(*leaf_rows(self._store, self._book))

    # --- inside ----------------------------------------------------------------------------------------------------

    def _numbers(self, id: str | Subscription, kind: str) -> list[int]:
        self._book.refresh()
        return numbers_of(self._book, _id_of(id), kind)

    def _start(self) -> Starter | InlineStarter:
        if self._starter is None and self._spark == INLINE:
            from sightline.inline.starter import InlineStarter

            self._starter = InlineStarter(self._store)
        elif self._starter is None:
            from sightline.spark.starter import Starter

            self._starter = Starter(self._store, lambda: self.spark)
        return self._starter


def _id_of(given: str | Subscription) -> str:
    return given.id if isinstance(given, Subscription) else given
