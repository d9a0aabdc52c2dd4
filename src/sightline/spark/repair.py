"""A stream's checkpoint is made to say what the log says, before its query starts.

Spark trusts its checkpoint: a lost entry of the offsets makes it plan a committed batch anew, with other rows; a torn
one stops it; a lost entry of a file source's log stops it at every start. The log has what was committed, so:

* what commits carry (`store.positions`) is written wherever the checkpoint says something else, or nothing;
* what says that more was committed than the log knows is removed: the log is what counts;
* of what is not committed yet, only what is surely whole stays: the rest is planned anew, which loses nothing;
* files that a killed writer had not finished are removed: with one of them there, Spark begins no first batch;
* entries of ``commits`` that are torn are removed: Spark repeats the batch, and finds that it is committed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from sightline.model.errors import RunFailed
from sightline.runs.checkpoint_files import (
    holds,
    is_checked,
    is_compact,
    is_whole,
    numbered,
    read_text,
    remove,
    tidied,
    write_text,
)
from sightline.runs.checkpoints import COMMITS, METADATA, OFFSETS, SOURCES, Checkpoint, stored_id
from sightline.store.positions import Position
from sightline.store.snapshot import Snapshot

log = logging.getLogger("sightline.runs")


def repair(checkpoint: Checkpoint, snapshot: Snapshot, position: Position | None, logs: Mapping[str, str]) -> list[str]:
    """Repair the checkpoint of a run; returns what was changed, for people.

    Parameters
    ----------
    position : Position or None
        How far the run of this name has read, None if no commit says so.
    logs : mapping
        All texts of the sources' logs that its commits carry.
    """
    if position is None:
        changed = _unknown(checkpoint, snapshot)
    else:
        changed = _as_committed(checkpoint, position, logs)
    if changed:
        log.warning("repaired the checkpoint of run %r from the log: %s", checkpoint.name, ", ".join(changed))
    return changed


def _unknown(checkpoint: Checkpoint, snapshot: Snapshot) -> list[str]:
    """No commit names this run: it is new, none of its batches was committed, or it is older than such names."""
    folder = checkpoint.folder
    run = stored_id(folder)
    if run is not None and run in snapshot.runs:
        log.warning(
            "the commits of run %r do not say what they read, because they are older than that: until its next commit "
            "its checkpoint cannot be repaired",
            checkpoint.name,
        )
        return []
    if run is None and (numbered(folder / COMMITS) or max(numbered(folder / OFFSETS), default=0) > 0):
        raise RunFailed(
            f"the checkpoint of run {checkpoint.name!r} has lost its id, and no commit says which it was",
            value=str(folder / METADATA),
            allowed='the line {"id":"..."} of the run',
            hint="restore this file from a copy, or start the source under another name=",
        )
    changed = []
    if run is None:
        remove(folder / METADATA)  # its checksum too: with that alone, Spark takes another query to be at work
    if run is None and any((folder / part).exists() for part in (OFFSETS, SOURCES)):
        changed = _cleared(folder)
    return changed + _trimmed(checkpoint, -1, {})


def _as_committed(checkpoint: Checkpoint, position: Position, logs: Mapping[str, str]) -> list[str]:
    """The checkpoint says what commits carry, and nothing that contradicts them."""
    folder, changed = checkpoint.folder, []
    if stored_id(folder) != position.run or not holds(folder / METADATA, read_text(folder / METADATA) or ""):
        changed += _cleared(folder) if stored_id(folder) not in (None, position.run) else []
        write_text(folder / METADATA, f'{{"id":"{position.run}"}}')
        changed.append(METADATA)
    for name, text in logs.items():
        changed += _written(folder / SOURCES / name, text, folder)
    for batch, text in sorted(position.offsets.items()):
        path = folder / OFFSETS / str(batch)
        other = read_text(path) not in (None, "", text)
        changed += _written(path, text, folder)
        if other:  # planned anew since, and so was what follows
            changed += _removed_from(folder / OFFSETS, batch + 1, folder)
    return changed + _trimmed(checkpoint, position.batch, logs)


def _trimmed(checkpoint: Checkpoint, committed: int, logs: Mapping[str, str]) -> list[str]:
    """Remove what is ahead of the log, and what is torn; one batch may have been planned and not committed."""
    folder = checkpoint.folder
    logs_of_spark = [folder / COMMITS, folder / OFFSETS, *checkpoint.sources()]
    changed = [f"{part.relative_to(folder)}/{name}" for part in logs_of_spark for name in tidied(part)]
    changed += _removed_from(folder / COMMITS, committed + 1, folder)
    for name in numbered(folder / COMMITS).values():
        if not is_whole(folder / COMMITS / name):
            remove(folder / COMMITS / name)
            changed.append(f"{COMMITS}/{name}")
    changed += _removed_from(folder / OFFSETS, committed + 2, folder)
    torn = [gone for source in checkpoint.sources() for gone in _torn_logs(source, logs)]
    planned = folder / OFFSETS / str(committed + 1)
    # Planned anew it loses nothing, so without proof it goes: its checksum, and what it refers to.
    if planned.exists() and (torn or not is_checked(planned) or not _has_sources(folder, planned)):
        changed += _removed_from(folder / OFFSETS, committed + 1, folder)
    return changed + torn


def _torn_logs(source: Path, logs: Mapping[str, str]) -> list[str]:
    """Remove entries of a source's log that no commit carries, from the first one that is torn or missing on.

    Of an entry that is cut off at the end of a line, files are missing that nobody has read: Spark finds them again.
    Not so of a compacted one, which stands for all that was read; so it needs its checksum. Older compacted entries go:
    Spark takes the distance of the last two for the rule, and one may be missing between.
    """
    entries = numbered(source)
    known = [number for number, name in entries.items() if f"{source.name}/{name}" in logs]
    compact = [number for number in known if is_compact(entries[number])]
    for number, name in list(entries.items()):
        if compact and is_compact(name) and number < max(compact):
            remove(source / name)
            del entries[number]
    first = max(known) + 1 if known else 0
    if not known and any(is_compact(name) for name in entries.values()):  # older than what commits carry
        first = min(entries)
    fresh = sorted(number for number in entries if number >= first)
    for place, number in enumerate(fresh):
        path = source / entries[number]
        if number != first + place or not (is_checked(path) if is_compact(path.name) else is_whole(path)):
            for gone in fresh[place:]:
                remove(source / entries[gone])
            return [f"{SOURCES}/{source.name}/{entries[gone]}" for gone in fresh[place:]]
    return []


def _has_sources(folder: Path, planned: Path) -> bool:
    """Whether the entries of file sources that planned offsets refer to are there."""
    for number, line in enumerate((read_text(planned) or "").splitlines()[2:]):
        try:
            offset = json.loads(line)
        except ValueError:
            continue
        entry = offset.get("logOffset", -1) if isinstance(offset, dict) else -1
        if entry >= 0 and entry not in numbered(folder / SOURCES / str(number)):
            return False
    return True


def _written(path: Path, text: str, folder: Path) -> list[str]:
    if holds(path, text):
        return []
    write_text(path, text)
    return [str(path.relative_to(folder))]


def _removed_from(entries: Path, first: int, folder: Path) -> list[str]:
    """Remove the entries of a log of Spark's from a number on."""
    gone = [name for number, name in sorted(numbered(entries).items()) if number >= first]
    for name in gone:
        remove(entries / name)
    return [str((entries / name).relative_to(folder)) for name in gone]


def _cleared(folder: Path) -> list[str]:
    """Remove what another query, or none that is known, has left."""
    parts = [folder / OFFSETS, folder / COMMITS]
    parts += sorted((folder / SOURCES).iterdir()) if (folder / SOURCES).is_dir() else []
    return [name for part in parts if part.is_dir() for name in _removed_from(part, 0, folder)]
