"""FAST: frequency-aware indexing of range queries, the index inside a worker of Tornado (section 3.2) and SSTD (6.1).

Tornado describes it in a few sentences and cites another paper for the rest, which is not among ours. The sentences
say: a spatial pyramid, whose cells hold an adaptive keyword index (AKI), a hybrid of inverted lists and a trie that is
steered by the frequencies of keywords; and few copies of a query among neighbouring cells.

Our reading, for queries known in advance. A conjunct starts at the root of the pyramid, in the list of its rarest term.
A term whose list in a cell has more than ``theta`` entries is *frequent* there: conjuncts that have a further term move
to a node of the trie for that pair of terms, and again for three. Where terms are used up and the list is still longer
than ``theta``, conjuncts move down to the level that fits their box, the deepest where it meets at most four cells, and
are divided by terms there in the same way. So rare terms cost one copy and no place, and only popular ones are divided
by place. An object reads, at the root and at each level that its terms occur at, the list of its cell and term, and
follows the trie along the other terms it has.

Deviations, besides those the summary leaves no choice about: frequencies are numbers of conjuncts, counted when the
index is built, not while it runs; a path has at most three terms, the remaining ones are verified; conjuncts move down
at once, not level by level, which an object would have to follow with a probe per term and level; one hash table over
(cell, term) instead of tables per cell; copies stand side by side, at most four of a piece, instead of lists shared by
neighbouring cells; immutable, so that deletion is the caller's filter until the next rebuild.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Self

import numpy as np

from sightline.flat.arrays import F64, I32, I64, frozen, offsets_of
from sightline.flat.records import FlatRecord, frozen_fields
from sightline.geo.region_table import RegionTable
from sightline.index._kernels import Conjuncts
from sightline.index.protocol import MatchPairs, ObjectColumns
from sightline.index.standing import fast_kernels as _kernels
from sightline.index.standing._kernels import key_terms
from sightline.index.standing.batches import collect_pairs, exact_regions, object_batch
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.fast_kernels import CHILDREN, INNER, SCAN_CHILDREN, FastArrays, FastQueries, Forest
from sightline.index.standing.pyramid import pyramid_grid
from sightline.index.standing.pyramid_kernels import TERM_BITS
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary

__all__ = ["FastIndex", "FastParameters"]

FIRST_ROOM = 1 << 18  # pairs of the first output buffer; it doubles when full


@dataclass(frozen=True, slots=True)
class FastParameters:
    """``theta``: entries that a term may have in a cell before it counts as frequent there."""

    theta: int = 8


@dataclass(frozen=True, eq=False)
class FastIndex(FlatRecord):
    """Frozen FAST over a block."""

    arrays: FastArrays
    lists: Conjuncts
    regions: Annotated[RegionTable, "region_"]
    dictionary: Annotated[TermDictionary, "term_"]
    space: Space

    @classmethod
    def build(cls, block: QueryBlock, space: Space, parameters: FastParameters | None = None) -> Self:
        """Index a block: the root first, then what it pushes down."""
        theta = (parameters or FastParameters()).theta
        wildcard = len(block.dictionary)
        lists, grid = block.conjuncts, pyramid_grid(space)
        frequency = np.bincount(block.pos, minlength=wildcard)
        queries = _queries(block, lists, frequency)
        cell, source = _at_root(queries)
        root, pushed = _forest(cell, source, grid, queries, theta, wildcard)
        cells, _ = _forest(*_spread(root.source[pushed], grid, queries), grid, queries, theta, wildcard)
        return cls(_joined((root, cells), grid, queries, frequency), lists, block.regions, block.dictionary, space)

    def match(self, objects: ObjectColumns) -> MatchPairs:
        """All pairs, each once; see :class:`~sightline.index.protocol.StandingIndex`."""
        batch = object_batch(objects, self.dictionary)
        present = np.zeros(self.arrays.levels.size, np.uint8)
        present[-1] = 1
        stamp = np.full(len(self.regions), -1, np.int32)
        most = int(np.diff(batch.offsets).max(initial=0)) + 1  # terms of an object, and the wildcard
        own, stack = np.empty(most, np.int32), np.empty((2 * most, 2), np.int32)
        run = partial(_kernels.fast_match, self.arrays, self.lists, batch, present, stamp, own, stack)
        pairs = collect_pairs(run, len(objects), FIRST_ROOM)
        if not self.regions.kind.any():
            return pairs
        return MatchPairs(
            *exact_regions(self.regions, self.space, objects, pairs.object, pairs.query), pairs.candidates
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The root or the cells below: postings in order, nodes, and which postings they keep, in the order of entries."""

    cell: I64
    source: I32
    nodes: I32
    node_term: I32
    first: I64  # first posting of each of the nodes that have no parent
    kept: I32


