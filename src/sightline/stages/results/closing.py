"""Closing of subscriptions whose lifetime has passed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sightline.model.time import MAX_US
from sightline.stages.exchange.read import INSTANT
from sightline.stages.exchange.target import Target
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.marks import passed_us
from sightline.stages.results.tables import write_table
from sightline.store.files import FileEntry
from sightline.store.kinds import FileKind
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store


def closing_events(
    store: Store, book: SubscriptionBook, control: int, before: Snapshot, high_us: int | None
) -> FileEntry | None:
    """File of the ``expired`` rows of a commit: standing subscriptions that it closes, None without any.

    A subscription closes at the first commit whose plan includes it and whose high mark - lateness reaches its end.
    """
    if high_us is None:
        return None
    nums = book.live(control)
    if len(nums) == 0:
        return None
    end = book.ends(nums)
    passed = passed_us([[book.next_num_at(control), mark] for control, mark in before.marks], nums)
    gone = nums[(end < MAX_US) & (end <= high_us - store.config.lateness_us) & (end > passed)]
    if len(gone) == 0:
        return None
    at = pa.array(np.full(len(gone), high_us)).cast(INSTANT)
    table = pa.table({"event": pa.array(["expired"] * len(gone)), "at": at})
    return write_table(Target(store.path, store.durable), FileKind.EVENTS, gone, table)
