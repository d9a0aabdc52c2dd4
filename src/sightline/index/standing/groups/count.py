"""Terms of a batch of objects counted per table and pane of the groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64, Flag, frozen
from sightline.flat.records import frozen_fields
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.groups._kernels import (
    GroupTimes,
    Members,
    place_pairs,
    slot_sizes,
    sort_pairs,
)
from sightline.index.standing.groups.build import SubscriptionGroups, TablePairs
from sightline.index.standing.panes.counts import PaneCounts, count_slots
from sightline.model.time import MIN_US
from sightline.text.dictionary import TermDictionary

__all__ = ["Ages", "Counted", "count_objects"]

FIRST_SLOTS = 1 << 12


class Ages(NamedTuple):
    """How far time has come: per row of the block what has passed, whether it has closed, and whether it stands."""

    passed: I64
    closed: Flag
    live: Flag


class Counted(NamedTuple):
    """Counts by table of the groups; pairs (object, table) counted; pairs (object, query) late; boxes compared."""

    counts: PaneCounts
    pairs: int
    late: int
    compared: int


def count_objects(groups: SubscriptionGroups, batches: Sequence[ObjectColumns], ages: Ages) -> Counted:
    """Count every object once in each of its tables; several batches count as one."""
    lon, lat, ts = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("lon", "lat", "ts"))
    pairs = groups.match(lon, lat)
    slot, slot_table, slot_pane, late = _place(groups, pairs, ts, ages)
    order = np.lexsort((slot_pane, slot_table))
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    sizes = np.zeros(order.size, np.int64)
    slot_sizes(slot, frozen(rank, np.int32), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.empty(int(starts[-1]), np.int32)
    sort_pairs(frozen(pairs.object, np.int32), slot, frozen(rank, np.int32), starts[:-1].copy(), members)
    offsets, ids, dictionary = _postings(batches)
    slots = slot_table[order].astype(np.int64), slot_pane[order]
    counts = count_slots(*slots, starts, members, offsets, ids, dictionary)
    return Counted(counts, int(starts[-1]), late, pairs.compared)


def _place(groups: SubscriptionGroups, pairs: TablePairs, ts: I64, ages: Ages) -> tuple[I32, I32, I64, int]:
    """Slot of every pair, the table and pane of every slot, and how many were late."""
    block, row = groups.block, groups.first_row
    start, every, window = block.start[row], block.every[row], block.window[row]
    first_end = np.where(start == MIN_US, MIN_US, np.where(start == MIN_US, 0, start) + every)
    values = (
        start,
        block.end[row],
        block.anchor[row] % every,
        every,
        -window % every,
        window < every,
        first_end,
        ages.passed[row],
        ages.closed[row],
    )
    times = frozen_fields(GroupTimes, values)
    live = ages.live[groups.members]
    sums = np.concatenate([[0], np.cumsum(live)])
    alive = sums[groups.member_offsets[1:]] - sums[groups.member_offsets[:-1]]
    members = Members(
        frozen(groups.table_group, np.int32),
        frozen(groups.member_offsets, np.int64),
        frozen(block.window[groups.members], np.int64),
        frozen(live, np.bool_),
        frozen(alive, np.int64),
    )
    slot = np.empty(pairs.object.size, np.int32)
    found = frozen(pairs.object, np.int32), frozen(pairs.table, np.int32), frozen(ts, np.int64)
    room = FIRST_SLOTS
    while True:
        table, pane = np.empty(room, np.int32), np.empty(room, np.int64)
        slots, late = place_pairs(*found, times, members, slot, table, pane, np.full(2 * room, -1, np.int32))
        if slots >= 0:
            return slot, table[:slots], pane[:slots], late
        room *= 8


def _postings(batches: Sequence[ObjectColumns]) -> tuple[I64, I32, TermDictionary]:
    """Term lists of all objects under one dictionary; lists keep the order of their batch."""
    if len(batches) == 1:
        terms = batches[0].terms
        return terms.offsets, terms.ids, terms.dictionary
    dictionary, remaps = TermDictionary.merge([batch.terms.dictionary for batch in batches])
    base = np.cumsum([0] + [int(batch.terms.ids.size) for batch in batches])
    parts = [batch.terms.offsets[:-1] + first for batch, first in zip(batches, base, strict=False)]
    ids = [remap[batch.terms.ids] for batch, remap in zip(batches, remaps, strict=True)]
    return np.concatenate([*parts, base[-1:]]), np.concatenate(ids), dictionary