def _queries(block: QueryBlock, lists: Conjuncts, frequency: I64) -> FastQueries:
    pieces = offsets_of(block.piece_query, len(block))
    conjuncts = np.bincount(block.conj_query, minlength=len(block))
    return frozen_fields(
        FastQueries,
        (
            block.conj_query,
            pieces,
            block.piece_box,
            key_terms(lists, frozen(frequency, np.int64), len(frequency)),
            conjuncts * np.diff(pieces) > 1,
        ),
    )


def _at_root(queries: FastQueries) -> tuple[I64, I32]:
    """One posting per conjunct and piece."""
    pieces = np.diff(queries.piece_offsets)[queries.conj_query]
    conjunct = np.repeat(np.arange(len(pieces)), pieces)
    within = np.arange(len(conjunct)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    piece = queries.piece_offsets[:-1][queries.conj_query][conjunct] + within
    return np.zeros(len(conjunct), np.int64), np.stack([conjunct, piece], axis=1).astype(np.int32)


def _spread(source: I32, grid: F64, queries: FastQueries) -> tuple[I64, I32]:
    """Postings of the root, in the cells of their own level."""
    above = frozen(source, np.int32), grid, queries
    copies = _kernels.fast_spread(*above, np.empty(0, np.int64), np.empty((0, 2), np.int32))
    out = np.empty(copies, np.int64), np.empty((copies, 2), np.int32)
    _kernels.fast_spread(*above, *out)
    return out


def _forest(cell: I64, source: I32, grid: F64, queries: FastQueries, theta: int, wildcard: int) -> tuple[_Part, I32]:
    """The keyword index of some cells, and the postings that it pushes down."""
    terms = queries.terms[source[:, 0]]
    order = np.lexsort((terms[:, 2], terms[:, 1], terms[:, 0], cell))
    cell, source = cell[order], source[order]
    n = len(cell)
    room = 3 * n  # a posting is on a path of at most three nodes
    made = Forest(
        frozen(cell, np.int64),
        frozen(source, np.int32),
        np.empty((room, 4), np.int32),
        np.empty(room, np.int32),
        np.empty((room, 3), np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
    )
    nodes, kept, pushed = _kernels.fast_forest(made, grid, queries, theta, wildcard)
    parentless = made.span[:nodes, 2] == 1
    part = _Part(
        cell,
        source,
        made.nodes[:nodes],
        made.node_term[:nodes],
        made.span[:nodes, 0][parentless].astype(np.int64),
        made.kept[:kept],
    )
    return part, made.pushed[:pushed]


def _joined(parts: tuple[_Part, _Part], grid: F64, queries: FastQueries, frequency: I64) -> FastArrays:
    """Both parts as one index."""
    nodes: list[I32] = [np.empty((0, 4), np.int32)]
    terms: list[I32] = [np.empty(0, np.int32)]
    sources: list[I32] = [np.empty((0, 2), np.int32)]
    keys: list[I64] = [np.empty(0, np.int64)]
    numbers: list[I64] = [np.empty(0, np.int64)]
    first_node, first_entry = 0, 0
    for part in parts:
        heads = part.nodes[: len(part.first)]
        useful = np.flatnonzero((heads[:, 1] > 0) | (heads[:, 3] > 0))  # a node may have pushed everything down
        keys.append((part.cell[part.first] << TERM_BITS | part.node_term[: len(part.first)])[useful])
        numbers.append(useful + first_node)
        nodes.append(part.nodes + np.array([first_entry, 0, first_node, 0], np.int32))
        terms.append(part.node_term)
        sources.append(part.source[part.kept])
        first_node, first_entry = first_node + len(part.nodes), first_entry + len(part.kept)
    every, every_term = np.concatenate(nodes), np.concatenate(terms)
    large = np.flatnonzero(every[:, 3] > SCAN_CHILDREN)
    first, children = every[large, 2].astype(np.int64), every[large, 3].astype(np.int64)
    child = np.arange(children.sum()) + np.repeat(first - (np.cumsum(children) - children), children)
    keys.append((CHILDREN + np.repeat(large, children)) << TERM_BITS | every_term[child])
    numbers.append(child)
    source, key = frozen(np.concatenate(sources), np.int32), frozen(np.concatenate(keys), np.int64)
    slots = np.full((1 << max(3, (2 * len(key)).bit_length()), 2), -1, np.int64)
    boxes, entries = np.empty((len(source), 4)), np.empty((len(source), 4), np.int32)
    levels = np.zeros(len(frequency) + 1, np.uint8)
    for part in parts:
        levels[part.node_term[len(part.first) :]] = INNER
    rank = np.empty(len(frequency), np.int32)
    rank[np.argsort(frequency, kind="stable")] = np.arange(len(rank))
    _kernels.fast_enter(slots, levels, key, frozen(np.concatenate(numbers), np.int64))
    _kernels.fast_fill(queries, source, boxes, entries)
    return FastArrays(grid, levels, rank, slots, every, every_term, boxes, entries)
