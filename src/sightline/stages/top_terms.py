"""Top-terms subscriptions (CTQ): term counts per pane at the owners, reports where they are merged.

Sliding windows share *panes* and subscriptions that overlap share *tables* (`index.standing.panes`,
`index.standing.groups`): an object is counted once per group and pane, a window is the sum of its panes over the
tables that count for its subscription. A window is reported by the first commit whose high mark - lateness passes its
end, and never again; an object that comes later still counts in the windows of its pane that are open.

Every task of a job makes the same groups from the same compiled files, so a table number means the same to all of
them. The merge partition of a subscription is that of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.index.standing.block import QueryBlock
from sightline.index.standing.groups import Ages, SubscriptionGroups, count_objects
from sightline.index.standing.keywords import spread_rows
from sightline.index.standing.panes import PaneCounts, Series, last_window, sum_counts, top_terms
from sightline.index.standing.panes.counts import concat_counts
from sightline.model.time import MIN_US
from sightline.stages.job import Job
from sightline.stages.mapped import FILES
from sightline.stages.marks import passed_us
from sightline.stages.packet import Packet
from sightline.stages.pane_files import Int64s, Tables, open_tables
from sightline.stages.read import INSTANT
from sightline.stages.standing import WINDOWS, Lifetimes, open_compiled, open_dropped

REPORT_SCHEMA = pa.schema(
    [
        ("num", pa.int64()),
        ("window_end", pa.timestamp("us", tz="UTC")),
        ("rank", pa.int32()),
        ("term", pa.string()),
        ("count", pa.int64()),
    ]
)


def open_groups(job: Job) -> SubscriptionGroups | None:
    """The groups of all top-terms subscriptions; None without any."""
    layers = job.compiled.get(WINDOWS)
    if not layers or not layers[0]:
        return None
    # Members of a group have the same mark; which have, changes less often than the marks do.
    bounds = tuple(sorted({first_unknown for first_unknown, _ in job.marks}))
    return _made_groups(_Sources(job.store, tuple(layers[0]), bounds, job))


@dataclass(frozen=True)
class _Sources:
    """What groups are made of: immutable files, and where the marks divide their subscriptions."""

    store: str
    names: tuple[str, ...]
    bounds: tuple[int, ...]
    job: Job = field(compare=False)


@lru_cache(maxsize=2)  # one set is in use; a process may serve two stores
def _made_groups(sources: _Sources) -> SubscriptionGroups:
    block = QueryBlock.concat([layer.block for layer in open_compiled(sources.job, WINDOWS, 0)])
    age = np.searchsorted(np.array(sources.bounds, np.int64), block.num, side="right")
    return SubscriptionGroups.build(block, sources.job.store_config().space, age)


def pane_counts(
    owned: Sequence[Packet], job: Job, lifetimes: Lifetimes, count: Callable[[str, int], None]
) -> Iterator[tuple[int, PaneCounts]]:
    """Counts of one worker's own objects, by the merge partition they go to."""
    groups = open_groups(job)
    if groups is None or not owned:
        return
    block = groups.block
    live = ~np.isin(block.num, lifetimes.dropped)
    ages = Ages(passed_us(job.marks, block.num), lifetimes.closed(block), live)
    counted = count_objects(groups, [packet.objects() for packet in owned], ages)
    count("candidates", counted.compared)
    count("counted", counted.pairs)
    count("late", counted.late)
    part = groups.table_group[counted.counts.table] % job.merge_parts
    for destination in np.unique(part).tolist():
        yield destination, counted.counts.take(np.flatnonzero(part == destination))


def merge_top_terms(
    fresh: Sequence[PaneCounts], job: Job, part: int, until_us: int
) -> tuple[pa.Table, Tables | None]:
    """Reports of a merge partition that are due, and the counts of this batch to keep; ``until_us`` is high mark -
    lateness with this batch."""
    groups = open_groups(job)
    if groups is None:
        return REPORT_SCHEMA.empty_table(), None
    block = groups.block
    live = (groups.row_group % job.merge_parts == part) & ~np.isin(block.num, open_dropped(job))
    passed = passed_us(job.marks, block.num)
    until = np.maximum(until_us, passed)
    mine = _tables(sum_counts(fresh), groups, live)
    first, last = due_windows(block, passed, until)
    rows = np.flatnonzero(live & (first <= last))
    rows = rows[np.argsort(block.num[rows])]
    sources = [mine]
    # What no commit has included has no earlier counts.
    if (passed[rows] > MIN_US).any():
        sources += [FILES.get(job.store, name, "panes", open_tables) for name, _ in job.pane_state]
    reports = _reports(block, rows, first[rows], last[rows], sources)
    return reports, _needed(mine, groups, until, live)


