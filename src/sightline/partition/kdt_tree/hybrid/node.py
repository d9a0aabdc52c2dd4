"""Nodes of the kd^t-tree: their load (Definition 1), and how they are cut in two.

Ours, as the paper leaves it open: a cut lies on the line of the dispatcher's grid that makes the heavier half
lightest (a kd-tree's median, weighed by load). Each stored query was inserted once and will be deleted once
(:func:`~sightline.partition.cost.ps2stream.steady_loads`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, Flag, frozen
from sightline.partition.cost.ps2stream import LoadCosts, steady_loads
from sightline.partition.kdt_tree.hybrid._kernels import similarity
from sightline.partition.kdt_tree.hybrid.sample import WorkloadSample

__all__ = ["NodeCut", "KdtNode", "Parts", "best_cut", "cut_along", "halves", "root_of", "text_similarity"]


class Parts(NamedTuple):
    """A node divided by terms: its known terms (numbers of the sample), the part of each, whether it is a key, how many
    objects have it; and per part the objects and queries sent to it and its load."""

    terms: I32
    part: I32
    keyed: Flag
    counts: I32
    objects: list[I32]
    queries: list[I32]
    loads: F64


@dataclass(frozen=True, slots=True, eq=False)
class KdtNode:
    """A rectangle of cells with its objects and queries (pieces); a leaf, or as many leaves as it has parts.

    ``textual`` nodes are those of N_t: they are divided by terms only. A ``final`` node cannot be made lighter.
    """

    box: tuple[int, int, int, int]
    objects: I32
    queries: I32
    load: float
    textual: bool = False
    parts: Parts | None = None
    final: bool = False

    @property
    def loads(self) -> F64:
        """Loads of its leaves."""
        return np.array([self.load]) if self.parts is None else self.parts.loads


class NodeCut(NamedTuple):
    """The last column (axis 0) or row (axis 1) of the lower half, and the loads of both halves."""

    axis: int
    line: int
    low: float
    high: float


def root_of(sample: WorkloadSample, costs: LoadCosts) -> KdtNode:
    """All cells, objects and queries (Algorithm 1, line 1)."""
    objects, queries = np.arange(len(sample.place[0]), dtype=np.int32), np.arange(len(sample.box), dtype=np.int32)
    load = float(steady_loads(len(objects), len(queries), costs)[0])
    return KdtNode(
        (0, 0, len(sample.x_edges), len(sample.y_edges)), frozen(objects, np.int32), frozen(queries, np.int32), load
    )


def text_similarity(sample: WorkloadSample, node: KdtNode) -> float:
    """sim_t(O_n, Q_n): the cosine between how many objects, and how many queries, have each term."""
    return float(similarity(node.objects, node.queries, sample.text, len(sample.terms)))


def cut_along(sample: WorkloadSample, node: KdtNode, axis: int, costs: LoadCosts) -> NodeCut | None:
    """The cut that makes the heavier half lightest (ties: less load together, then the lower line); None for one line
    of cells."""
    first, last = node.box[axis], node.box[axis + 2]
    if first == last:
        return None
    width = last - first + 1
    objects = np.cumsum(np.bincount(sample.place[axis][node.objects] - first, minlength=width))[:-1]
    begin = np.maximum(sample.box[node.queries, axis], first) - first
    end = np.minimum(sample.box[node.queries, axis + 2], last) - first
    begun = np.cumsum(np.bincount(begin, minlength=width))[:-1]
    ended = np.cumsum(np.bincount(end, minlength=width))[:-1]
    low = steady_loads(objects, begun, costs)
    high = steady_loads(len(node.objects) - objects, len(node.queries) - ended, costs)
    at = int(np.lexsort((low + high, np.maximum(low, high)))[0])
    return NodeCut(axis, first + at, float(low[at]), float(high[at]))


def best_cut(sample: WorkloadSample, node: KdtNode, costs: LoadCosts) -> NodeCut | None:
    """The cut with less load together of the two axes (ties: x); None for a single cell."""
    cuts = [cut for axis in (0, 1) if (cut := cut_along(sample, node, axis, costs)) is not None]
    return min(cuts, key=lambda cut: cut.low + cut.high) if cuts else None


def halves(sample: WorkloadSample, node: KdtNode, cut: NodeCut) -> tuple[KdtNode, KdtNode]:
    """Both sides of a cut; a query goes to each side it meets."""
    x0, y0, x1, y1 = node.box
    if cut.axis == 0:
        low_box, high_box = (x0, y0, cut.line, y1), (cut.line + 1, y0, x1, y1)
    else:
        low_box, high_box = (x0, y0, x1, cut.line), (x0, cut.line + 1, x1, y1)
    below = sample.place[cut.axis][node.objects] <= cut.line
    begin, end = sample.box[node.queries, cut.axis], sample.box[node.queries, cut.axis + 2]
    low_queries, high_queries = node.queries[begin <= cut.line], node.queries[end > cut.line]
    return (
        KdtNode(low_box, frozen(node.objects[below], np.int32), frozen(low_queries, np.int32), cut.low),
        KdtNode(high_box, frozen(node.objects[~below], np.int32), frozen(high_queries, np.int32), cut.high),
    )
