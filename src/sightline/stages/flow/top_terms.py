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
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.columns import column_of, empty_table, table_of, values_of
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.groups import Ages, SubscriptionGroups, count_objects
from sightline.index.standing.keywords import spread_rows
from sightline.index.standing.panes import (
    LEADERS,
    PaneCounts,
    Series,
    WindowTerms,
    concat_counts,
    last_window,
    leading_counts,
    sum_counts,
    top_terms,
)
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.packet import Packet
from sightline.stages.exchange.read import INSTANT
from sightline.stages.flow.pane_files import Int64s, PaneTables, open_members, open_tables
from sightline.stages.registered.marks import passed_us
from sightline.stages.registered.standing import LayerKind, Lifetimes, open_compiled, open_dropped

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
    layers = job.compiled.get(LayerKind.WINDOWS)
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
    block = QueryBlock.concat([layer.block for layer in open_compiled(sources.job, LayerKind.WINDOWS, 0)])
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


class KeptCounts(NamedTuple):
    """Counts that windows which are not due yet still need, and the end of the last of these windows."""

    tables: PaneTables
    last_us: int


def merge_top_terms(
    fresh: Sequence[PaneCounts], job: Job, part: int, until_us: int
) -> tuple[pa.Table, KeptCounts | None]:
    """Reports of a merge partition that are due, and the counts of this batch to keep; ``until_us`` is high mark -
    lateness with this batch."""
    groups = open_groups(job)
    if groups is None:
        return empty_table(REPORT_SCHEMA), None
    block = groups.block
    live = (groups.row_group % job.merge_parts == part) & ~np.isin(block.num, open_dropped(job))
    passed = passed_us(job.marks, block.num)
    until = np.maximum(until_us, passed)
    mine = fresh_tables(sum_counts(fresh), groups, live)
    first, last = due_windows(block, passed, until)
    rows = np.flatnonzero(live & (first <= last))
    rows = rows[np.argsort(block.num[rows])]
    sources = [mine]
    # What no commit has included has no earlier counts; windows that end before the first due one need none.
    earliest = passed[rows].min(initial=MAX_US, where=passed[rows] > MIN_US)
    needed = [name for name, last_us in job.pane_state if last_us >= earliest]
    # Nor do these need files of other partitions; whose a file is, its members tell.
    due = block.num[rows]
    needed = [name for name in needed if np.isin(FILES.get(job.store, name, "members", open_members), due).any()]
    sources += [FILES.get(job.store, name, "panes", open_tables) for name in needed]
    reports = window_reports(block, rows, first[rows], last[rows], sources)
    return reports, needed_tables(mine, groups, until)


