"""Pane counts between the stages and on disk: which tables, for whom they count, and the counts.

Groups of subscriptions change from batch to batch; counts stay right because every file says for which subscription
numbers each of its tables counts. A window is the sum over all tables, of all files, that count for its subscription.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import narrowed
from sightline.flat.columns import batch_of, values_of
from sightline.flat.ipc import Pieces, Value, streams, whole
from sightline.index.standing.keywords import spread_rows
from sightline.index.standing.panes import PaneCounts, leaders_first, sum_counts
from sightline.stages.exchange.target import Target
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.store.files import FileEntry, new_name
from sightline.store.kinds import FileKind
from sightline.text.dictionary import TermDictionary

Int64s = npt.NDArray[np.int64]
_FLAT = ("table", "pane", "offsets", "term", "count")
_WORDS = ("term_hashes", "term_offsets", "term_data")


@dataclass(frozen=True)
class PaneTables:
    """Counts, leaders first, and for each of their tables the subscription numbers it counts for.

    ``tail[slot]`` is the largest count after the leaders of a slot.
    """

    counts: PaneCounts
    tail: Int64s
    member_offsets: Int64s
    members: Int64s

    @classmethod
    def of(cls, counts: PaneCounts, member_offsets: Int64s, members: Int64s) -> PaneTables:
        """Put the leaders of each slot first."""
        return cls(*leaders_first(counts), member_offsets, members)

    def tables_of(self, nums: Int64s) -> tuple[Int64s, Int64s]:
        """Pairs (place in ``nums``, table) of the tables that count for sorted numbers, ascending by table."""
        place = np.minimum(np.searchsorted(nums, self.members), len(nums) - 1)
        found = np.flatnonzero(nums[place] == self.members) if len(nums) else np.empty(0, np.int64)
        table = np.searchsorted(self.member_offsets, found, side="right") - 1
        return place[found], table

    def take(self, keep: npt.NDArray[np.bool_]) -> PaneTables:
        """The slots to keep and the tables that still have one, renumbered."""
        counts = self.counts.take(np.flatnonzero(keep))
        used, table = np.unique(counts.table, return_inverse=True)
        offsets, places = spread_rows(self.member_offsets, used)
        counts = PaneCounts(table, counts.pane, counts.offsets, counts.term, counts.count, counts.dictionary)
        return PaneTables(counts, self.tail[keep], offsets, self.members[places])


def write_tables(target: Target, tables: PaneTables, last_us: int, version: int = 0) -> FileEntry:
    """Write a new file; returns its log entry, with the end of the last window that has anything in it."""
    name = new_name(FileKind.PANES)
    counts = tables.counts
    arrays: dict[str, Any] = {field: getattr(counts, field) for field in _FLAT}
    arrays["count"] = narrowed(counts.count)  # most are small, and they are most of the file
    arrays |= counts.dictionary.to_arrays("term_", slots=False)
    arrays |= {"tail": tables.tail, "member_offsets": tables.member_offsets, "members": tables.members}
    size = write_array_file(target.path(name), arrays, {}, durable=target.durable)
    low, high = int(tables.members.min()), int(tables.members.max())
    return FileEntry(
        FileKind.PANES, name, counts.rows, size, FileKind.PANES, low, high, version, meta={"last_us": last_us}
    )


def open_tables(file: ArrayFile) -> PaneTables:
    """Map a file of pane counts; only what is narrow there is copied."""
    words = TermDictionary.from_arrays({name: file.array(name) for name in _WORDS}, prefix="term_")
    flat = {field: file.array(field) for field in _FLAT}
    flat["count"] = flat["count"].astype(np.int64)
    counts = PaneCounts(**flat, dictionary=words)
    return PaneTables(counts, *(file.array(field) for field in ("tail", "member_offsets", "members")))


def open_members(file: ArrayFile) -> Int64s:
    """The subscriptions that a file of pane counts counts for, each perhaps several times."""
    members: Int64s = file.array("members")
    return members


def merge_tables(files: Sequence[PaneTables], live: Int64s) -> PaneTables:
    """All counts of several files for the live subscriptions (sorted); tables that count for the same ones are one."""
    known: dict[bytes, int] = {}
    members: list[Int64s] = []
    parts = []
    for file in files:
        stands = np.isin(file.members, live)
        number = np.full(len(file.member_offsets) - 1, -1, np.int64)
        for table in range(len(number)):
            low, high = file.member_offsets[table], file.member_offsets[table + 1]
            mine = file.members[low:high][stands[low:high]]
            if len(mine):
                number[table] = known.setdefault(mine.tobytes(), len(known))
                if len(members) < len(known):
                    members.append(mine)
        part = file.counts.take(np.flatnonzero(number[file.counts.table] >= 0))
        parts.append(_renumbered(part, number))
    sizes = np.array([len(mine) for mine in members], np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return PaneTables.of(sum_counts(parts), offsets, np.concatenate([np.empty(0, np.int64), *members]))


def _renumbered(counts: PaneCounts, number: Int64s) -> PaneCounts:
    """PaneTables under other numbers; two that become one stay two slots of it, which a sum adds up."""
    order = np.lexsort((counts.pane, number[counts.table]))
    offsets, rows = spread_rows(counts.offsets, order)
    return PaneCounts(
        number[counts.table[order]],
        counts.pane[order],
        offsets,
        counts.term[rows],
        counts.count[rows],
        counts.dictionary,
    )


def pack_counts(counts: PaneCounts) -> Pieces:
    """Counts as one value of an exchange: slots, rows and terms as three Arrow streams back to back.

    Counts have as few bytes as the largest needs: nearly all of them are small, and they are most of the value.
    """
    words = counts.dictionary
    strings = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(words), [None, pa.py_buffer(words.offsets), pa.py_buffer(words.data)]
    )
    return streams(
        batch_of({"table": counts.table, "pane": counts.pane, "rows": np.diff(counts.offsets)}),
        batch_of({"term": counts.term, "count": narrowed(counts.count)}),
        batch_of({"hash": words.hashes, "string": strings}),
    )


def unpack_counts(blob: Value) -> PaneCounts:
    """The counts in a value; columns are views of it."""
    reader = pa.BufferReader(whole(blob))
    (slots,) = pa.ipc.open_stream(reader)
    (rows,) = pa.ipc.open_stream(reader)
    (words,) = pa.ipc.open_stream(reader)
    strings = words.column("string")
    _, ends, data = strings.buffers()
    dictionary = TermDictionary(
        values_of(words.column("hash")),
        np.frombuffer(ends, np.int64, len(strings) + 1),
        np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8),
    )
    offsets = np.concatenate([[0], np.cumsum(values_of(slots.column("rows")))]).astype(np.int64)
    columns = slots.column("table"), slots.column("pane"), rows.column("term"), rows.column("count")
    table, pane, term, count = (values_of(column) for column in columns)
    return PaneCounts(table, pane, offsets, term, count.astype(np.int64), dictionary)
