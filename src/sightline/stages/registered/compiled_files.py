"""Compiled files of the driver: which queries go into which file of which worker."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sightline.index.protocol import StandingIndex
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE, KIND_TOP_TERMS, QueryBlock
from sightline.partition import Routing
from sightline.stages.registered.standing import LayerKind, write_compiled, write_index
from sightline.stages.registered.summary import Summary, summarise
from sightline.store.array_file import write_array_file
from sightline.store.files import new_name
from sightline.store.kinds import FileKind
from sightline.store.store import Store

KIND_NUMBERS = {LayerKind.RANGE: KIND_RANGE, LayerKind.NEAREST: KIND_NEAREST, LayerKind.TOP_TERMS: KIND_TOP_TERMS}

Layers = dict[str, list[list[str]]]  # kind -> worker -> files


class CompiledFiles:
    """Writes compiled files into a store; any thread may."""

    def __init__(self, store: Store) -> None:
        self._store, self.space, indexes = store, store.config.space, store.config.indexes
        # The merge stage only reads the windows of its subscriptions: it needs no index over them.
        self._index_of = {
            LayerKind.RANGE: indexes.range,
            LayerKind.NEAREST: indexes.nearest,
            LayerKind.TOP_TERMS: indexes.range,
            LayerKind.WINDOWS: "scan",
        }

    def build(self, block: QueryBlock, routing: Routing) -> Layers:
        """All queries of a block, each kind with its own index."""
        layers: Layers = {}
        for kind in KIND_NUMBERS:
            layers |= self.build_kind(kind, of_kind(block, kind), routing)
        if self.summarises(routing):
            layers[LayerKind.SUMMARY] = [[self.write_summary(summarise(block, routing))]]
        return layers

    def summarises(self, routing: Routing) -> bool:
        """Whether a summary can spare anything; not where objects go to nobody but an owner who keeps them."""
        return routing.spreads or not self._store.config.keep_objects

    def build_kind(self, kind: LayerKind, block: QueryBlock, routing: Routing) -> Layers:
        """Queries of one kind."""
        if len(block) == 0:
            return {}
        layers: Layers = {kind: [
            [] if part is None else [self._build_one(kind, part)] for part in shares(block, routing)
        ]}  # fmt: skip
        if kind == LayerKind.TOP_TERMS:
            layers[LayerKind.WINDOWS] = [[self._build_one(LayerKind.WINDOWS, block)]]
        return layers

    def write_range(self, index_name: str, index: StandingIndex, block: QueryBlock) -> str:
        """Range queries whose index exists already."""
        name, path = self._fresh()
        write_index(path, LayerKind.RANGE, index_name, index, block, self.space)
        return name

    def write_summary(self, summary: Summary) -> str:
        """The terms that somebody waits for."""
        name, path = self._fresh()
        write_array_file(path, summary.to_arrays(), {}, durable=False)
        return name

    def write_dropped(self, nums: npt.NDArray[np.int64]) -> str:
        """Numbers to be left out of answers."""
        name, path = self._fresh()
        write_array_file(path, {"num": nums}, {}, durable=False)
        return name

    def _build_one(self, kind: LayerKind, block: QueryBlock) -> str:
        name, path = self._fresh()
        write_compiled(path, kind, self._index_of[kind], block, self.space)
        return name

    def _fresh(self) -> tuple[str, Path]:
        name = new_name(FileKind.COMPILED)
        path = self._store.data_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return name, path


def of_kind(block: QueryBlock, kind: LayerKind) -> QueryBlock:
    """The queries of one kind."""
    rows = np.flatnonzero(block.kind == KIND_NUMBERS[kind])
    return block if len(rows) == len(block) else block.take(rows)


def shares(block: QueryBlock, routing: Routing) -> list[QueryBlock | None]:
    """The queries that stand at each worker, None for a worker without any."""
    routes = routing.route_queries(block)
    bounds = np.searchsorted(routes.worker, np.arange(routing.workers + 1))
    return [block.take(routes.query[low:high]) if high > low else None for low, high in pairwise(bounds)]


def stack(base: Layers, recent: Layers, workers: int) -> Layers:
    """Two sets of layers side by side."""
    out: Layers = {}
    for kind in {**base, **recent}:
        width = 1 if kind in (LayerKind.WINDOWS, LayerKind.SUMMARY) else workers
        empty: list[list[str]] = [[] for _ in range(width)]
        out[kind] = [a + b for a, b in zip(base.get(kind, empty), recent.get(kind, empty), strict=True)]
    return out
