"""Algorithm 1 of PS2Stream, "Partition Workload".

Deviations and choices (ours), where the paper is silent:

* delta, sigma, theta and what counts as "about 0" have no printed values: :class:`HybridParams`.
* Line 4 pops the heaviest node. The first phase stops cutting when theta nodes are reached.
* Line 10 adds n to N_t. A node that cannot be cut (one cell) goes there too.
* Ways to divide a node are compared by :func:`charge`: the sum of loads, but no less than pieces times the heaviest
  over ``lopsided``. By the sum alone the cheapest way is to put all terms into one part and leave the others empty:
  that copies nothing, and divides nothing.
* A node of N_t may be cut in space too where its terms divide it badly in that sense (one word is in most objects).
* A node that was divided by text is divided by text from then on. "Into 2" then means one part more for the node, all
  of its terms dealt anew, which balances better than halving one part.
* Line 25: a node that no division makes lighter is retired, and the next heaviest is taken; the loop ends when none is
  left. Without this it would not end before theta, or not at all.
* Line 27 leaves the loop with leaves that were never dealt: they are dealt once more.
* L_max/L_min with an idle worker is infinite (:func:`~sightline.partition.cost.ps2stream.balance_factor`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32
from sightline.partition.cost.ps2stream import LoadCosts, is_balanced, total_load
from sightline.partition.kdt_tree.hybrid.merging import merge_leaves
from sightline.partition.kdt_tree.hybrid.node import KdtNode, best_cut, cut_along, halves, root_of, text_similarity
from sightline.partition.kdt_tree.hybrid.sample import WorkloadSample
from sightline.partition.kdt_tree.hybrid.text_parts import node_text, text_parts

__all__ = [
    "HybridParams", "KdtTree", "charge", "classify", "cost_row", "lighter", "numbers_of_partitions", "partition_node",
    "partition_workload", "space_steps",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class HybridParams:
    """Inputs of Algorithm 1; only ``side`` has a value in the paper."""

    delta: float = 0.5  # similarity from which text is no good divider, line 5
    sigma: float = 1.2  # largest L_max/L_min, line 21
    theta: int = 64  # leaves at which splitting ends, line 26; at least four per worker
    epsilon: float = 0.05  # a change of similarity that is "about 0", line 9
    side: int = 64  # cells per side of the dispatcher's grid, section VI-B
    lopsided: float = 1.5  # heaviest over mean piece from which a division is charged for it
    costs: LoadCosts = field(default_factory=LoadCosts)  # Definition 1


class KdtTree(NamedTuple):
    """The leaves' nodes, and the worker of each leaf: node by node, part by part."""

    nodes: list[KdtNode]
    leaf_worker: I32


def classify(sample: WorkloadSample, params: HybridParams) -> list[KdtNode]:
    """Lines 1-12: the subspaces in which texts differ (N_t, ``textual``) and the others (N_s)."""
    root = root_of(sample, params.costs)
    open_nodes = [(-root.load, 0, root)]  # N_u; numbers break ties
    numbered, done = 1, list[KdtNode]()
    while open_nodes:
        node = heapq.heappop(open_nodes)[2]
        similar = text_similarity(sample, node)
        if similar >= params.delta:
            done.append(node)
            continue
        pairs = [
            halves(sample, node, cut)
            for axis in (0, 1)
            if (cut := cut_along(sample, node, axis, params.costs)) is not None
        ]
        ranked = [(min(text_similarity(sample, half) for half in pair), pair) for pair in pairs]
        alpha, pair = min(ranked, key=lambda one: one[0]) if ranked else (similar, ())
        if not pair or abs(alpha - similar) <= params.epsilon or len(done) + len(open_nodes) + 2 > params.theta:
            done.append(replace(node, textual=True))
            continue
        for half in pair:
            heapq.heappush(open_nodes, (-half.load, numbered, half))
            numbered += 1
    return done


def space_steps(sample: WorkloadSample, node: KdtNode, most: int, costs: LoadCosts) -> Iterator[list[KdtNode]]:
    """The node in 1, 2, 3... pieces of space, each time the heaviest cut in two, as far as that goes."""
    pieces = [node]
    yield pieces
    while len(pieces) < most:
        for i in sorted(range(len(pieces)), key=lambda i: (-pieces[i].load, i)):
            if (cut := best_cut(sample, pieces[i], costs)) is not None:
                pieces = [*pieces[:i], *halves(sample, pieces[i], cut), *pieces[i + 1 :]]
                break
        else:
            return
        yield pieces


def charge(nodes: Sequence[KdtNode], params: HybridParams) -> float:
    """What a division into the leaves of some nodes costs: the sum of loads, or more if it is lopsided."""
    loads = np.concatenate([node.loads for node in nodes])
    return max(total_load(loads), float(len(loads) * loads.max() / params.lopsided))


def _by_text(sample: WorkloadSample, node: KdtNode, pieces: int, params: HybridParams) -> KdtNode:
    return replace(node, textual=True, parts=text_parts(sample, node, node_text(sample, node), pieces, params.costs))


