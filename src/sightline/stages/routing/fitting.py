"""The past a partitioning is fitted to: from what the store holds, or given by the user.

A store begins on a plain partitioning. Once it has :data:`FIT_OBJECTS` objects, the next plan fits the partitioner to a
sample of them, to the subscriptions that stand and to the statistics of what was searched, and that is the next epoch;
so is every history given to `fit`, beside the same statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.objects.segment import Segment
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.errors import BadSource
from sightline.model.queries import Query, check_query, check_space
from sightline.model.subscription import Subscription
from sightline.partition.history import History
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.read import REQUIRED, clean
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.routing.asked_block import asked_block
from sightline.stages.routing.sample import (
    joined,
    object_arrays,
    objects_in,
    open_sample,
    sampled_objects,
    thinned,
)
from sightline.store.array_file import ArrayFile
from sightline.store.kinds import FileKind
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store
from sightline.text.tokeniser import tokenise

FIT_OBJECTS = 100_000
SAMPLE_ROWS = 200_000  # objects of a history at most; an even sample of the newest
_STANDING, _ASKED = "standing.", "asked."


def no_queries(config: StoreConfig) -> QueryBlock:
    """A block of none."""
    return QueryBlock.from_queries([], [], [], 0, 1, config)


def stored_history(store: Store, book: SubscriptionBook, snapshot: Snapshot) -> History:
    """An even sample of the newest objects, stored or sampled in time, and everything that stands."""
    parts: list[ObjectColumns] = []
    rows = 0
    for entry in reversed(snapshot.entries(FileKind.SEGMENT)):
        if rows >= SAMPLE_ROWS:
            break
        segment = FILES.get(str(store.path), entry.name, "segment", Segment.from_file)
        parts.append(thinned(segment.objects(), SAMPLE_ROWS - rows))
        rows += len(parts[-1])
    samples = [
        (FILES.get(str(store.path), entry.name, "sample", open_sample), int(entry.meta["step"]))
        for entry in snapshot.entries(FileKind.SAMPLE)
    ]
    if samples:
        parts.append(thinned(sampled_objects(samples), SAMPLE_ROWS - rows))
    live = book.live()
    standing = book.block(live) if len(live) else no_queries(store.config)
    return history_of(joined(parts), standing, no_queries(store.config))


def seen_objects(snapshot: Snapshot) -> int:
    """How many objects there are to fit a partitioning to: stored ones, and those that were sampled."""
    stored = sum(entry.rows for entry in snapshot.entries(FileKind.SEGMENT))
    return stored + sum(int(entry.meta["seen"]) for entry in snapshot.entries(FileKind.SAMPLE))


def given_history(
    rows: pa.Table, queries: Iterable[Query | Subscription], store: Store, book: SubscriptionBook
) -> History:
    """A history of the user's own: rows (lon, lat, ts, text), searches, and subscriptions beside those that stand."""
    config = store.config
    if missing := [name for name in ("lon", "lat", "ts", "text") if name not in rows.column_names]:
        raise BadSource("a history needs more columns", value=missing, allowed="lon, lat, ts and text")
    if "id" not in rows.column_names:
        rows = rows.append_column("id", pa.array(np.arange(rows.num_rows)).cast(pa.string()))
    step = max(1, -(-rows.num_rows // SAMPLE_ROWS))
    parts = []
    for batch in rows.select(list(REQUIRED)).take(pa.array(np.arange(0, rows.num_rows, step))).to_batches():
        good = clean(batch, config.space, None)
        terms = tokenise(good.objects.column("text"), config.text, config.seed, config.hash_bits)
        parts.append(ObjectColumns(good.lon, good.lat, good.ts, terms))
    given = list(queries)
    searches = [query for query in given if not isinstance(query, Subscription)]
    for query in searches:
        check_query(query)
        check_space(query, config.space)
    stands = [one for one in given if isinstance(one, Subscription)]
    live = book.live()
    blocks = [book.block(live)] if len(live) else []
    if stands or not blocks:
        lives = [one.start_us for one in stands], [one.end_us for one in stands]
        asked = [one.query for one in stands], [one.id for one in stands]
        # Numbers that no subscription of the store has, or a partitioner would take one for the other.
        blocks.append(QueryBlock.from_queries(*asked, -1 - np.arange(len(stands)), *lives, config))
    return history_of(joined(parts), QueryBlock.concat(blocks), asked_block(searches, config))


def history_of(objects: ObjectColumns, standing: QueryBlock, asked: QueryBlock) -> History:
    """A history that spans the time of its objects."""
    span = int(objects.ts.max()) - int(objects.ts.min()) if len(objects) else 0
    return History(objects, standing, asked, max(span, 1))


def history_arrays(history: History) -> dict[str, npt.NDArray[Any]]:
    """Flat arrays of a history, for its file. Statistics are not part of it: the fit takes the current ones."""
    return {
        **object_arrays(history.objects), "span_us": np.array([history.span_us]),
        **history.standing.to_arrays(_STANDING), **history.asked.to_arrays(_ASKED),
    }  # fmt: skip


def open_history(file: ArrayFile) -> History:
    """Map a history; nothing is copied."""
    arrays: Mapping[str, npt.NDArray[Any]] = {name: file.array(name) for name in file.names}
    standing, asked = (QueryBlock.from_arrays(arrays, prefix=prefix) for prefix in (_STANDING, _ASKED))
    return History(objects_in(arrays), standing, asked, int(arrays["span_us"][0]))
