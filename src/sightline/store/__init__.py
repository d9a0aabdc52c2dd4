"""What is kept: immutable files, two logs that name them, and the rules for merging and removing them.

Nothing here knows an index, a query or Spark. A file is a set of named flat arrays with checksums
(:mod:`array_file`), or a result table sorted by subscription number (:mod:`keyed_file`). A file exists for
readers only once an entry of the commit log names it (:mod:`commit_log`); before that it is a stray that
:mod:`sweep` removes after a grace period. Requests of users arrive through the control log
(:mod:`control_log`), which any process may append to; the commit log has one writer, guarded by
:mod:`lock`. A batch writes its :mod:`plans` entry before its job, so that a re-run decides alike.

Both logs are numbered files created by put-if-absent (:mod:`log_store`), one file per entry, dense from
the first number. :mod:`merge_policy` and :mod:`slices` are pure functions: sizes in, groups out.

All durable writes go through :mod:`disk`, which turns a full disk into ``StoreFull`` and leaves no half
written name behind.
"""

from sightline.store.array_file import ArrayFile, write_array_file
from sightline.store.commit_log import CommitLog
from sightline.store.control_log import ControlEntry, ControlLog
from sightline.store.files import FileEntry, key_filter, new_name
from sightline.store.keyed_file import KeyedFile, KeyedTable, merge_keyed, write_keyed
from sightline.store.lock import PipelineLock
from sightline.store.log_store import LocalLogStore, LogStore
from sightline.store.merge_policy import pick_merge
from sightline.store.plans import BatchPlan, PlanStore
from sightline.store.slices import cut, slice_of, stack_of
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store
from sightline.store.sweep import sweep

__all__ = [
    "ArrayFile",
    "BatchPlan",
    "CommitLog",
    "ControlEntry",
    "ControlLog",
    "FileEntry",
    "KeyedFile",
    "KeyedTable",
    "LocalLogStore",
    "LogStore",
    "PipelineLock",
    "PlanStore",
    "Snapshot",
    "Store",
    "cut",
    "key_filter",
    "merge_keyed",
    "new_name",
    "pick_merge",
    "slice_of",
    "stack_of",
    "sweep",
    "write_array_file",
    "write_keyed",
]
