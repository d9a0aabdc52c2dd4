"""The book of subscriptions: the control log, folded.

Any process keeps its own book: it reads the entries appended since and knows every subscription by its number, the
dense order in which the log registered them. A number is never used again; an id may be (after a drop, or by
``replace``), and then names its newest number.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.index.standing.block import QueryBlock
from sightline.index.standing.kinds import KIND_NAMES
from sightline.model.queries import query_from_dict
from sightline.model.subscription import Subscription
from sightline.model.time import MAX_US, MIN_US
from sightline.store.array_file import ArrayFile
from sightline.store.control_log import ControlEntry
from sightline.store.requests import Fit, Rebalance, Subscribe
from sightline.store.store import Store

Int64s = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _BookPart:
    """Subscriptions of consecutive control entries, and the grammar that their keywords are written in."""

    first_num: int
    block: QueryBlock
    grammar: int


class SubscriptionBook:
    """All subscriptions ever registered, and when each was dropped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parts: list[_BookPart] = []
        self._dropped_at = np.empty(0, np.int64)  # control position of the drop, NEVER while it stands
        self._position_of = np.empty(0, np.int64)
        self._ends = np.empty(0, np.int64)
        self._lock = threading.RLock()
        self.position = -1
        self.requests: list[ControlEntry] = []  # to rebalance or to fit, oldest first

    def __len__(self) -> int:
        return len(self._position_of)

    def refresh(self, compiled: Mapping[int, QueryBlock] | None = None) -> int:
        """Read what was appended since; returns the position reached.

        ``compiled`` has the blocks that this process compiled for entries of its own, by position: they are kept as
        they are, not parsed and compiled once more. Files are mapped.
        """
        own = compiled or {}
        with self._lock:
            inline: list[tuple[int, Subscribe]] = []
            for entry in self._store.control.read(self.position):
                request = entry.request
                if isinstance(request, Subscribe):
                    block = self._mapped(request.file) if request.file else own.get(entry.position)
                    if block is not None or (inline and inline[-1][1].grammar != request.grammar):
                        self._flush(inline)
                    if block is None:
                        inline.append((entry.first_num, request))
                    else:
                        block = replace(block, num=block.num + entry.first_num)
                        self._parts.append(_BookPart(entry.first_num, block, request.grammar))
                elif isinstance(request, Rebalance | Fit):
                    self.requests.append(entry)
                self._grow(entry.next_num)
                gone = np.array(request.gone, np.int64)
                self._dropped_at[gone] = np.minimum(self._dropped_at[gone], entry.position)
                self._position_of[entry.first_num : entry.next_num] = entry.position
                self.position = entry.position
            self._flush(inline)
            if len(self._ends) != len(self):
                self._ends = np.concatenate([part.block.end for part in self._parts])
            return self.position

    def live(self, control: int | None = None) -> Int64s:
        """Numbers that stand as of a control position (default: all of the log that was read)."""
        at = self.position if control is None else control
        return np.flatnonzero((self._position_of <= at) & (self._dropped_at > at)).astype(np.int64)

    def dropped_between(self, after: int, until: int) -> Int64s:
        """Numbers dropped by the entries ``after < position <= until``, ascending."""
        return np.flatnonzero((self._dropped_at > after) & (self._dropped_at <= until)).astype(np.int64)

    def next_num_at(self, control: int) -> int:
        """Numbers below this one were registered at or before a control position."""
        return int(np.searchsorted(self._position_of, control, side="right"))

    def block(self, nums: Int64s) -> QueryBlock:
        """The standing queries of some numbers (ascending)."""
        parts = []
        for part in self._parts:
            low, high = np.searchsorted(nums, [part.first_num, part.first_num + len(part.block.num)])
            if high > low:
                whole = high - low == len(part.block.num)
                parts.append(part.block if whole else part.block.take(nums[low:high] - part.first_num))
        return parts[0] if len(parts) == 1 else QueryBlock.concat(parts)

    def numbers(self, id_: str) -> list[int]:
        """Every number an id ever had, oldest first."""
        return [
            part.first_num + int(row)
            for part in self._parts
            for row in np.flatnonzero(pc.equal(part.block.ids, id_).to_numpy(zero_copy_only=False))
        ]

    def kinds(self, nums: Sequence[int]) -> list[str]:
        """Kinds of some numbers (ascending)."""
        names = list(KIND_NAMES)
        return [names[kind] for kind in self.block(np.array(nums, np.int64)).kind] if nums else []

    def standing(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers that some ids stand under; those that do not stand are left out."""
        asked = pa.array(ids, pa.string())
        found: dict[str, int] = {}
        for part in self._parts:
            stands = self._dropped_at[part.first_num : part.first_num + len(part.block.num)] == NEVER
            rows = np.flatnonzero(stands & pc.is_in(part.block.ids, value_set=asked).to_numpy(zero_copy_only=False))
            names = part.block.ids.take(pa.array(rows)).to_pylist()
            found.update(zip(names, (rows + part.first_num).tolist(), strict=True))
        return found

    def taken(self, ids: pa.Array) -> list[str]:
        """Those of some ids that stand already."""
        found: list[str] = []
        for part in self._parts:
            standing = self._dropped_at[part.first_num : part.first_num + len(part.block.num)] == NEVER
            found += (
                part.block.ids.filter(pa.array(standing))
                .filter(pc.is_in(part.block.ids.filter(pa.array(standing)), value_set=ids))
                .to_pylist()
            )
        return found

    def ids(self, nums: Int64s) -> pa.Array:
        """Ids of some numbers, in their order."""
        every = pa.chunked_array([part.block.ids for part in self._parts], pa.string())
        return every.take(pa.array(nums)).combine_chunks()

    def ends(self, nums: Int64s) -> Int64s:
        """End of the lifetime of some numbers."""
        return self._ends[nums]

    def table(self, nums: Int64s) -> pa.Table:
        """Some subscriptions as rows: id, kind, query (JSON), start, end; an open end is null."""
        block = self.block(nums) if len(nums) else None
        kinds = pa.array(list(KIND_NAMES), pa.string())
        return pa.table(
            {
                "id": block.ids if block else pa.array([], pa.string()),
                "kind": kinds.take(pa.array(block.kind)) if block else kinds.slice(0, 0),
                "query": block.queries if block else pa.array([], pa.string()),
                "start": _instants(block.start if block else nums, MIN_US),
                "end": _instants(block.end if block else nums, MAX_US),
            }
        )

    def subscription(self, num: int) -> Subscription:
        """One subscription as users see it."""
        return self.subscriptions(np.array([num]))[0]

    def subscriptions(self, nums: Int64s) -> list[Subscription]:
        """Some subscriptions as users see them."""
        if len(nums) == 0:
            return []
        block = self.block(nums)
        starts = [part.first_num for part in self._parts]
        rows = zip(
            block.ids.to_pylist(),
            block.num.tolist(),
            block.queries.to_pylist(),
            block.start.tolist(),
            block.end.tolist(),
            strict=True,
        )
        return [
            Subscription(
                id=id_,
                num=num,
                query=query_from_dict(json.loads(query), self._parts[bisect_right(starts, num) - 1].grammar),
                start_us=start,
                end_us=end,
                position=int(self._position_of[num]),
            )
            for id_, num, query, start, end in rows
        ]

    def _grow(self, total: int) -> None:
        more = total - len(self._position_of)
        if more > 0:
            self._position_of = np.concatenate([self._position_of, np.full(more, NEVER)])
            self._dropped_at = np.concatenate([self._dropped_at, np.full(more, NEVER)])

    def _flush(self, requests: list[tuple[int, Subscribe]]) -> None:
        """Add the inline requests gathered so far, each with its first number, as one part."""
        if not requests:
            return
        said = [item for _, request in requests for item in request.subscriptions]
        grammar = requests[0][1].grammar
        block = QueryBlock.from_queries(
            [query_from_dict(item.query, grammar) for item in said],
            ids=[item.id for item in said],
            nums=np.concatenate([first + np.arange(len(request.subscriptions)) for first, request in requests]),
            starts=np.array([item.start for item in said], np.int64),
            ends=np.array([item.end for item in said], np.int64),
            config=self._store.config,
        )
        self._parts.append(_BookPart(requests[0][0], block, grammar))
        requests.clear()

    def _mapped(self, name: str) -> QueryBlock:
        file = ArrayFile.open(self._store.data_path(name))
        return QueryBlock.from_arrays({name: file.array(name) for name in file.names})


def _instants(us: Int64s, unbounded: int) -> pa.Array:
    return pa.array(us, mask=us == unbounded).cast(pa.timestamp("us", tz="UTC"))
