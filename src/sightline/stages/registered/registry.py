"""Registering and dropping subscriptions: entries of the control log, from any process."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.index.standing.block import QueryBlock
from sightline.model.durations import format_duration
from sightline.model.errors import BadQuery, DuplicateSubscription, UnknownSubscription
from sightline.model.expression_syntax import GRAMMAR
from sightline.model.queries import Query
from sightline.model.subscription import Subscription, check_id, lifetime_us
from sightline.stages.registered.book import SubscriptionBook
from sightline.store.array_file import write_array_file
from sightline.store.control_log import ControlEntry
from sightline.store.files import new_name
from sightline.store.kinds import FileKind
from sightline.store.requests import Drop, Fit, Rebalance, Registered, Subscribe
from sightline.store.store import Store

Instant = datetime | str
MOST_WINDOWS = 10_000  # that one object may be in
INLINE_MOST = 64  # so many subscriptions travel inside their control entry; more are written as a file it names


class Registry:
    """Writes the control log; needs no lock and no pipeline."""

    def __init__(self, store: Store, book: SubscriptionBook) -> None:
        self._store, self._book = store, book

    def subscribe(
        self, query: Query, id_: str | None, start: Instant | None, ttl: str | timedelta | None, replace_: bool
    ) -> Subscription:
        """Register one query; durable on return."""
        name = _new_id() if id_ is None else check_id(id_)
        first, last = self._lifetime(start, ttl)
        block = self._compiled([query], [name], first, last)
        entry = self._append(block, _said(block, [query]), named=id_ is not None, replace_=replace_)
        return Subscription(name, entry.first_num, query, first, last, entry.position)

    def subscribe_many(
        self, queries: pa.Table | Iterable[Query], start: Instant | None, ttl: str | timedelta | None
    ) -> pa.Array:
        """Register many as one entry, all or nothing; returns their ids."""
        lifetime = self._lifetime(start, ttl)
        if isinstance(queries, pa.Table):
            return self._subscribe_table(queries, *lifetime)
        if not isinstance(queries, Iterable):
            raise BadQuery("not a set of queries", value=queries, allowed="a table, a DataFrame or queries")
        listed = list(queries)
        prefix = _new_id()
        block = self._compiled(listed, [f"{prefix}-{i}" for i in range(len(listed))], *lifetime)
        if len(listed) > INLINE_MOST:
            self._append_file(block)
        elif listed:
            self._append(block, _said(block, listed))
        return block.ids

    def _subscribe_table(self, queries: pa.Table, first: int, last: int) -> pa.Array:
        if queries.num_rows == 0:
            return pa.array([], pa.string())
        rows = np.arange(queries.num_rows)
        named = "id" in queries.column_names
        own = None if named else pc.binary_join_element_wise(_new_id(), pa.array(rows).cast(pa.string()), "-")
        block = QueryBlock.from_table(queries, rows, first, last, self._store.config, own)
        _check_windows(block)
        if named:
            _check_ids(block.ids)
        self._append_file(block, named)
        return block.ids

    def unsubscribe(self, ids: Sequence[str]) -> None:
        """Drop subscriptions, all or nothing; unknown ids are an error."""
        for id_ in ids:
            check_id(id_)

        def request() -> Drop:
            self._book.refresh()
            found = self._book.standing(ids)
            unknown = [id_ for id_ in ids if id_ not in found]
            if unknown:
                raise UnknownSubscription(
                    "no subscription has this id", value=unknown[0], hint="subscriptions() lists them"
                )
            return Drop(nums=tuple(found[id_] for id_ in dict.fromkeys(ids)))

        self._store.control.append(request)
        self._book.refresh()

    def rebalance(self) -> int:
        """Ask the pipeline to deal its leaves anew before the next batch; returns the request's position."""
        return self._store.control.append(Rebalance()).position

    def fit(self, history: Mapping[str, npt.NDArray[Any]]) -> int:
        """Ask the pipeline to fit its partitioner before the next batch, to a history (`fitting.history_arrays`)."""
        name = new_name(FileKind.HISTORY)
        path = self._store.data_path(name)
        write_array_file(path, history, {}, durable=self._store.durable)
        return self._store.control.append(Fit(name)).position

    def _lifetime(self, start: Instant | None, ttl: str | timedelta | None) -> tuple[int, int]:
        return lifetime_us(start, ttl, self._store.commits.refresh().high_us)

    def _compiled(self, queries: Sequence[Query], ids: Sequence[str], start: int, end: int) -> QueryBlock:
        """The one place where a registered query is checked against the store, its text options too, and compiled."""
        block = QueryBlock.from_queries(queries, ids, np.arange(len(ids)), start, end, self._store.config)
        _check_windows(block)
        return block

    def _append(self, block: QueryBlock, body: Subscribe, named: bool = False, replace_: bool = False) -> ControlEntry:
        """Register a block as one entry; ids that users gave must not stand already, unless they are replaced."""

        def request() -> Subscribe:
            self._book.refresh()
            taken = self._book.taken(block.ids) if named else []
            if taken and not replace_:
                raise DuplicateSubscription(
                    "the id is taken", value=taken[0], hint="nothing was registered: choose another, or replace=True"
                )
            return replace(body, replaces=tuple(self._book.standing(taken).values()), grammar=GRAMMAR)

        entry = self._store.control.append(request, len(block))
        self._book.refresh({entry.position: block})
        return entry

    def _append_file(self, block: QueryBlock, named: bool = False) -> None:
        name = new_name(FileKind.SUBSCRIPTIONS)
        path = self._store.data_path(name)
        write_array_file(path, block.to_arrays(), {"rows": len(block)}, durable=self._store.durable)
        try:
            self._append(block, Subscribe(name), named)
        except DuplicateSubscription:
            path.unlink(missing_ok=True)
            raise


def _said(block: QueryBlock, queries: Sequence[Query]) -> Subscribe:
    """A few subscriptions as they travel inside their entry."""
    rows = zip(block.ids.to_pylist(), queries, block.start.tolist(), block.end.tolist(), strict=True)
    return Subscribe(subscriptions=tuple(Registered(id_, query.to_dict(), *lifetime) for id_, query, *lifetime in rows))


def _check_windows(block: QueryBlock) -> None:
    """An object is counted in window / every reports: more of them would stall every batch.

    Only what is registered now is held to it; what a log has from before is read as it is.
    """
    many = np.flatnonzero(block.window > MOST_WINDOWS * block.every)
    if len(many):
        window, every = (format_duration(int(times[many[0]])) for times in (block.window, block.every))
        raise BadQuery(
            "window is too long for every",
            value=f"window={window}, every={every}",
            allowed=f"window / every of at most {MOST_WINDOWS:,}",
            hint="report less often, or over a shorter window",
        )


def _new_id() -> str:
    return uuid.uuid4().hex[:12]


def _check_ids(ids: pa.StringArray) -> None:
    if ids.null_count or pc.any(pc.equal(ids, "")).as_py():
        raise BadQuery("a subscription id is null or empty", allowed="non-empty strings")
    counts = pc.value_counts(ids)
    twice = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        raise DuplicateSubscription(
            "an id stands twice in the table",
            value=twice.field("values")[0].as_py(),
            hint="choose others; nothing was registered",
        )
