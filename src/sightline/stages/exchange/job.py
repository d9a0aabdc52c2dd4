"""What one micro-batch is told: paths and integers only, so that it travels in a closure as a short string."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sightline.model.config import StoreConfig
from sightline.model.plugins import Origin, admit_all
from sightline.stages.exchange.target import Target


@dataclass(frozen=True)
class Job:
    """The frozen orders of one micro-batch. Files are named relative to the store; all of them are immutable."""

    store: str
    token: str  # file by which a process knows the driver's store (`token`)
    config: dict[str, object]  # of the store; not read from its folder, where another store may stand by now
    workers: int
    epoch_file: str
    reject_after_us: int | None
    lateness_us: int
    high_us: int | None  # high mark before this batch
    marks: list[list[int]]  # how far time had come, by the first subscription number not included (`marks`)
    keep_objects: bool
    durable: bool  # sync files before they are named; off in tests only
    segment_rows: int  # the work stage seals a segment at this many rows
    plugins: list[list[str]]  # those from outside that the driver has admitted
    kernels: list[str]  # what a process that is new on its host warms
    merge_parts: int  # partitions of the second exchange; 0 = nothing has to cross workers
    merge_matches: bool = False  # the partitioner may find a pair twice: range matches cross as well
    sample: bool = False  # no objects are kept and the routing waits to be fitted: keep a sample of them
    learnt: list[str] = field(default_factory=list)  # files of what routers of this epoch have learnt
    compiled: dict[str, list[list[str]]] = field(default_factory=dict)  # kind -> worker -> files, base first
    dropped: str | None = None  # numbers dropped since the base was compiled
    nearest_state: list[tuple[str, int]] = field(default_factory=list)  # (file, version), oldest first
    pane_state: list[tuple[str, int]] = field(default_factory=list)  # (file, end of the last window that needs it)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job in another process, which may use the plug-ins that the driver uses."""
        job = cls(**json.loads(text))
        admit_all(Origin(*origin) for origin in job.plugins)
        return job

    def store_config(self) -> StoreConfig:
        """What the store was made with."""
        return StoreConfig.from_dict(self.config)

    def target(self) -> Target:
        """Where this batch writes."""
        return Target(Path(self.store), self.durable)
