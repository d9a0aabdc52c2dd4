"""MergeNodesIntoPartitions: leaves to workers (PS2Stream section IV-B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.flat.arrays import F64, I32, I64, frozen
from sightline.flat.records import frozen_fields
from sightline.partition.cost.ps2stream import LoadCosts
from sightline.partition.kdt_tree.hybrid._kernels import Units, deal
from sightline.partition.kdt_tree.hybrid.node import KdtNode

__all__ = ["leaf_members", "merge_leaves"]


def leaf_members(nodes: Sequence[KdtNode]) -> tuple[list[I32], list[I32]]:
    """Objects and queries of every leaf, node by node, part by part."""
    objects, queries = [], []
    for node in nodes:
        objects += [node.objects] if node.parts is None else node.parts.objects
        queries += [node.queries] if node.parts is None else node.parts.queries
    return objects, queries


def merge_leaves(
    nodes: Sequence[KdtNode], objects: int, queries: int, workers: int, costs: LoadCosts
) -> tuple[I32, F64]:
    """The worker of every leaf and the loads of the workers, by the rule of
    :func:`~sightline.partition.kdt_tree.hybrid._kernels.deal`, heaviest leaf first (ties: lower number).

    The load of a worker is Definition 1 over everything sent to it: an object or query that two of its leaves share
    counts once.
    """
    members = leaf_members(nodes)
    loads = np.concatenate([node.loads for node in nodes])
    order = np.lexsort((np.arange(len(loads)), -loads))
    runs = [_flat(rows) for rows in members]
    units = frozen_fields(Units, (*runs[0], *runs[1]))
    home = frozen(np.full(objects, -1, np.int32), np.int32)
    dealt = deal(units, frozen(order, np.int64), home, queries, 0, workers, costs.weights)
    return dealt[0], dealt[1]


def _flat(rows: Sequence[I32]) -> tuple[I64, I32]:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(run) for run in rows])])
    return offsets, np.concatenate(rows)
