"""Subscriptions registered since the base was made: a delta per worker, held by the driver and kept up to date.

New range subscriptions are inserted into the delta of each worker they stand at, and only the files of those workers
are written anew. Nearest and top-terms subscriptions are few: theirs are built anew with their own index whenever one
was added. Dropped ones are marked in the range deltas, which spares the workers their matches; that they are not
answered is the business of the list of dropped numbers, so a drop alone rewrites no delta.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sightline.index.standing.block import QueryBlock
from sightline.index.standing.delta import DeltaIndex
from sightline.model.space import Space
from sightline.partition import Routing
from sightline.partition.optional import settled
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.compiled_files import KIND_NUMBERS, CompiledFiles, Layers, of_kind, shares
from sightline.stages.registered.standing import LayerKind, bare
from sightline.stages.registered.summary import Summary, merged, summarise

Int64s = npt.NDArray[np.int64]
DELTA = "delta"  # registered name of DeltaIndex


class _RangeDelta:
    """The delta of one worker, and its file once there is one."""

    def __init__(self, space: Space) -> None:
        self.index = DeltaIndex.empty(space)
        self.block: QueryBlock | None = None
        self.file: str | None = None

    def insert(self, block: QueryBlock) -> None:
        self.index.insert(block)
        known = bare(block)
        self.block = known if self.block is None else QueryBlock.concat([self.block, known])

    def delete(self, nums: Int64s) -> None:
        if self.block is not None:
            mine = self.block.num  # ascending: numbers are given in the order of registration
            rows = np.searchsorted(mine, nums)
            held = rows < len(mine)
            rows = rows[held]
            self.index.delete(rows[mine[rows] == nums[held]])


class Recent:
    """What was registered after ``base_control``, as of a control position that moves forward."""

    def __init__(self, base_control: int, book: SubscriptionBook, files: CompiledFiles, routing: Routing) -> None:
        self.control = self._settled = base_control
        self.size = 0
        self._book, self._files, self._routing = book, files, routing
        self._next = book.next_num_at(base_control)
        self._ranges = [_RangeDelta(files.space) for _ in range(routing.workers)]
        self._others: Layers = {}
        self._summary: Summary | None = None
        self._summary_file: list[str] = []
        self._nums = np.empty(0, np.int64)  # of the kinds that are built anew

    def advance(self, control: int) -> None:
        """Take in what was registered and dropped until a later position. After a failure it is of no use."""
        dropped = self._book.dropped_between(self.control, control)
        for delta in self._ranges:
            delta.delete(dropped)
        live = self._book.live(control)
        new = live[np.searchsorted(live, self._next) :]
        if len(new):
            block = self._book.block(new)
            self._routing = settled(self._routing, block, self._book.dropped_between(self._settled, control))
            self._settled = control
            self._take_in(block, live)
        self.size += len(new)
        self.control, self._next = control, self._book.next_num_at(control)

    def layers(self) -> Layers:
        """The files, as of now."""
        files = [[delta.file] if delta.file is not None else [] for delta in self._ranges]
        layers = {LayerKind.RANGE: files, **self._others} if any(files) else dict(self._others)
        if self._summary_file:
            layers[LayerKind.SUMMARY] = [self._summary_file]
        return layers

    def _take_in(self, block: QueryBlock, live: Int64s) -> None:
        ranges = of_kind(block, LayerKind.RANGE)
        for delta, part in zip(self._ranges, shares(ranges, self._routing) if len(ranges) else (), strict=False):
            if part is not None:
                delta.insert(part)
                assert delta.block is not None
                delta.file = self._files.write_range(DELTA, delta.index, delta.block)
        others = block.num[block.kind != KIND_NUMBERS[LayerKind.RANGE]]
        if len(others):
            self._nums = np.concatenate([np.intersect1d(self._nums, live, assume_unique=True), others])
            self._others = self._files.build(self._book.block(self._nums), self._routing)
            self._others.pop(LayerKind.SUMMARY, None)
        if self._files.summarises(self._routing):
            new = summarise(block, self._routing)
            self._summary = new if self._summary is None else merged([self._summary, new])
            self._summary_file = [self._files.write_summary(self._summary)]
