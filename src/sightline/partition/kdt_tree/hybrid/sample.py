"""A history on the grid of the dispatcher: cells of objects, cell ranges of queries, terms on one list.

Ours: the grid's lines are quantiles of the objects' coordinates, so that a city is as finely divided as a continent
(the paper: "the granularity of the cell is decided by the leaf nodes"). Cuts of the tree lie on these lines, hence a
cell has one node. A region of two pieces (antimeridian) counts as two queries. Nearest queries stand on all workers
whatever the tree is, and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of, sorted_distinct
from sightline.flat.records import frozen_fields
from sightline.index.standing.block import KIND_NEAREST, KIND_RANGE
from sightline.partition.history import History
from sightline.partition.kdt_tree.hybrid._kernels import SampleText

__all__ = ["WorkloadSample", "grid_lines"]


def grid_lines(values: F64, side: int) -> F64:
    """At most ``side - 1`` ascending values that divide ``values`` (not empty) into runs of about equal length."""
    ordered = np.sort(values)
    lines: F64 = np.unique(ordered[np.arange(1, side) * len(ordered) // side])
    inner: F64 = lines[lines > ordered[0]]
    return inner


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadSample:
    """Objects and pieces of standing queries in cells; ``terms`` are the distinct hashes, ascending."""

    x_edges: F64
    y_edges: F64
    place: tuple[I32, I32]  # column and row of each object
    box: I32  # [pieces, 4]: first column, first row, last column, last row
    terms: I64
    text: SampleText

    @classmethod
    def of(cls, history: History, side: int) -> WorkloadSample:
        """The sample of a history with at least one object, on at most side x side cells."""
        objects, block = history.objects, history.standing
        standing = np.flatnonzero(block.kind != KIND_NEAREST)
        if len(standing) < len(block):
            block = block.take(standing)
        x_edges, y_edges = grid_lines(objects.lon, side), grid_lines(objects.lat, side)
        sides = [np.searchsorted((x_edges, y_edges)[i % 2], block.piece_box[:, i], side="right") for i in range(4)]
        own, asked = objects.terms.dictionary.hashes, block.dictionary.hashes
        terms = sorted_distinct(np.concatenate([own, asked]))
        pos = np.searchsorted(terms, asked)[block.pos]
        # Distinct (query, term): a term may be in several conjuncts.
        query = np.repeat(block.conj_query.astype(np.int64), np.diff(block.pos_offsets))
        width = max(1, len(terms))
        pairs = sorted_distinct(query * width + pos)
        wild = block.kind != KIND_RANGE
        wild[block.conj_query[np.diff(block.pos_offsets) == 0]] = True
        lists = (
            objects.terms.offsets, np.searchsorted(terms, own)[objects.terms.ids], block.piece_query,
            offsets_of(pairs // width, len(block)), pairs % width, offsets_of(block.conj_query, len(block)),
            block.pos_offsets, pos, wild,
        )  # fmt: skip
        place = (
            np.searchsorted(x_edges, objects.lon, side="right").astype(np.int32),
            np.searchsorted(y_edges, objects.lat, side="right").astype(np.int32),
        )
        box = np.stack(sides, axis=1).astype(np.int32)
        return cls(x_edges, y_edges, place, frozen(box, np.int32), terms, frozen_fields(SampleText, lists))

    def cells(self, objects: I32) -> I64:
        """Row-major cell of some objects."""
        return self.place[1][objects].astype(np.int64) * (len(self.x_edges) + 1) + self.place[0][objects]
