"""Committed results of a subscription, read from their tables.

A read opens only files that can hold the subscription: the log has the smallest and largest number in each, and a
filter for small ones; merging keeps their count logarithmic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sightline.model.errors import UnknownSubscription
from sightline.model.scalars import whole
from sightline.stages.exchange.read import INSTANT
from sightline.stages.registered.book import SubscriptionBook
from sightline.store.keyed_file import BATCH_COLUMN, KeyedFile
from sightline.store.kinds import FileKind
from sightline.store.requests import Drop, Subscribe
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store

Fields = list[tuple[str, pa.DataType]]
PLACE: Fields = [("ts", INSTANT), ("lon", pa.float64()), ("lat", pa.float64()), ("text", pa.string())]
MATCHES_SCHEMA = pa.schema(
    [("batch", pa.int64()), ("subscription_id", pa.string()), ("object_id", pa.string()), *PLACE]
)
NEAREST_SCHEMA = pa.schema([("rank", pa.int32()), ("object_id", pa.string()), ("distance_m", pa.float64()), *PLACE])
NEAREST_EVENTS_SCHEMA = pa.schema(
    [
        ("batch", pa.int64()),
        ("event", pa.string()),
        ("rank", pa.int32()),
        ("object_id", pa.string()),
        ("distance_m", pa.float64()),
        ("ts", INSTANT),
    ]
)
REPORTS_SCHEMA = pa.schema(
    [("window_end", INSTANT), ("rank", pa.int32()), ("term", pa.string()), ("count", pa.int64())]
)
REJECTS_SCHEMA = pa.schema([("batch", pa.int64()), ("reason", pa.string()), ("raw", pa.string())])
EVENTS_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("batch", pa.int64()),
        ("subscription_id", pa.string()),
        ("event", pa.string()),
        ("at", INSTANT),
    ]
)


_CALLS = {"range": "matches(id)", "nearest": "nearest(id) or nearest_events(id)", "top_terms": "reports(id)"}


def numbers_of(book: SubscriptionBook, id_: str, kind: str) -> list[int]:
    """Numbers that an id has had as a subscription of a kind: what it was before a replacement stays readable."""
    numbers = book.numbers(id_)
    if not numbers:
        raise UnknownSubscription("no subscription has this id", value=id_, hint="subscriptions() lists them")
    kinds = book.kinds(numbers)
    found = [number for number, its in zip(numbers, kinds, strict=True) if its == kind]
    if not found:
        raise UnknownSubscription(
            f"this is no {kind.replace('_', '-')} subscription",
            value=id_,
            allowed=f"ids of {kind.replace('_', '-')} subscriptions",
            hint=f"it is a {kinds[-1].replace('_', '-')} one: {_CALLS[kinds[-1]]} has its results",
        )
    return found


class Results:
    """Reader of the results tables of a store."""

    def __init__(self, store: Store, book: SubscriptionBook, on_open: Callable[[str], None] | None = None) -> None:
        self._store, self._book = store, book
        self._on_open = on_open  # told every file that is opened; tests count

    def matches(self, id_: str, nums: Sequence[int], since_batch: int | None = None) -> pa.Table:
        """Matches of a range subscription, by batch; then ts, id, lon, lat, text."""
        rows = self._rows(FileKind.MATCHES, nums, since_batch)
        return self._in_order(rows.append_column("subscription_id", pa.array([id_] * rows.num_rows, pa.string())))

    def all_matches(self, since_batch: int | None = None) -> pa.Table:
        """Matches of all range subscriptions, by batch; then subscription, ts, id, lon, lat, text."""
        rows = self._rows(FileKind.MATCHES, None, since_batch)
        nums = np.asarray(rows["key"].to_numpy(), np.int64) if rows.num_rows else np.empty(0, np.int64)
        return self._in_order(rows.append_column("subscription_id", self._book.ids(nums)))

    def _in_order(self, rows: pa.Table) -> pa.Table:
        order = ["batch", "subscription_id", "ts", "object_id", "lon", "lat", "text"]
        return _shaped(rows, MATCHES_SCHEMA).sort_by([(name, "ascending") for name in order])

    def nearest(self, num: int) -> pa.Table:
        """The k nearest of a subscription after the last commit, by rank: its newest rows."""
        rows = self._rows(FileKind.NEAREST, [num])
        if rows.num_rows:
            rows = rows.filter(pc.equal(rows[BATCH_COLUMN], pc.max(rows[BATCH_COLUMN])))
        return _shaped(_metres(rows), NEAREST_SCHEMA).sort_by("rank")

    def nearest_events(self, nums: Sequence[int], since_batch: int | None = None) -> pa.Table:
        """What entered and left, by batch; leaves before enters, each by rank."""
        rows = _shaped(_metres(self._rows(FileKind.NEAREST_EVENTS, nums, since_batch)), NEAREST_EVENTS_SCHEMA)
        return rows.sort_by([("batch", "ascending"), ("event", "descending"), ("rank", "ascending")])

    def reports(self, nums: Sequence[int], since_batch: int | None = None) -> pa.Table:
        """Reports of a top-terms subscription, by window, then rank."""
        rows = _shaped(self._rows(FileKind.REPORTS, nums, since_batch), REPORTS_SCHEMA)
        return rows.sort_by([("window_end", "ascending"), ("rank", "ascending")])

    def rejects(self) -> pa.Table:
        """All rejected rows, by batch."""
        rows = _shaped(self._rows(FileKind.REJECTS, [0]), REJECTS_SCHEMA)
        return rows.sort_by([("batch", "ascending"), ("reason", "ascending")])

    def events(self) -> pa.Table:
        """Life of the subscriptions: registered, replaced, dropped by the control log, expired by commits."""
        expired = _shaped(self._rows(FileKind.EVENTS, None), pa.schema([("key", pa.int64()), *EVENTS_SCHEMA]))
        keys, positions, words = [np.empty(0, np.int64)], [np.empty(0, np.int64)], []
        for entry in self._store.control.read():
            request = entry.request
            if isinstance(request, Drop):
                word, nums = "dropped", np.array(request.nums, np.int64)
            elif isinstance(request, Subscribe):
                word = "replaced" if request.replaces else "registered"
                nums = np.arange(entry.first_num, entry.next_num)
            else:
                continue
            keys.append(nums)
            positions.append(np.full(len(nums), entry.position))
            words.append(pa.repeat(word, len(nums)))
        event = pa.chunked_array(words, pa.string())
        said = pa.table({"key": np.concatenate(keys), "position": np.concatenate(positions), "event": event})
        rows = pa.concat_tables([_shaped(said, expired.schema), expired])
        ids = (
            self._book.ids(np.asarray(rows["key"].to_numpy(), np.int64)) if rows.num_rows else pa.array([], pa.string())
        )
        rows = rows.set_column(rows.column_names.index("subscription_id"), "subscription_id", ids)
        return rows.drop(["key"]).sort_by(
            [("position", "ascending"), ("batch", "ascending"), ("subscription_id", "ascending")]
        )

    def _rows(self, kind: FileKind, nums: Sequence[int] | None, since_batch: int | None = None) -> pa.Table:
        if since_batch is not None:
            whole(since_batch, "since_batch", -1)

        def read(snapshot: Snapshot) -> pa.Table:
            parts = []
            for entry in snapshot.entries(kind):
                wanted = None if nums is None else [num for num in nums if entry.may_hold(num)]
                if wanted == [] or (since_batch is not None and entry.version <= since_batch):
                    continue
                if self._on_open is not None:
                    self._on_open(entry.name)
                file = KeyedFile.open(self._store.data_path(entry.name), entry.version)
                parts += [file.all()] if wanted is None else [file.select(num) for num in wanted]
            rows = (
                pa.concat_tables(parts, promote_options="default")
                if parts
                else pa.table({BATCH_COLUMN: pa.array([], pa.int64())})
            )
            return rows if since_batch is None else rows.filter(pc.greater(rows[BATCH_COLUMN], since_batch))

        return self._store.read(read)


def _metres(rows: pa.Table) -> pa.Table:
    if "distance_mm" not in rows.column_names:
        return rows
    return rows.append_column("distance_m", pc.divide(rows["distance_mm"].cast(pa.float64()), 1000.0))


def _shaped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema, in its order; a column without rows is empty."""
    arrays = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)
