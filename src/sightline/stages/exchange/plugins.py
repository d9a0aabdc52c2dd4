"""The classes that a store's configuration names, and whose kernels can be warmed."""

from __future__ import annotations

from typing import Any

from sightline.index.registry import NEAREST_INDEXES, OBJECT_INDEXES, STANDING_INDEXES
from sightline.model.config import StoreConfig
from sightline.model.plugins import Plugins
from sightline.partition.registry import PARTITIONERS

_INDEXES: dict[str, Plugins[Any]] = {"range": STANDING_INDEXES, "nearest": NEAREST_INDEXES, "objects": OBJECT_INDEXES}


def admit(partitioner: str | None, indexes: dict[str, str]) -> None:
    """Import what the caller has passed by name; ``UnknownPlugin`` if that cannot be."""
    if partitioner is not None:
        PARTITIONERS.admit(partitioner)
    for kind, name in indexes.items():
        _INDEXES[kind].admit(name)


def require(config: StoreConfig) -> None:
    """Import what a pipeline needs, before it begins; ``UnknownPlugin`` if that is not allowed or not there."""
    PARTITIONERS.named(config.partitioner)
    for kind, name in config.indexes.to_dict().items():
        _INDEXES[kind].named(name)


def kernels(config: StoreConfig) -> list[str]:
    """Partitioner and indexes whose kernels a pipeline warms; those from outside compile when they are first used."""
    plain = StoreConfig()
    usual, said = plain.indexes.to_dict(), config.indexes.to_dict()
    return [
        config.partitioner if PARTITIONERS.is_builtin(config.partitioner) else plain.partitioner,
        *(name if _INDEXES[kind].is_builtin(name) else usual[kind] for kind, name in said.items()),
    ]
