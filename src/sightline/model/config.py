"""What a store is made with: one frozen record, written once as JSON.

Space and text decide what answers mean and never change; partitioner and workers are the first epoch and may
change later; the rest are options of :func:`sightline.open`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sightline.model.errors import BadConfig, IncompatibleStore
from sightline.model.scalars import mapping, whole
from sightline.model.space import Space
from sightline.model.text_config import TextConfig

#: Raised whenever a file of the store changes its meaning; a store with a larger number is refused.
FORMAT_VERSION = 1

DAY_US = 86_400_000_000

#: A worker is a shuffle partition with files of its own in every batch; nobody has so many cores.
MAX_WORKERS = 4_096

#: Columns every object has.
OBJECT_COLUMNS = ("id", "lon", "lat", "ts", "text")

#: Names of result columns; a payload column may not have one, or answers would hold a name twice.
RESERVED = frozenset(
    {
        "score",
        "distance_m",
        "rank",
        "batch",
        "term",
        "count",
        "query",
        "event",
        "reason",
        "raw",
        "object",
        "object_id",
        "subscription_id",
        "window_end",
    }
)


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which index finds candidates: names as `index.registry` knows them."""

    range: str = "levels"  # standing range and top-terms queries
    nearest: str = "balls"  # standing nearest queries
    objects: str = "postings"  # objects of a segment

    def __post_init__(self) -> None:
        for f in fields(self):
            name: object = getattr(self, f.name)
            if not isinstance(name, str) or not name:
                raise BadConfig(f"the index for {f.name} is not a name", value=name, allowed="a registered name")

    def to_dict(self) -> dict[str, str]:
        """JSON form."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: object) -> Indexes:
        """From names by kind; a kind left out has its default."""
        given, kinds = mapping(data, "indexes", BadConfig), [f.name for f in fields(cls)]
        for name in given:
            if name not in kinds:
                raise BadConfig("unknown kind of index", value=name, allowed=", ".join(kinds))
        return cls(**given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Configuration of a store; durations are microseconds, None means off."""

    format: int = FORMAT_VERSION
    seed: int = 0  # of the term hash, one per store
    space: Space = field(default_factory=Space)
    text: TextConfig = field(default_factory=TextConfig)
    partitioner: str = "grid"
    indexes: Indexes = field(default_factory=Indexes)
    workers: int = 4
    balance: str = "never"
    lateness_us: int = 0
    ahead_us: int | None = DAY_US
    retention_us: int | None = None
    keep_objects: bool = True
    slice_us: int = 3 * DAY_US  # time slice of a stack of segments
    hash_bits: int = 64  # tests use 8 to force collisions

    def __post_init__(self) -> None:
        whole(self.format, "format", 1, BadConfig)
        if self.format > FORMAT_VERSION:
            raise IncompatibleStore(
                "the store was written by a newer version",
                value=self.format,
                allowed=f"format {FORMAT_VERSION} or older",
                hint="upgrade sightline",
            )
        whole(self.seed, "seed", -(2**63), BadConfig)
        if not isinstance(self.space, Space):
            raise BadConfig("space is not a Space", value=self.space, allowed="Space.geographic() or Space.planar(...)")
        if not isinstance(self.text, TextConfig):
            raise BadConfig("text is not a TextConfig", value=self.text, allowed="TextConfig(...)")
        if not isinstance(self.indexes, Indexes):
            raise BadConfig("indexes is not an Indexes", value=self.indexes, allowed="Indexes(...)")
        for name in ("partitioner", "balance"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise BadConfig(f"{name} is not a name", value=getattr(self, name), allowed="a registered name")
        whole(self.workers, "workers", 1, BadConfig, maximum=MAX_WORKERS)
        whole(self.lateness_us, "lateness_us", 0, BadConfig)
        whole(self.slice_us, "slice_us", 1, BadConfig)
        for name, minimum in (("ahead_us", 0), ("retention_us", 1)):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, minimum, BadConfig)
        if not isinstance(self.keep_objects, bool):
            raise BadConfig("keep_objects is not a truth value", value=self.keep_objects, allowed="True or False")
        if not 1 <= whole(self.hash_bits, "hash_bits", 1, BadConfig) <= 64:
            raise BadConfig("hash_bits is out of range", value=self.hash_bits, allowed="1 to 64")

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        form: dict[str, object] = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**form, **{name: getattr(self, name).to_dict() for name in ("space", "text", "indexes")}}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> StoreConfig:
        """Inverse of :meth:`to_dict`; a newer format is refused before anything else is looked at."""
        names = {f.name for f in fields(cls)}
        given = dict(mapping(data, "the configuration of a store", BadConfig))
        version = given.get("format")
        if isinstance(version, int) and version > FORMAT_VERSION:
            raise IncompatibleStore(
                "the store was written by a newer version",
                value=version,
                allowed=f"format {FORMAT_VERSION} or older",
                hint="upgrade sightline",
            )
        given.setdefault("indexes", {})  # stores from before one could choose
        if set(given) != names:
            raise BadConfig(
                "not the configuration of a store",
                value=sorted(set(given) ^ names),
                allowed="exactly " + ", ".join(sorted(names)),
            )
        space, text, indexes = given.pop("space"), given.pop("text"), Indexes.from_dict(given.pop("indexes"))
        rest: Any = {"indexes": indexes, **given}
        return cls(space=Space.from_dict(space), text=TextConfig.from_dict(text), **rest)  # type: ignore[arg-type]