def due_windows(block: QueryBlock, passed: Int64s, until: Int64s) -> tuple[Int64s, Int64s]:
    """First and last window of each subscription that ends at or after ``passed`` and before ``until``.

    Windows are numbered from the phase of their subscription: number i ends at phase + i * every.
    """
    phase = block.anchor % block.every
    first = np.where(block.start == MIN_US, MIN_US, (block.anchor - phase) // block.every + 1)
    known = passed > MIN_US
    first[known] = np.maximum(first, -((phase - np.where(known, passed, 0)) // block.every))[known]
    return first, (np.minimum(until - 1, block.end) - phase) // block.every


def _tables(counts: PaneCounts, groups: SubscriptionGroups, live: npt.NDArray[np.bool_]) -> Tables:
    """Fresh counts with the numbers of the live members of their tables."""
    used, table = np.unique(counts.table, return_inverse=True)
    offsets, places = spread_rows(groups.member_offsets, used)
    rows = groups.members[places]
    sums = np.concatenate([[0], np.cumsum(live[rows])]).astype(np.int64)
    renumbered = PaneCounts(table, counts.pane, counts.offsets, counts.term, counts.count, counts.dictionary)
    return Tables(renumbered, sums[offsets], groups.block.num[rows[live[rows]]])


def _needed(tables: Tables, groups: SubscriptionGroups, until: Int64s, live: npt.NDArray[np.bool_]) -> Tables | None:
    """The slots that a window which is not due yet still needs."""
    if tables.counts.rows == 0:
        return None
    block = groups.block
    by_num = np.argsort(block.num)
    member = by_num[np.searchsorted(block.num[by_num], tables.members)]
    keep = needed_slots(tables, block.window[member], block.every[member], block.anchor[member], until[member])
    return tables.take(keep) if keep.any() else None


def needed_slots(
    tables: Tables, window: Int64s, every: Int64s, anchor: Int64s, until: Int64s
) -> npt.NDArray[np.bool_]:
    """Which slots a window that ends at ``until`` or later needs; times are those of each member of the tables."""
    first = tables.member_offsets[:-1]
    row = first[tables.counts.table]
    longest = np.maximum.reduceat(window, first)[tables.counts.table]
    earliest = np.minimum.reduceat(until, first)[tables.counts.table]
    last = last_window(tables.counts.pane, longest, every[row])
    kept: npt.NDArray[np.bool_] = anchor[row] % every[row] + last * every[row] >= earliest
    return kept


def _reports(block: QueryBlock, rows: Int64s, first: Int64s, last: Int64s, sources: Sequence[Tables]) -> pa.Table:
    """The top k terms of every due window of the given rows, which ascend by number."""
    if len(rows) == 0:
        return REPORT_SCHEMA.empty_table()
    parts, slot_table, due, due_table = [], [], [], []
    tables = 0
    for source in sources:
        place, table = source.tables_of(block.num[rows])
        used = np.zeros(len(source.member_offsets) - 1, np.bool_)
        used[table] = True
        parts.append(source.counts.take(np.flatnonzero(used[source.counts.table])))
        slot_table.append(parts[-1].table + tables)
        due.append(place)
        due_table.append(table + tables)
        tables += len(used)
    counts = concat_counts(parts)
    if counts.rows == 0:
        return REPORT_SCHEMA.empty_table()
    # Slots ascend by table; each row gets the slots of its tables.
    slots_of = np.searchsorted(np.concatenate(slot_table), np.arange(tables + 1))
    who, what = np.concatenate(due), np.concatenate(due_table)
    what = what[np.argsort(who, kind="stable")]
    cuts = np.searchsorted(np.sort(who), np.arange(len(rows) + 1))
    phase = block.anchor[rows] % block.every[rows]
    # Rows with the same tables and windows have the same answer, up to k.
    known: dict[tuple[int, int, int, bytes], int] = {}
    series: list[Series] = []
    answer = np.empty(len(rows), np.int64)
    for i, row in enumerate(rows.tolist()):
        mine = what[cuts[i] : cuts[i + 1]]
        window, every, k = int(block.window[row]), int(block.every[row]), int(block.k[row])
        key = (window, int(first[i]), int(last[i]), mine.tobytes())
        answer[i] = known.setdefault(key, len(series))
        if answer[i] == len(series):
            series.append(Series(spread_rows(slots_of, mine)[1], window, every, int(first[i]), int(last[i]), k))
        elif series[answer[i]].k < k:
            same = series[answer[i]]
            series[answer[i]] = Series(same.slots, window, every, same.first, same.last, k)
    best = top_terms(counts, series)
    bounds = np.searchsorted(best.series, np.arange(len(series) + 1))
    ends, places = spread_rows(bounds, answer)
    who = np.repeat(np.arange(len(rows)), np.diff(ends))
    within = best.rank[places] <= block.k[rows[who]]
    who, places = who[within], places[within]
    return pa.table(
        {
            "num": block.num[rows[who]],
            "window_end": pa.array(phase[who] + best.window[places] * block.every[rows[who]]).cast(INSTANT),
            "rank": best.rank[places],
            "term": counts.dictionary.strings().take(pa.array(best.term[places])),
            "count": best.count[places],
        },
        REPORT_SCHEMA,
    )
