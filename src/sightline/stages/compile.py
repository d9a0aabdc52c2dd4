"""Subscriptions compiled for the workers: one base, and a small delta over it.

The driver compiles before a batch whose plan includes new control entries. A base holds everything that stood when it
was made; what was registered since goes into a delta that is rebuilt when it changes, what was dropped since into a
list that is subtracted. When delta or drops outgrow a share of the base, a new base is made. All of it can be made
again from the control log, so none of it is named by the commit log; the sweep is told to keep it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sightline.index.registry import DEFAULT_NEAREST, DEFAULT_OBJECTS, DEFAULT_STANDING
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS, QueryBlock
from sightline.partition import Routing
from sightline.stages.book import SubscriptionBook
from sightline.stages.standing import NEAREST, RANGE, TOP_TERMS, WINDOWS, write_compiled
from sightline.store.array_file import write_array_file
from sightline.store.files import new_name
from sightline.store.store import Store

KIND_NUMBERS = {RANGE: KIND_RANGE, NEAREST: KIND_NEAREST, TOP_TERMS: KIND_TOP_TERMS}
MIN_DELTA = 4096  # a delta of this size costs less than rebuilding any base
DELTA_SHARE = 8  # a delta larger than base / 8 is folded in
FOLDER = "compiled"

Layers = dict[str, list[list[str]]]  # kind -> worker -> files


@dataclass(frozen=True)
class Indexes:
    """Registered names of the indexes a pipeline uses."""

    range: str = DEFAULT_STANDING
    nearest: str = DEFAULT_NEAREST
    objects: str = DEFAULT_OBJECTS


@dataclass(frozen=True)
class CompiledSet:
    """Files of one control position and epoch."""

    layers: Layers = field(default_factory=dict)
    dropped: str | None = None

    def names(self) -> Iterator[str]:
        for workers in self.layers.values():
            for files in workers:
                yield from files
        if self.dropped is not None:
            yield self.dropped


@dataclass(frozen=True)
class _Layer:
    control: int
    size: int
    files: Layers


class Compiler:
    """Keeps the compiled files of the running pipeline."""

    def __init__(self, store: Store, book: SubscriptionBook, indexes: Indexes) -> None:
        self._store, self._book = store, book
        # The merge stage only reads the windows of its subscriptions: it needs no index over them.
        self._index_of = {RANGE: indexes.range, NEAREST: indexes.nearest, TOP_TERMS: indexes.range, WINDOWS: "scan"}
        self._epoch = -1
        self._base: _Layer | None = None
        self._delta: _Layer | None = None
        self._set = CompiledSet()
        self._at = -2  # control position of _set
        self._retired: list[str] = []

    def names(self) -> list[str]:
        """Files in use, which a sweep must keep."""
        return [*self._set.names(), *self._retired]

    def at(self, control: int, epoch: int, routing: Routing) -> CompiledSet:
        """Everything that stands at a control position, compiled for a routing."""
        if (control, epoch) == (self._at, self._epoch):
            return self._set
        before = list(self._set.names())
        if self._base is None or epoch != self._epoch or control < self._base.control or self._outgrown(control):
            live = self._book.live(control)
            self._base, self._delta = _Layer(control, len(live), self._write(live, routing)), None
        base = self._base
        added = self._added(control)
        if self._delta is None or self._delta.control != control:
            self._delta = _Layer(control, len(added), self._write(added, routing)) if len(added) else None
        dropped = self._book.dropped_between(base.control, control)
        layers = _stack(base.files, self._delta.files if self._delta else {}, routing.workers)
        self._set = CompiledSet(layers, self._write_dropped(dropped) if len(dropped) else None)
        self._at, self._epoch = control, epoch
        self._retired += [name for name in before if name not in set(self._set.names())]
        return self._set

    def discard_retired(self) -> None:
        """Remove files of earlier sets; processes that have them mapped keep their pages."""
        for name in self._retired:
            with contextlib.suppress(FileNotFoundError):
                self._store.data_path(name).unlink()
        self._retired.clear()

    def _added(self, control: int) -> npt.NDArray[np.int64]:
        assert self._base is not None
        live = self._book.live(control)
        return live[live >= self._book.next_num_at(self._base.control)]

    def _outgrown(self, control: int) -> bool:
        assert self._base is not None
        allowed = max(MIN_DELTA, self._base.size // DELTA_SHARE)
        dropped = self._book.dropped_between(self._base.control, control)
        return len(self._added(control)) > allowed or len(dropped) > allowed

    def _write(self, nums: npt.NDArray[np.int64], routing: Routing) -> Layers:
        if len(nums) == 0:
            return {}
        block = self._book.block(nums)
        layers: Layers = {}
        for kind, number in KIND_NUMBERS.items():
            rows = np.flatnonzero(block.kind == number)
            if len(rows) == 0:
                continue
            mine = block if len(rows) == len(block) else block.take(rows)
            routes = routing.route_queries(mine)
            bounds = np.searchsorted(routes.worker, np.arange(routing.workers + 1))
            layers[kind] = [
                [self._write_one(kind, mine.take(routes.query[low:high]))] if high > low else []
                for low, high in pairwise(bounds)
            ]
            if kind == TOP_TERMS:
                layers[WINDOWS] = [[self._write_one(WINDOWS, mine)]]
        return layers

    def _write_one(self, kind: str, block: QueryBlock) -> str:
        name, path = self._fresh()
        write_compiled(path, kind, self._index_of[kind], block, self._store.config.space)
        return name

    def _write_dropped(self, nums: npt.NDArray[np.int64]) -> str:
        name, path = self._fresh()
        write_array_file(path, {"num": nums}, {}, durable=False)
        return name

    def _fresh(self) -> tuple[str, Path]:
        name = new_name(FOLDER)
        path = self._store.data_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return name, path


def _stack(base: Layers, delta: Layers, workers: int) -> Layers:
    """Base and delta files side by side."""
    out: Layers = {}
    for kind in {**base, **delta}:
        width = 1 if kind == WINDOWS else workers
        empty: list[list[str]] = [[] for _ in range(width)]
        out[kind] = [a + b for a, b in zip(base.get(kind, empty), delta.get(kind, empty), strict=True)]
    return out
