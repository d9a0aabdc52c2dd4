"""The files of an epoch: its routing, and what its routers have learnt."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.flat.records import Arrays
from sightline.partition import Routing, routing_from_arrays
from sightline.stages.exchange.mapped import FILES
from sightline.stages.exchange.target import Target
from sightline.store.array_file import ArrayFile, write_array_file
from sightline.store.files import FileEntry, new_name
from sightline.store.kinds import FileKind


def open_routing(file: ArrayFile) -> Routing:
    """The routing state of an epoch's file."""
    return routing_from_arrays(file.meta["partitioner"], {name: file.array(name) for name in file.names})


def open_learnt(file: ArrayFile) -> Arrays:
    """What routers of earlier batches have learnt."""
    return {name: file.array(name) for name in file.names}


def write_learnt(target: Target, epoch: str, parts: Sequence[Arrays], version: int = 0) -> FileEntry:
    """What routers of an epoch (its file) have learnt, as one file; those of later batches start from it."""
    routing = FILES.get(str(target.store), epoch, "routing", open_routing)
    name = new_name(FileKind.LEARNT)
    size = write_array_file(target.path(name), routing.merged(parts), {}, durable=target.durable)
    return FileEntry(FileKind.LEARNT, name, len(parts), size, epoch, version=version)