def _may_cut(node: KdtNode, divided: KdtNode, params: HybridParams) -> bool:
    """Whether space comes into question beside a division by text: in N_t only where that is lopsided."""
    return not node.textual or charge([divided], params) > total_load(divided.loads)


def cost_row(sample: WorkloadSample, node: KdtNode, most: int, params: HybridParams) -> list[float]:
    """C[i, 1..most]: the charge for the node in so many partitions, divided the better way."""
    text = node_text(sample, node)
    by_text = [
        replace(node, parts=text_parts(sample, node, text, k, params.costs) if k > 1 else None)
        for k in range(1, most + 1)
    ]
    row = [charge([divided], params) for divided in by_text]
    if any(_may_cut(node, divided, params) for divided in by_text):
        for k, pieces in enumerate(space_steps(sample, node, most, params.costs)):
            if _may_cut(node, by_text[k], params):
                row[k] = min(row[k], charge(pieces, params))
    return row


def numbers_of_partitions(table: Sequence[Sequence[float]], partitions: int) -> list[int]:
    """ComputeNumberPartitions: how many partitions each node gets, ``partitions`` in all and at least one each.

    ``table[i][k-1]`` is C[i, k]. L[i, j] = min over k of L[i-1, j-k] + C[i, k], with 1 <= k <= j - i + 1 for nodes
    counted from 1; ties go to the smaller k.
    """
    nodes = len(table)
    least = np.full((nodes + 1, partitions + 1), np.inf)
    taken = np.zeros((nodes + 1, partitions + 1), np.int64)
    least[0, 0] = 0.0
    for i in range(1, nodes + 1):
        for j in range(i, partitions + 1):
            most = min(j - i + 1, len(table[i - 1]))
            sums = [least[i - 1, j - k] + table[i - 1][k - 1] for k in range(1, most + 1)]
            k = int(np.argmin(sums)) + 1
            least[i, j], taken[i, j] = sums[k - 1], k
    numbers, left = list[int](), partitions
    for i in range(nodes, 0, -1):
        numbers.append(int(taken[i, left]))
        left -= numbers[-1]
    return numbers[::-1]


def partition_node(sample: WorkloadSample, node: KdtNode, pieces: int, params: HybridParams) -> list[KdtNode]:
    """PartitionNode: the way that is charged less, in N_t by text if that will do (ties: space)."""
    if pieces == 1:
        return [node]
    divided = _by_text(sample, node, pieces, params)
    if _may_cut(node, divided, params):
        *_, cut = space_steps(sample, node, pieces, params.costs)
        if len(cut) == pieces and charge(cut, params) <= charge([divided], params):
            return cut
    return [divided]


def lighter(sample: WorkloadSample, node: KdtNode, params: HybridParams) -> list[KdtNode] | None:
    """PartitionNode(n, 2) for the heaviest leaf of a node: one leaf more; None if its heaviest stays as heavy."""
    heaviest = node.loads.max()
    divided = _by_text(sample, node, len(node.loads) + 1, params)
    ways = [[divided]]
    if node.parts is None and _may_cut(node, divided, params):
        cut = best_cut(sample, node, params.costs)
        if cut is not None:
            ways.insert(0, list(halves(sample, node, cut)))
    ways = [way for way in ways if max(one.loads.max() for one in way) < heaviest]
    return min(ways, key=lambda way: charge(way, params)) if ways else None


def _split_heaviest(sample: WorkloadSample, nodes: list[KdtNode], params: HybridParams) -> list[KdtNode] | None:
    """The nodes after the heaviest leaf that can be made lighter was split (lines 24-25); None if none can."""
    nodes = list(nodes)
    for i in sorted(range(len(nodes)), key=lambda i: (-nodes[i].loads.max(), i)):
        if nodes[i].final:
            continue
        split = lighter(sample, nodes[i], params)
        if split is not None:
            return [*nodes[:i], *split, *nodes[i + 1 :]]
        nodes[i] = replace(nodes[i], final=True)
    return None


def partition_workload(sample: WorkloadSample, workers: int, params: HybridParams) -> KdtTree:
    """The whole of Algorithm 1."""
    params = replace(params, theta=max(params.theta, 4 * workers))
    costs = params.costs
    nodes = classify(sample, params)
    if len(nodes) < workers:  # lines 13-16
        most = workers - len(nodes) + 1
        numbers = numbers_of_partitions([cost_row(sample, node, most, params) for node in nodes], workers)
        nodes = [
            piece
            for node, pieces in zip(nodes, numbers, strict=True)
            for piece in partition_node(sample, node, pieces, params)
        ]
    sizes = len(sample.place[0]), len(sample.box)
    while True:  # lines 17-27
        worker, loads = merge_leaves(nodes, *sizes, workers, costs)
        if is_balanced(loads, params.sigma):
            break
        split = _split_heaviest(sample, nodes, params)
        if split is None:
            break
        nodes = split
        if sum(len(node.loads) for node in nodes) >= params.theta:
            worker, loads = merge_leaves(nodes, *sizes, workers, costs)
            break
    return KdtTree(nodes, worker)
