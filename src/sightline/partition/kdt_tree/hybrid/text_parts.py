"""Dividing the terms of a node (PartitionNode by text, PS2Stream section IV-B).

The paper does not say how. Ours: the keys of the node's queries are dealt, heaviest first, by the rule it gives for
merging nodes (:func:`~sightline.partition.kdt_tree.hybrid._kernels.deal`): each goes where it adds the least load, so
that terms of the same objects and queries tend to stay together. Loads are exact: a part has the objects with one of
its keys, and the objects it owns that have no key; the queries with one of its keys, and all wild ones. Terms that are
no keys belong to a part by their hash.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64, Flag, frozen, offsets_of, sorted_distinct
from sightline.flat.records import frozen_fields
from sightline.partition.cost.ps2stream import LoadCosts, steady_loads
from sightline.partition.kdt_tree.hybrid._kernels import (
    Units,
    deal,
    key_postings,
    keys_of,
    term_counts,
)
from sightline.partition.kdt_tree.hybrid.node import KdtNode, Parts
from sightline.partition.kdt_tree.hybrid.sample import WorkloadSample
from sightline.partition.terms._kernels import all_hashed_to

__all__ = ["NodeText", "node_text", "text_parts"]


class NodeText(NamedTuple):
    """What a node's terms are, for any number of parts.

    ``keys`` are the keyed terms, ascending; ``units`` their objects and queries (positions in the node); ``wild`` the
    queries that stand in all parts. ``smallest`` is -2 for an object with a key, else its smallest term, -1 for none.
    """

    known: I32
    counts: I32
    keys: I32
    units: Units
    wild: Flag
    smallest: I32


def node_text(sample: WorkloadSample, node: KdtNode) -> NodeText:
    """Keys of the queries of a node, and who has them."""
    terms = len(sample.terms)
    count = term_counts(node.objects, sample.text, terms)
    at, key, wild = keys_of(node.queries, sample.text, count, frozen(sample.terms, np.int64))
    width = max(1, len(node.queries))
    pairs = sorted_distinct(key.astype(np.int64) * width + at)
    keys = sorted_distinct(pairs // width)
    slot = np.full(terms, -1, np.int32)
    slot[keys] = np.arange(len(keys), dtype=np.int32)
    runs, rows, smallest = key_postings(node.objects, sample.text, frozen(slot, np.int32), len(keys))
    queries = offsets_of(slot[pairs // width], len(keys))
    units = frozen_fields(Units, (runs, rows, queries, pairs % width))
    known = np.flatnonzero((count > 0) | (slot >= 0)).astype(np.int32)
    return NodeText(known, count[known], keys.astype(np.int32), units, frozen(wild, np.bool_), smallest)


def _homes(sample: WorkloadSample, node: KdtNode, text: NodeText, parts: int) -> I32:
    """The part that owns an object without a key, -1 for an object with one."""
    home = np.full(len(node.objects), -1, np.int32)
    bare, closed = text.smallest == -1, text.smallest >= 0
    cells = sample.cells(node.objects)
    shift = all_hashed_to(frozen(sample.terms[text.smallest[closed]], np.int64), parts)
    home[bare], home[closed] = cells[bare] % parts, (shift + cells[closed]) % parts
    return frozen(home, np.int32)


def text_parts(sample: WorkloadSample, node: KdtNode, text: NodeText, parts: int, costs: LoadCosts) -> Parts:
    """The node in ``parts`` parts of its terms; some may be empty if it has fewer keys."""
    units = text.units
    weight = steady_loads(np.diff(units.object_offsets), np.diff(units.query_offsets), costs)
    order: I64 = np.lexsort((np.arange(len(weight)), -weight))
    home = _homes(sample, node, text, parts)
    wild = node.queries[text.wild]
    sizes = len(node.queries), len(wild)
    dealt = deal(units, frozen(order, np.int64), home, *sizes, parts, costs.weights)
    part = all_hashed_to(frozen(sample.terms[text.known], np.int64), parts)
    keyed = np.zeros(len(text.known), np.bool_)
    at = np.searchsorted(text.known, text.keys)
    part[at], keyed[at] = dealt[0], True
    objects = _members(node.objects, *dealt[2:4], parts)
    queries = [
        frozen(np.sort(np.concatenate([own, wild])), np.int32) for own in _members(node.queries, *dealt[4:6], parts)
    ]
    return Parts(text.known, part, keyed, text.counts, objects, queries, dealt[1])


def _members(rows: I32, position: I32, part: I32, parts: int) -> list[I32]:
    """Per part the rows at the given positions, ascending."""
    width = max(1, len(rows))
    pairs = np.sort(part.astype(np.int64) * width + position)
    ends = np.searchsorted(pairs, np.arange(1, parts) * width)
    return [frozen(run, np.int32) for run in np.split(rows[pairs % width], ends)]