def due_windows(block: QueryBlock, passed: Int64s, until: Int64s) -> tuple[Int64s, Int64s]:
    """First and last window of each subscription that ends at or after ``passed`` and before ``until``.

    Windows are numbered from the phase of their subscription: number i ends at phase + i * every.
    """
    phase = block.anchor % block.every
    first = np.where(block.start == MIN_US, MIN_US, (block.anchor - phase) // block.every + 1)
    known = passed > MIN_US
    first[known] = np.maximum(first, -((phase - np.where(known, passed, 0)) // block.every))[known]
    return first, (np.minimum(until - 1, block.end) - phase) // block.every


def fresh_tables(counts: PaneCounts, groups: SubscriptionGroups, live: npt.NDArray[np.bool_]) -> PaneTables:
    """Fresh counts with the numbers of the live members of their tables."""
    used, table = np.unique(counts.table, return_inverse=True)
    offsets, places = spread_rows(groups.member_offsets, used)
    rows = groups.members[places]
    sums = np.concatenate([[0], np.cumsum(live[rows])]).astype(np.int64)
    renumbered = PaneCounts(table, counts.pane, counts.offsets, counts.term, counts.count, counts.dictionary)
    return PaneTables.of(renumbered, sums[offsets], groups.block.num[rows[live[rows]]])


def needed_tables(tables: PaneTables, groups: SubscriptionGroups, until: Int64s) -> KeptCounts | None:
    """The slots that a window which is not due yet still needs."""
    if tables.counts.rows == 0:
        return None
    block = groups.block
    by_num = np.argsort(block.num)
    member = by_num[np.searchsorted(block.num[by_num], tables.members)]
    return needed_slots(tables, block.window[member], block.every[member], block.anchor[member], until[member])


def needed_slots(tables: PaneTables, window: Int64s, every: Int64s, anchor: Int64s, until: Int64s) -> KeptCounts | None:
    """The slots that a window which ends at ``until`` or later needs; times are those of each member of the tables."""
    first = tables.member_offsets[:-1]
    row = first[tables.counts.table]
    longest = np.maximum.reduceat(window, first)[tables.counts.table]
    earliest = np.minimum.reduceat(until, first)[tables.counts.table]
    last = last_window(tables.counts.pane, longest, every[row])
    end = anchor[row] % every[row] + last * every[row]
    keep = end >= earliest
    return KeptCounts(tables.take(keep), int(end[keep].max())) if keep.any() else None


def window_reports(
    block: QueryBlock, rows: Int64s, first: Int64s, last: Int64s, sources: Sequence[PaneTables]
) -> pa.Table:
    """The top k terms of the windows ``first`` to ``last`` of the given rows, which ascend by number."""
    if len(rows) == 0:
        return empty_table(REPORT_SCHEMA)
    picked, slot_table, due, due_table = [], [], [], []
    tables = 0
    for source in sources:
        place, table = source.tables_of(block.num[rows])
        slots = _slots_in_time(source, place, table, block, rows, first)
        picked.append((source, slots))
        slot_table.append(source.counts.table[slots] + tables)
        due.append(place)
        due_table.append(table + tables)
        tables += len(source.member_offsets) - 1
    # Slots ascend by table; each row gets the slots of its tables.
    slots_of = np.searchsorted(np.concatenate(slot_table), np.arange(tables + 1))
    who, what = np.concatenate(due), np.concatenate(due_table)
    what = what[np.argsort(who, kind="stable")]
    cuts = np.searchsorted(np.sort(who), np.arange(len(rows) + 1))
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
            series[answer[i]] = replace(series[answer[i]], k=k)
    best = _answers(picked, series)
    found = np.searchsorted(values_of(best["series"]), np.arange(len(series) + 1))
    ends, places = spread_rows(found, answer)
    row = rows[np.repeat(np.arange(len(rows)), np.diff(ends))]
    within = values_of(best["rank"])[places] <= block.k[row]
    row, best = row[within], best.take(column_of(places[within]))
    end = block.anchor[row] % block.every[row] + values_of(best["window"]) * block.every[row]
    columns = {"num": block.num[row], "window_end": column_of(end).cast(INSTANT)}
    return table_of({**columns, **{name: best[name] for name in ("rank", "term", "count")}}, REPORT_SCHEMA)


def _slots_in_time(
    source: PaneTables, place: Int64s, table: Int64s, block: QueryBlock, rows: Int64s, first: Int64s
) -> Int64s:
    """The slots of the given tables that any of their due windows has."""
    counts, row = source.counts, rows[place]
    tables = len(source.member_offsets) - 1
    longest, every, earliest = np.zeros(tables, np.int64), np.ones(tables, np.int64), np.full(tables, MAX_US)
    np.maximum.at(longest, table, block.window[row])
    np.minimum.at(earliest, table, first[place])
    every[table] = block.every[row]
    mine = earliest[counts.table] < MAX_US
    mine &= last_window(counts.pane, longest[counts.table], every[counts.table]) >= earliest[counts.table]
    return np.flatnonzero(mine)


def _answers(picked: Sequence[tuple[PaneTables, Int64s]], series: list[Series]) -> pa.Table:
    """First terms of the windows of each series, from the leading rows where these are enough."""
    short = [number for number, one in enumerate(series) if one.k <= LEADERS]
    missing = [number for number, one in enumerate(series) if one.k > LEADERS]
    parts = []
    if short:
        counts = leading_counts([(source.counts, slots) for source, slots in picked])
        tail = np.concatenate([source.tail[slots] for source, slots in picked])
        best, failed = top_terms(counts, tail, [series[number] for number in short])
        parts.append(_named(best, np.array(short), counts))
        missing += [short[place] for place in failed]
    if missing:
        ends = np.cumsum([0] + [len(slots) for _, slots in picked])
        used = np.zeros(ends[-1], np.bool_)
        for number in missing:
            used[series[number].slots] = True
        spans = zip(picked, pairwise(ends.tolist()), strict=True)
        counts = concat_counts([source.counts.take(slots[used[low:high]]) for (source, slots), (low, high) in spans])
        place = np.cumsum(used) - 1
        asked = [replace(series[number], slots=place[series[number].slots]) for number in missing]
        best, _ = top_terms(counts, np.zeros(counts.table.size, np.int64), asked)
        parts.append(_named(best, np.array(missing), counts))
    return pa.concat_tables(parts).sort_by("series") if len(parts) > 1 else parts[0]


def _named(best: WindowTerms, numbers: Int64s, counts: PaneCounts) -> pa.Table:
    """Rows with the number of their series and the strings of their terms."""
    strings = counts.dictionary.strings().take(column_of(best.term))
    return table_of(
        {
            "series": numbers[best.series],
            "window": best.window,
            "rank": best.rank,
            "term": strings,
            "count": best.objects,
        }
    )
