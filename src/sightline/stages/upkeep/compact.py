"""Log-structured merging (Pastri's pLSM, Alg. 8), off the critical path.

Which files to merge is :mod:`sightline.store.merge_policy`; this is how each kind is merged. A merge is a commit like
any other: readers see the files before it or after it, never both.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sightline.index.objects.segment import Segment, merge_segments
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.target import Target
from sightline.stages.flow.pane_files import merge_tables, open_tables, write_tables
from sightline.stages.flow.segments import write_segment
from sightline.stages.flow.top_terms import needed_slots
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.registered.marks import passed_us
from sightline.stages.routing.epoch_files import open_learnt, write_learnt
from sightline.store.entries import MergeCommit
from sightline.store.files import FileEntry, new_name
from sightline.store.keyed_file import KeyedFile, merge_keyed, write_keyed
from sightline.store.kinds import RESULT_KINDS, FileKind
from sightline.store.merge_policy import pick_merge
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store

SEGMENT_MAX_ROWS = 4_000_000
RESULT_MAX_ROWS = 64_000_000
# A stack is left alone until it has this many files: a cascade of Alg. 8 is then one merge, and a row is rewritten
# about a quarter as often as when every flush merges at once. While batches run back to back, merging only takes
# their processors, and waits for larger stacks.
MIN_FILES, BUSY_FILES = 16, 64


class Compaction:
    """Merges what the policy picks. One per pipeline; `commit_lock` is shared with its batches."""

    def __init__(self, store: Store, book: SubscriptionBook, commit_lock: threading.RLock) -> None:
        self._store, self._book, self._commit_lock = store, book, commit_lock

    def run(self, min_files: int = MIN_FILES, until: Callable[[], bool] = lambda: False) -> int:
        """Merge in the stacks of at least `min_files` files, unless `until` says stop; returns the merges committed."""
        done = 0
        for group in self._groups(min_files):
            if until():
                break
            self._commit(self._merge(group), group)
            done += 1
        return done

    def _groups(self, min_files: int) -> list[list[FileEntry]]:
        snapshot = self._store.commits.snapshot()
        entries = {kind: snapshot.entries(kind) for kind in (*RESULT_KINDS, FileKind.SEGMENT)}
        groups = []
        past = _closed(entries[FileKind.PANES], snapshot)
        if past and len(entries[FileKind.PANES]) >= min_files:
            groups.append(past)
            entries[FileKind.PANES] = [entry for entry in entries[FileKind.PANES] if entry not in past]
        sizes = Counter((entry.kind, entry.stack) for group in entries.values() for entry in group)
        for kind, group in entries.items():
            high = [entry for entry in group if sizes[kind, entry.stack] >= min_files]
            groups += pick_merge(high, 1, SEGMENT_MAX_ROWS if kind == FileKind.SEGMENT else RESULT_MAX_ROWS)
        return groups + self._learnt(snapshot, min_files)

    def _learnt(self, snapshot: Snapshot, min_files: int) -> list[list[FileEntry]]:
        """What routers have learnt: of the present epoch it becomes one file, that of others is done with."""
        learnt = snapshot.entries(FileKind.LEARNT)
        present = [entry for entry in learnt if entry.stack == snapshot.epochs[-1].file]
        past = [entry for entry in learnt if entry.stack != snapshot.epochs[-1].file]
        return [group for group, least in ((present, min_files), (past, 1)) if len(group) >= least]

    def _commit(self, merged: FileEntry | None, group: list[FileEntry]) -> None:
        with self._commit_lock:
            added = () if merged is None else (merged,)
            entry = MergeCommit(add=added, remove=tuple(part.name for part in group))
            self._store.commits.append(entry, self._store.commits.refresh().version)

    def _merge(self, group: list[FileEntry]) -> FileEntry | None:
        if group[0].kind == FileKind.SEGMENT:
            return self._merge_segments(group)
        if group[0].kind == FileKind.PANES:
            return self._merge_panes(group)
        if group[0].kind == FileKind.LEARNT:
            return self._merge_learnt(group)
        files = [KeyedFile.open(self._store.data_path(entry.name), entry.version) for entry in group]
        kind = group[0].kind
        table = merge_keyed(files, "latest" if kind == FileKind.NEAREST else "concat")
        name = new_name(kind)
        written = write_keyed(
            self._store.data_path(name),
            table.keys,
            table.columns,
            table.objects,
            table.offsets,
            durable=self._store.durable,
        )
        return written.entry(kind, name, group[0].stack, version=group[-1].version)

    def _merge_segments(self, group: list[FileEntry]) -> FileEntry:
        segments = [FILES.get(str(self._store.path), entry.name, "segment", Segment.from_file) for entry in group]
        data = merge_segments(segments, self._store.config.indexes.objects)
        merged = write_segment(
            Target(self._store.path, self._store.durable), data, group[0].stack, int(group[0].meta["worker"])
        )
        return replace(merged, version=group[-1].version)

    def _merge_learnt(self, group: list[FileEntry]) -> FileEntry | None:
        epoch = self._store.commits.snapshot().epochs[-1].file
        if group[0].stack != epoch:
            return None
        parts = [FILES.get(str(self._store.path), entry.name, "learnt", open_learnt) for entry in group]
        return write_learnt(Target(self._store.path, self._store.durable), epoch, parts, group[-1].version)

    def _merge_panes(self, group: list[FileEntry]) -> FileEntry | None:
        """Equal (table, pane, term) summed; panes without an open window, and of dropped ones, left out."""
        snapshot = self._store.commits.snapshot()
        if len(_closed(group, snapshot)) == len(group):
            return None
        self._book.refresh()
        # A batch that has begun runs again under its plan, with what stood then.
        stood = [self._book.live(plan.control) for plan in self._store.plans.open_plans()]
        files = [FILES.get(str(self._store.path), entry.name, "panes", open_tables) for entry in group]
        tables = merge_tables(files, np.unique(np.concatenate([self._book.live(), *stood])))
        if tables.counts.rows == 0:
            return None
        nums, at = np.unique(tables.members, return_inverse=True)
        block = self._book.block(nums)
        marks = [[self._book.next_num_at(control), mark] for control, mark in snapshot.marks]
        times = block.window[at], block.every[at], block.anchor[at], passed_us(marks, nums)[at]
        kept = needed_slots(tables, *times)
        if kept is None:
            return None
        return write_tables(Target(self._store.path, self._store.durable), *kept, group[-1].version)


def _closed(panes: list[FileEntry], snapshot: Snapshot) -> list[FileEntry]:
    """Files of pane counts whose last window ends before every mark: reported or dropped, so they need not be read.

    With short windows these are most of a stack: at 10 minutes and batches of 200 s, 60 of 66 files.
    """
    least = min((mark for _, mark in snapshot.marks), default=MIN_US)
    return [entry for entry in panes if entry.meta.get("last_us", MAX_US) < least]
