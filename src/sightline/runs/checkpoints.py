"""Names of runs -> ids that stay over restarts: Spark's in the checkpoint of a stream, our own for a one-shot run.

And what the commit of a batch says of where its run has got to, so that the log can give back what a checkpoint lost.
"""

from __future__ import annotations

import json
import logging
import uuid
from pathlib import Path
from typing import Any

from sightline.model.errors import BadConfig, RunFailed
from sightline.runs.checkpoint_files import is_compact, number_of, numbered, read_text
from sightline.store.disk import replace_file, sync_folder
from sightline.store.positions import Position, Reading

ONCE = "id"
METADATA, OFFSETS, COMMITS, SOURCES = "metadata", "offsets", "commits", "sources"
log = logging.getLogger("sightline.runs")


class Checkpoint:
    """Spark's checkpoint of the stream of a name."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self._id: str | None = None

    def query_id(self) -> str:
        """Id of the streaming query, as the checkpoint keeps it; read once."""
        if self._id is None:
            self._id = stored_id(self.folder)
        if self._id is None:
            raise RunFailed("the checkpoint has no query id", value=str(self.folder / METADATA))
        return self._id

    def reading(self, batch: int, before: Position | None) -> Reading:
        """What a batch reads: Spark has written both, offsets and the logs of its sources, before it begins.

        Left out is what commits carry up to the position ``before`` it, and what a compacted entry repeats.
        """
        carried = set() if before is None else before.carried
        alone = batch > 0 and (before is None or batch - 1 not in before.offsets)
        logs: dict[str, str] = {}
        done: list[str] = []
        for source in self.sources():
            entries = numbered(source)
            first = max((number for number, name in entries.items() if is_compact(name)), default=0)
            for number, name in entries.items():
                key = f"{source.name}/{name}"
                if number >= first and key not in carried:
                    logs[key] = self._text(batch, SOURCES, key)
            done += [key for key in carried if key.startswith(f"{source.name}/") and number_of(key) < first]
        return Reading(
            self.name,
            offsets=self._text(batch, OFFSETS, str(batch)),
            earlier=read_text(self.folder / OFFSETS / str(batch - 1)) if alone else None,
            logs=logs,
            done=tuple(done),
        )

    def _text(self, batch: int, part: str, name: str) -> str:
        text = read_text(self.folder / part / name)
        if not text:
            raise RunFailed(
                f"the checkpoint of run {self.name!r} has lost a file while batch {batch} was planned",
                value=str(self.folder / part / name),
                hint="nobody but Spark may change this folder; start the run again, it is repaired from the log",
            )
        return text

    def sources(self) -> list[Path]:
        """Folders of the logs that sources keep for themselves."""
        folder = self.folder / SOURCES
        return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def stored_id(folder: Path) -> str | None:
    """Id of the streaming query of a checkpoint; None if its file is missing or torn."""
    for line in (read_text(folder / METADATA) or "").splitlines():
        kept = _json_object(line)
        if kept is not None and "id" in kept:
            return str(kept["id"])
    return None


def once_id(folder: Path, source: str, position: Position | None) -> str:
    """Id of a one-shot run, made when it is first started under its name; the name belongs to one source.

    The log decides; the file is for the time before the first commit.
    """
    path = folder / ONCE
    text = read_text(path)
    kept = _json_object(text or "")
    if position is not None:
        said = {"id": position.run, "source": position.source}
    elif kept is not None:
        said = kept
    else:
        if text is not None:
            log.warning("%s is damaged, and the log knows no run of this name: it begins anew", path)
        said = {"id": uuid.uuid4().hex, "source": source}
    if said["source"] != source:
        raise BadConfig(
            f"run {folder.name!r} was started on another source",
            value=source,
            allowed=said["source"],
            hint="give this one another name=: under its old name a run only goes on where it was",
        )
    if said != kept:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(said).encode(), durable=True)
        sync_folder(folder.parent)
        sync_folder(folder.parent.parent)
    return str(said["id"])


def run_ids(runs: Path) -> set[str]:
    """Ids of the runs whose folders can be read; a load has none."""
    found = set()
    for folder in runs.iterdir() if runs.is_dir() else ():
        once, stream = _json_object(read_text(folder / ONCE) or ""), stored_id(folder)
        found |= {str(id_) for id_ in (once and once.get("id"), stream) if id_}
    return found


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
