"""The state of a store at one version of its commit log, and how entries build it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sightline.store.entries import BatchCommit, Commit, Epoch, EpochCommit, SweepCommit
from sightline.store.files import FileEntry
from sightline.store.positions import Position, advanced
from sightline.store.records import decode, encode


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything committed up to `version`. Treat the dictionaries as read-only; they may be shared.

    Attributes
    ----------
    version : int
        0 for an empty log; the first entry is version 1.
    high_us, low_us : int or None
        Largest and smallest committed ts.
    control : int
        Control-log position the last batch included, -1 at the start.
    marks : list of [control, mark]
        How far time (high mark - lateness) had come with a commit that included the control log up to a position;
        only pairs that no other exceeds in both.
    epochs : list of Epoch
        The newest is in force.
    runs : dict
        Run id to its last committed batch id.
    positions : dict
        Run id to how far it has read; a load has none, nor has a run of a store that was written before there were any.
    files : dict
        Kind to name to entry.
    gone : dict
        Merged-away names, with the wall clock second of their removal; they wait for the sweep.
    counters : dict
        Totals.
    schema : list or None
        Payload columns, as the last batch that gave them wrote them.
    """

    version: int = 0
    high_us: int | None = None
    low_us: int | None = None
    control: int = -1
    marks: list[list[int]] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    files: dict[str, dict[str, FileEntry]] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    schema: list[Any] | None = None

    def has_run(self, run: str, batch: int) -> bool:
        """Whether batch `batch` of a run is committed (batches of a run are committed in order)."""
        return batch <= self.runs.get(run, -1)

    def position(self, name: str, *, stream: bool) -> Position | None:
        """How far the run of a name has read; a stream and a one-shot run may have the same name."""
        found = [at for at in self.positions.values() if at.name == name and (at.source is None) == stream]
        return max(found, key=lambda at: at.version, default=None)

    def entries(self, kind: str) -> list[FileEntry]:
        """Files of a kind, oldest data first."""
        return sorted(self.files.get(kind, {}).values(), key=lambda entry: (entry.version, entry.name))

    def names(self) -> Iterator[str]:
        """Every data file the snapshot names, merged-away ones included."""
        for group in self.files.values():
            yield from group
        yield from self.gone

    def to_dict(self) -> dict[str, Any]:
        """JSON form, for checkpoints."""
        return {
            "version": self.version,
            "high": self.high_us,
            "low": self.low_us,
            "control": self.control,
            "marks": self.marks,
            "epochs": [encode(epoch) for epoch in self.epochs],
            "runs": self.runs,
            "gone": self.gone,
            "counters": self.counters,
            "schema": self.schema,
            "positions": [encode(position) for position in self.positions.values()],
            "files": [encode(entry) for group in self.files.values() for entry in group.values()],
        }


