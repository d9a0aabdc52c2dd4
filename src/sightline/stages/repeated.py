"""A batch that is committed already and comes again: the same rows are skipped, other rows are refused."""

from __future__ import annotations

import logging

from sightline.model.errors import RunFailed
from sightline.store.positions import Position, Reading, logs_of
from sightline.store.store import DATA, Store

log = logging.getLogger("sightline.runs")


def refuse_other_rows(store: Store, position: Position | None, batch: int, reading: Reading | None) -> None:
    """``RunFailed`` unless a committed batch would read what it read then.

    Of a run without offsets the name stands for one source. A commit that is older than readings does not say what it
    read: its batch is skipped, with a warning.
    """
    if reading is None or reading.offsets is None:
        return
    if position is None:
        log.warning("batch %d of run %r is committed; what it read is not known, it is skipped", batch, reading.name)
        return
    committed = position.offsets.get(batch)
    if committed is not None and _ends(committed) == _ends(reading.offsets):
        texts = logs_of(position, store.path / DATA)
        if all(texts.get(name, text) == text for name, text in reading.texts().items()):
            return
    raise RunFailed(
        f"run {reading.name!r} has planned batch {batch} anew, which is committed, with other rows than it had",
        value=reading.offsets.splitlines()[2:],
        allowed="not known" if committed is None else str(committed.splitlines()[2:]),
        hint="nothing was skipped and nothing doubled; start the run again, its checkpoint is repaired from the log",
    )


def _ends(offsets: str) -> list[str]:
    """Where the sources end: Spark's text without its version and its metadata, which has the time of planning."""
    return offsets.splitlines()[2:]
