"""Result tables: what their files hold, and what users get.

| kind | key | columns of the file |
|---|---|---|
| matches | subscription number | object -> object_id, ts, lon, lat, text |
| nearest | subscription number | rank, distance_mm, object_id, ts, lon, lat, text (the state after its batch) |
| nearest_events | subscription number | event, rank, object_id, distance_mm, ts |
| reports | subscription number | window_end, rank, term, count |
| events | subscription number | event, at |
| rejects | 0 | reason, raw |

The kind ``panes`` (counts that open windows still need) has files of its own form, see `pane_files`.

Every row gets the column ``batch``, the log version of its commit, when it is read or merged.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.stages.exchange.target import Target
from sightline.store.files import FileEntry, new_name
from sightline.store.keyed_file import write_keyed
from sightline.store.kinds import FileKind


def write_table(
    target: Target, kind: FileKind, key: npt.NDArray[np.int64], columns: pa.Table, objects: pa.Table | None = None
) -> FileEntry:
    """Write rows sorted by key; returns the file's log entry."""
    name = new_name(kind)
    return write_keyed(target.path(name), key, columns, objects, durable=target.durable).entry(kind, name, kind)