class SnapshotBuilder:
    """Applies entries in order. ``freeze`` hands its dictionaries out; later changes copy them first."""

    def __init__(self) -> None:
        self.version = 0
        self._high: int | None = None
        self._low: int | None = None
        self._control = -1
        self._marks: list[list[int]] = []
        self._schema: list[Any] | None = None
        self._epochs: list[Epoch] = []
        self._runs: dict[str, int] = {}
        self._positions: dict[str, Position] = {}
        self._gone: dict[str, float] = {}
        self._counters: dict[str, int] = {}
        self._files: dict[str, dict[str, FileEntry]] = {}
        self._shared = self._gone_shared = False
        self._owned: set[str] = set()  # kinds whose dictionary was copied since the last freeze

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> SnapshotBuilder:
        """Builder at the state of a checkpoint."""
        builder = cls()
        builder.version, builder._control, builder._schema = body["version"], body["control"], body["schema"]
        builder._high, builder._low, builder._marks = body["high"], body["low"], body["marks"]
        builder._epochs, builder._runs = [decode(Epoch, item) for item in body["epochs"]], body["runs"]
        builder._gone, builder._counters = body["gone"], body["counters"]
        read = [decode(Position, item) for item in body.get("positions", ())]
        builder._positions = {position.run: position for position in read}
        for item in body["files"]:
            entry = decode(FileEntry, item)
            builder._files.setdefault(entry.kind, {})[entry.name] = entry
        return builder

    def freeze(self) -> Snapshot:
        """The present state; stays as it is whatever is applied later."""
        self._shared = self._gone_shared = True
        self._owned.clear()
        return Snapshot(
            self.version,
            self._high,
            self._low,
            self._control,
            self._marks,
            self._epochs,
            self._runs,
            self._positions,
            self._files,
            self._gone,
            self._counters,
            self._schema,
        )

    def check(self, entry: Commit) -> None:
        """``ValueError`` when an entry does not fit the state; called before it is written for good."""
        if isinstance(entry, BatchCommit) and entry.batch <= self._runs.get(entry.run, -1):
            raise ValueError(f"batch {entry.batch} of run {entry.run} is committed already")
        for added in entry.add:
            if added.name in self._files.get(added.kind, {}) or added.name in self._gone:
                raise ValueError(f"file {added.name!r} is committed already")
        for name in entry.remove:
            self._kind_of(name)

    def apply(self, entry: Commit) -> None:
        """Add one log entry, which must be the next version."""
        removed = entry.removed if isinstance(entry, SweepCommit) else ()
        self._own()
        if self._gone_shared and (entry.remove or removed):
            self._gone, self._gone_shared = dict(self._gone), False
        for added in entry.add:
            self._group(added.kind)[added.name] = added.committed(entry.version)
        for name in entry.remove:
            self._group(self._kind_of(name)).pop(name)
            self._gone[name] = entry.wall
        for name in removed:
            self._gone.pop(name, None)
        if isinstance(entry, BatchCommit):
            self._apply_batch(entry)
        elif isinstance(entry, EpochCommit):
            self._epochs.append(replace(entry.epoch, valid_from=entry.version))
        self.version = entry.version

    def _apply_batch(self, entry: BatchCommit) -> None:
        for name, amount in entry.counters.items():
            self._counters[name] = self._counters.get(name, 0) + amount
        run, reading = entry.run, entry.reading
        self._runs[run] = entry.batch
        if reading is not None:
            self._positions[run] = advanced(self._positions.get(run), run, entry.batch, entry.version, reading)
        self._control = max(self._control, entry.control)
        self._high = max((mark for mark in (self._high, entry.high) if mark is not None), default=None)
        self._low = min((mark for mark in (self._low, entry.low) if mark is not None), default=None)
        if entry.mark is not None:
            self._marks = _front(self._marks, [entry.control, entry.mark])
        if entry.schema is not None:
            self._schema = entry.schema

    def _own(self) -> None:
        """Copy the small dictionaries once after a freeze; those of file names only when touched."""
        if self._shared:
            self._epochs, self._runs = list(self._epochs), dict(self._runs)
            self._positions = dict(self._positions)
            self._counters, self._files = dict(self._counters), dict(self._files)
            self._shared = False

    def _group(self, kind: str) -> dict[str, FileEntry]:
        if kind not in self._owned:
            self._files[kind] = dict(self._files.get(kind, {}))
            self._owned.add(kind)
        return self._files[kind]

    def _kind_of(self, name: str) -> str:
        for kind, group in self._files.items():
            if name in group:
                return kind
        raise ValueError(f"file {name!r} is removed but not named by the log")


def _front(pairs: list[list[int]], new: list[int]) -> list[list[int]]:
    """The pairs with a new one, without those that another reaches in both numbers."""
    if any(pair[0] >= new[0] and pair[1] >= new[1] for pair in pairs):
        return pairs
    return [*(pair for pair in pairs if pair[0] > new[0] or pair[1] > new[1]), new]
