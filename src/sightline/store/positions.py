"""How far each run has read, in the words of its source; the log keeps them and the store never interprets them.

Spark writes what a batch has read into a checkpoint of its own, without syncing it; our commit is synced. So the entry
of a batch carries the texts of that checkpoint too, and a checkpoint that a power cut took is written anew from the
log. A one-shot run says only which source its name belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sightline.model.errors import BadConfig
from sightline.store.array_file import ArrayFile, write_array_file

RUN_NAME = re.compile(r"[\w-][\w.-]{0,99}")  # also the name of a folder
KEPT_BATCHES = 2  # Spark starts from the offsets of the last batch and of the one before


@dataclass(frozen=True, slots=True)
class Reading:
    """What one batch has read.

    Attributes
    ----------
    name : str
        The run's.
    source : str or None
        Of a one-shot run: the source that has this name.
    offsets : str or None
        Of a stream: up to where the batch reads.
    earlier : str or None
        The offsets of the batch before, where no commit carries them.
    logs : dict
        Of a stream: entries of the sources' own logs that no earlier commit carries, by their names; None is one in
        ``file``.
    done : tuple
        Names of log entries that those make superfluous.
    file : str or None
        Data file with texts that are too long for an entry of the log.
    """

    name: str
    source: str | None = None
    offsets: str | None = None
    earlier: str | None = None
    logs: Mapping[str, str | None] = field(default_factory=dict)
    done: tuple[str, ...] = ()
    file: str | None = None

    def texts(self) -> dict[str, str]:
        """The entries of logs that it carries itself."""
        return {name: text for name, text in self.logs.items() if text is not None}

    def filed(self, file: str) -> Reading:
        """The same with its texts in a data file."""
        return replace(self, logs=dict.fromkeys(self.logs), file=file)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands after its last commit: the sum of its readings.

    Attributes
    ----------
    run, name, source
        The run's id, its name, and as in :class:`Reading`.
    batch, version : int
        Its last committed batch, and the version of that commit.
    offsets : dict
        Batch to text, of the last batches.
    logs : dict
        Name to text; a text that is in a data file has its name in ``files`` instead.
    files : dict
        Name to data file.
    """

    run: str
    name: str
    batch: int
    version: int
    source: str | None = None
    offsets: dict[int, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def carried(self) -> set[str]:
        """Names of the log entries that the commits carry."""
        return {*self.logs, *self.files}

    def unneeded(self, reading: Reading) -> list[str]:
        """Data files that nothing needs any more once `reading` is committed."""
        still = {file for name, file in self.files.items() if name not in {*reading.done, *reading.logs}}
        return sorted(set(self.files.values()) - still)


def check_run_name(name: object) -> None:
    """Refuse what cannot name a run."""
    if not isinstance(name, str) or not RUN_NAME.fullmatch(name):
        allowed = "up to 100 letters, digits, '-', '_' and '.', not '.' first"
        raise BadConfig("bad name of a run", value=name, allowed=allowed)


def advanced(before: Position | None, run: str, batch: int, version: int, reading: Reading) -> Position:
    """The position after the commit of a batch that carries a reading."""
    kept = before or Position(run, reading.name, -1, 0)
    gone = {*reading.done, *reading.logs}
    offsets = {number: text for number, text in kept.offsets.items() if number > batch - KEPT_BATCHES}
    if reading.earlier is not None:
        offsets[batch - 1] = reading.earlier
    if reading.offsets is not None:
        offsets[batch] = reading.offsets
    logs = {name: text for name, text in kept.logs.items() if name not in gone} | reading.texts()
    files = {name: file for name, file in kept.files.items() if name not in gone}
    if reading.file is not None:
        files |= {name: reading.file for name, text in reading.logs.items() if text is None}
    return Position(run, reading.name, batch, version, reading.source, offsets, logs, files)


def write_logs(path: Path, logs: Mapping[str, str], *, durable: bool) -> int:
    """Write texts that are too long for an entry; returns the size of the file."""
    texts = {name: text.encode("utf-8", "surrogateescape") for name, text in logs.items()}
    return write_array_file(path, texts, durable=durable)


def logs_of(position: Position, data: Path) -> dict[str, str]:
    """All texts of the sources' logs that the commits of a run carry; ``data`` is the folder of data files."""
    texts = dict(position.logs)
    for file in set(position.files.values()):
        opened = ArrayFile.open(data / file)
        named = [name for name, holder in position.files.items() if holder == file]
        texts |= {name: bytes(opened.buffer(name)).decode("utf-8", "surrogateescape") for name in named}
    return texts
