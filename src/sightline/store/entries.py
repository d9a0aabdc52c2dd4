"""Entries of the commit log, one class for each ``op``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from sightline.store.files import FileEntry
from sightline.store.positions import Reading
from sightline.store.records import decode_one, encode


class EpochCause(StrEnum):
    """Why an epoch began."""

    OPENED = "opened"
    FITTED = "fitted"
    REBALANCED = "rebalance"


@dataclass(frozen=True, slots=True)
class Epoch:
    """A routing and when it is in force.

    Attributes
    ----------
    file : str
        Data file of the routing.
    layout : str
        Epochs of one layout have the same leaves, dealt to workers in different ways.
    why : str
        An :class:`EpochCause`.
    control : int
        Position of the last request of the control log that it answers.
    valid_from : int
        Version of its commit.
    """

    number: int
    partitioner: str
    workers: int
    file: str
    layout: str = ""
    why: str = EpochCause.OPENED
    control: int = -1
    valid_from: int = 0

    @property
    def leaves(self) -> str:
        """Name of the layout; of an epoch that is older than such names, its partitioner."""
        return self.layout or self.partitioner


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What every entry may say: files that it names, and files that nothing needs from now on.

    ``version`` and ``wall``, the wall clock second, are the log's to give.
    """

    op: ClassVar[str]
    add: tuple[FileEntry, ...] = ()
    remove: tuple[str, ...] = ()
    version: int = 0
    wall: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        return {"op": self.op, **encode(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCommit(Commit):
    """A micro-batch.

    Attributes
    ----------
    run, batch, epoch, control
        Which one, and what its plan included.
    high, low : int or None
        Largest ts of the store with it, smallest of its own.
    mark : int or None
        How far time (high mark - lateness) has come with it.
    schema : list or None
        Payload columns of the store with it.
    reading : Reading or None
        What it has read.
    """

    op: ClassVar[str] = "batch"
    run: str
    batch: int
    epoch: int = -1
    control: int = -1
    high: int | None = None
    low: int | None = None
    mark: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    schema: list[Any] | None = None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCommit(Commit):
    """Files in the place of others."""

    op: ClassVar[str] = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCommit(Commit):
    """The next epoch."""

    op: ClassVar[str] = "epoch"
    epoch: Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCommit(Commit):
    """Files that were merged away are gone."""

    op: ClassVar[str] = "sweep"
    removed: tuple[str, ...] = ()


OPS: dict[str, type[Commit]] = {kind.op: kind for kind in (BatchCommit, MergeCommit, EpochCommit, SweepCommit)}


def commit_from(body: Mapping[str, Any]) -> Commit:
    """Inverse of :meth:`Commit.to_json`."""
    return decode_one(OPS, body["op"], body, "log entry")
