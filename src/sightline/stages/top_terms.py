"""Top-terms subscriptions (CTQ): term counts per pane at the owners, reports where they are merged.

Sliding windows share *panes* (`index.standing.panes`): an object is counted once in its pane, a window is the sum of
its panes. A window is reported by the first commit whose high mark - lateness passes its end, and never again; an
object that comes later still counts in the windows of its pane that are open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.index.standing.block import QueryBlock
from sightline.index.standing.panes import last_window, pane_of, panes_of_window, windows_of_pane
from sightline.index.standing.panes import pane_counts as count_panes
from sightline.model.time import MIN_US
from sightline.stages.job import Job
from sightline.stages.mapped import FILES
from sightline.stages.marks import passed_us
from sightline.stages.packet import Packet
from sightline.stages.standing import TOP_TERMS, WINDOWS, Lifetimes, open_compiled, open_dropped
from sightline.store.keyed_file import KeyedFile

COUNTED = ["pane", "term", "count"]
Int64s = npt.NDArray[np.int64]


def pane_counts(
    owned: Sequence[Packet], worker: int, job: Job, lifetimes: Lifetimes, count: Callable[[str, int], None]
) -> pa.Table | None:
    """Counts of one worker's own objects: num, pane, term, count."""
    tables = []
    for layer in open_compiled(job, TOP_TERMS, worker):
        block = layer.block
        for packet in owned:
            flat = packet.objects()
            pairs = layer.index.match(flat)  # type: ignore[union-attr]
            count("candidates", pairs.candidates)
            counted, late = lifetimes.judge(block, pairs.object, pairs.query, flat.ts)
            object_, query = pairs.object[counted], pairs.query[counted]
            ts = flat.ts[object_]
            anchor, window, every = block.anchor[query], block.window[query], block.every[query]
            pane = pane_of(ts, anchor, window, every)
            first = np.maximum(-((anchor - ts) // every), np.where(block.start[query] == MIN_US, MIN_US, 1))
            first_end = anchor + first * every  # of the first window that has the object, if any has
            reported = (first_end < passed_us(job.marks, block.num[query])) & (first_end - window < ts)
            count("late", late + int(reported.sum()))
            query, pane, term, times = count_panes(flat, object_, query, pane)
            if len(query):
                strings = flat.terms.dictionary.strings().cast(pa.string()).take(pa.array(term))
                tables.append(pa.table({"num": block.num[query], "pane": pane, "term": strings, "count": times}))
    return pa.concat_tables(tables) if tables else None


@dataclass(frozen=True)
class Windows:
    """The windows of one subscription that a commit reports."""

    num: int
    k: int
    anchor: int
    window: int
    every: int
    end: int
    first: int | None  # windows are numbered from here; None without a start
    after_us: int  # windows ending before this were reported earlier
    until_us: int  # windows ending before this are due

    def due(self, panes: Int64s) -> list[int]:
        """Windows with content that are due now, ascending."""
        first = MIN_US if self.first is None else self.first
        if self.after_us > MIN_US:
            first = max(first, -((self.anchor - self.after_us) // self.every))
        last = (min(self.until_us - 1, self.end) - self.anchor) // self.every
        out: set[int] = set()
        for pane in panes.tolist():
            windows = windows_of_pane(pane, self.window, self.every)
            out.update(range(max(windows.start, first), min(windows.stop - 1, last) + 1))
        return sorted(out)

    def kept(self, panes: Int64s) -> npt.NDArray[np.bool_]:
        """Panes that a window which is not due yet still needs."""
        return self.anchor + last_window(panes, self.window, self.every) * self.every >= self.until_us


def merge_top_terms(
    fresh: pa.Table, block: QueryBlock, job: Job, until_us: int, earlier: Callable[[int], pa.Table]
) -> tuple[pa.Table, pa.Table]:
    """Reports that are due and the pane counts to keep.

    Parameters
    ----------
    fresh : counts of this batch (num, pane, term, count)
    block : the top-terms subscriptions of this merge partition
    until_us : high mark - lateness with this batch
    earlier : counts of earlier batches of one subscription (pane, term, count)
    """
    reports, keep = [], []
    fresh = fresh.take(pc.sort_indices(fresh, sort_keys=[("num", "ascending")]))
    nums = fresh["num"].to_numpy()
    passed = passed_us(job.marks, block.num)
    for row in range(len(block.num)):
        num = int(block.num[row])
        low, high = np.searchsorted(nums, [num, num + 1])
        mine = fresh.slice(low, high - low).select(COUNTED)
        after, until = int(passed[row]), max(until_us, int(passed[row]))
        windows = Windows(
            num,
            int(block.k[row]),
            int(block.anchor[row]),
            int(block.window[row]),
            int(block.every[row]),
            int(block.end[row]),
            None if block.start[row] == MIN_US else 1,
            after,
            until,
        )
        if until > after:
            both = pa.concat_tables([mine, earlier(num)])
            reports.extend(_reports(both, windows))
        if mine.num_rows:
            mask = windows.kept(mine["pane"].to_numpy())
            kept = mine.filter(pa.array(mask))
            keep.append(kept.append_column("num", pa.array(np.full(kept.num_rows, num))))
    return (
        pa.concat_tables(reports) if reports else REPORT_SCHEMA.empty_table(),
        pa.concat_tables(keep) if keep else PANE_SCHEMA.empty_table(),
    )


REPORT_SCHEMA = pa.schema(
    [
        ("num", pa.int64()),
        ("window_end", pa.timestamp("us", tz="UTC")),
        ("rank", pa.int32()),
        ("term", pa.string()),
        ("count", pa.int64()),
    ]
)
PANE_SCHEMA = pa.schema([("pane", pa.int64()), ("term", pa.string()), ("count", pa.int64()), ("num", pa.int64())])


def _reports(counts: pa.Table, windows: Windows) -> list[pa.Table]:
    """The top k terms of every due window of one subscription."""
    if counts.num_rows == 0:
        return []
    counts = counts.take(pc.sort_indices(counts, sort_keys=[("pane", "ascending")]))
    pane = counts["pane"].to_numpy()
    term = counts["term"].combine_chunks().dictionary_encode()
    # Terms in byte order, so that the smaller id is the tie-break.
    names = term.dictionary
    place = np.empty(len(names), np.int64)
    by_name = pc.sort_indices(names).to_numpy()
    place[by_name] = np.arange(len(names))
    ids, times = place[term.indices.to_numpy()], counts["count"].to_numpy()
    tables = []
    for window in windows.due(np.unique(pane)):
        panes = panes_of_window(window, windows.window, windows.every)
        low, high = np.searchsorted(pane, [panes.start, panes.stop])
        if low == high:
            continue
        found, inverse = np.unique(ids[low:high], return_inverse=True)
        total = np.bincount(inverse, weights=times[low:high]).astype(np.int64)
        best = np.lexsort((found, -total))[: windows.k]
        end = windows.anchor + window * windows.every
        tables.append(
            pa.table(
                {
                    "num": np.full(len(best), windows.num),
                    "window_end": np.full(len(best), end),
                    "rank": np.arange(1, len(best) + 1, dtype=np.int32),
                    "term": names.take(pa.array(by_name[found[best]])),
                    "count": total[best],
                }
            ).cast(REPORT_SCHEMA)
        )
    return tables


def windows_of_part(job: Job, part: int) -> QueryBlock | None:
    """The live top-terms subscriptions that fall to a merge partition, ascending by number."""
    layers = open_compiled(job, WINDOWS, 0)
    if not layers:
        return None
    block = QueryBlock.concat([layer.block for layer in layers])
    mine = (block.num % job.merge_parts == part) & ~np.isin(block.num, open_dropped(job))
    return block.take(np.flatnonzero(mine)) if mine.any() else None


def stored_panes(job: Job) -> Callable[[int], pa.Table]:
    """Reader of the pane counts that earlier batches kept."""
    files = [
        FILES.get(job.store, name, "keyed", partial(KeyedFile, version=version)) for name, version in job.pane_state
    ]

    def earlier(num: int) -> pa.Table:
        parts = [file.select(num).select(COUNTED) for file in files]
        return pa.concat_tables([PANE_SCHEMA.empty_table().select(COUNTED), *parts])

    return earlier
