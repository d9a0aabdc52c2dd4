"""Subscriptions compiled for the workers: one base, and a small delta over it.

The driver compiles before a batch whose plan includes new control entries. A base holds everything that stood when it
was made; what was registered since goes into a delta (:mod:`~sightline.stages.registered.recent`), what was dropped
since into a list that is subtracted. When delta or drops outgrow a share of the base, a new base is made in the
background while batches go on with the old one; the first plan that finds it ready takes it, with a delta of what came
in the meantime.
Only a plan that adds more than the whole base makes a base at once: inserting would take as long.

What stands is decided by the control position of a plan alone, never by which base answers. All of it can be made
again from the control log, so none of it is named by the commit log; the sweep is told to keep it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sightline.partition import Routing
from sightline.partition.optional import settled
from sightline.stages.background import Background
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.compiled_files import CompiledFiles, Layers, stack
from sightline.stages.registered.recent import Recent
from sightline.store.store import Store

__all__ = ["CompiledSet", "Compiler", "Layers"]

MIN_DELTA = 4096  # a delta of this size costs less than rebuilding any base
DELTA_SHARE = 8  # a delta larger than base / 8 is folded in


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
class _Base:
    """Everything that stood at a control position, compiled for the routing of an epoch."""

    control: int
    epoch: int
    size: int
    files: Layers
    routing: Routing  # as it was settled


class Compiler:
    """Keeps the compiled files of the running pipeline."""

    def __init__(self, store: Store, book: SubscriptionBook) -> None:
        self._store, self._book = store, book
        self._files = CompiledFiles(store)
        self._base: _Base | None = None
        self._recent: Recent | None = None
        self._merge: Background[_Base] | None = None
        self._set = CompiledSet()
        self._at = (-2, -1)  # control position and epoch of _set
        self._retired: list[str] = []
        self._lock = threading.Lock()  # the sweep asks for names from its own thread

    def names(self) -> list[str]:
        """Files in use or about to be, which a sweep must keep; those of a base in the making are too young for it."""
        with self._lock:
            names = [*self._set.names(), *self._retired]
            if self._base is not None:
                names += CompiledSet(self._base.files).names()
            if self._merge is not None and self._merge.done:
                with contextlib.suppress(Exception):  # a failed merge is the next plan's to report
                    names += CompiledSet(self._merge.result().files).names()
            return names

    def at(self, control: int, epoch: int, routing: Routing) -> CompiledSet:
        """Everything that stands at a control position, compiled for a routing.

        Raises what went wrong in a merge that ended since the last call; the call after that begins anew.
        """
        with self._lock:
            swapped = self._take_merged(control, epoch)
            if (control, epoch) == self._at and not swapped:
                return self._set
            before = list(self._set.names())
            base = self._base_for(control, epoch, routing)
            recent = self._recent_for(base, control)
            dropped = self._book.dropped_between(base.control, control)
            layers = stack(base.files, recent.layers(), routing.workers)
            self._set = CompiledSet(layers, self._files.write_dropped(dropped) if len(dropped) else None)
            self._at = control, epoch
            kept = set(self._set.names())
            self._retired += [name for name in before if name not in kept]
            if self._merge is None and max(recent.size, len(dropped)) > max(MIN_DELTA, base.size // DELTA_SHARE):
                self._merge = self._start_merge(control, epoch, routing)
            return self._set

    def close(self) -> None:
        """Wait for a merge in hand: after this no thread writes. The next plan, if there is one, takes its result."""
        merge = self._merge
        if merge is not None:
            merge.wait()

    def discard_retired(self) -> None:
        """Remove files of earlier sets; processes that have them mapped keep their pages."""
        with self._lock:
            for name in self._retired:
                with contextlib.suppress(FileNotFoundError):
                    self._store.data_path(name).unlink()
            self._retired.clear()

    def _take_merged(self, control: int, epoch: int) -> bool:
        """Put a base that is ready in the place of the old one, if the plan is not from before it."""
        if self._merge is None or not self._merge.done:
            return False
        merge, self._merge = self._merge, None
        base = merge.result()
        older = self._base is not None and base.control <= self._base.control
        if base.epoch != epoch or base.control > control or older:
            self._retired += CompiledSet(base.files).names()
            return False
        self._base, self._recent = base, None
        return True

    def _base_for(self, control: int, epoch: int, routing: Routing) -> _Base:
        """The base to start from; made at once if there is none that fits, or none worth adding to."""
        base = self._base
        if base is None or base.epoch != epoch or control < base.control or self._overtaken(base, control):
            base = self._make(control, epoch, routing, self._book.live(control))
            self._base, self._recent = base, None
        return base

    def _overtaken(self, base: _Base, control: int) -> bool:
        """Whether more was registered since the last plan than the base holds."""
        known = base.control if self._recent is None else self._recent.control
        return self._book.next_num_at(control) - self._book.next_num_at(known) > max(MIN_DELTA, base.size)

    def _recent_for(self, base: _Base, control: int) -> Recent:
        recent, self._recent = self._recent, None  # a failure on the way leaves none
        if recent is None or recent.control > control:
            recent = Recent(base.control, self._book, self._files, base.routing)
        recent.advance(control)
        self._recent = recent
        return recent

    def _start_merge(self, control: int, epoch: int, routing: Routing) -> Background[_Base]:
        live = self._book.live(control)
        return Background("sightline-merge", lambda: self._make(control, epoch, routing, live))

    def _make(self, control: int, epoch: int, routing: Routing, live: npt.NDArray[np.int64]) -> _Base:
        if len(live) == 0:
            return _Base(control, epoch, 0, {}, routing)
        block = self._book.block(live)
        routing = settled(routing, block, self._book.dropped_between(-1, control))
        return _Base(control, epoch, len(live), self._files.build(block, routing), routing)
