"""Algorithm 1 of SSTD: split the leaf with the most work, by space or by text, until there are enough leaves.

Each object is looked at twice per level (once for each kind of split): O(|O| log theta), as the paper's remark says.

Deviations (ours, SSTD leaves them open): a leaf whose objects no split can tell apart waits until no other leaf is
left to split, and such leaves are then split in order of age, so that an empty history gives an even tree; a leaf that
no allowed split applies to (its box cannot be halved any more) is retired. Ties of the two kinds go to space, as in
line 8, unless all objects are at one place, where a cut only moves them from leaf to leaf.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sightline.index.arrays import F64, I32, I64, U8, frozen
from sightline.index.protocol import ObjectColumns
from sightline.partition.qt_tree._kernels import (
    FOUR,
    LEAF,
    SPATIAL,
    TEXTUAL,
    Lists,
    Rows,
    arrange,
    at_one_place,
    covers_of,
    masses_of,
    numbers_of,
    rows_of,
    split_space,
    split_text,
)
from sightline.partition.qt_tree.tree import Tree
from sightline.partition.qt_tree.workload import Workload
from sightline.text.dictionary import table_size
from sightline.text.lookup._kernels import fill_slots

__all__ = ["grow"]

_ROUNDING = 1e-12  # sums of workloads this close, relatively, are equal


class _Split(NamedTuple):
    """Four children that a node could have."""

    kind: int
    child: U8  # of each object of the node
    objects: I64
    box: F64
    load: list[float]
    lists: Lists | None


@dataclass
class _Node:
    box: F64
    start: int
    end: int
    load: float
    kind: int = LEAF
    first: int = -1
    lists: int = -1


def grow(objects: ObjectColumns, workload: Workload, leaves: int, *, spatial: bool, textual: bool) -> Tree:
    """A tree of at least so many leaves (fewer only where nothing can be split), by the allowed kinds of split."""
    growing = _Growing(objects, workload, spatial, textual)
    heap = [growing.rank(0)]
    number = 1
    while number < leaves and heap:
        x = heapq.heappop(heap)[-1]
        split = growing.choose(x)
        if split is None:
            continue
        first = growing.apply(x, split)
        for child in range(first, first + FOUR):
            heapq.heappush(heap, growing.rank(child))
        number += FOUR - 1
    return growing.tree()


class _Growing:
    def __init__(self, objects: ObjectColumns, workload: Workload, spatial: bool, textual: bool) -> None:
        self.workload, self.spatial, self.textual = workload, spatial, textual
        self.lon, self.lat = frozen(objects.lon, np.float64), frozen(objects.lat, np.float64)
        self.order = np.arange(len(objects), dtype=np.int32)  # objects of a node are neighbours
        self.slots = np.full(table_size(len(workload.hashes)), -1, np.int32)
        fill_slots(workload.hashes, self.slots)
        terms = objects.terms
        number = numbers_of(frozen(terms.dictionary.hashes, np.int64), workload.hashes, frozen(self.slots, np.int32))
        offsets, ids = rows_of(
            frozen(terms.offsets, np.int64), frozen(terms.ids, np.int32), frozen(number, np.int32), len(workload.hashes)
        )
        self.rows = Rows(frozen(offsets, np.int64), frozen(ids, np.int32))
        self.lists: list[Lists] = []
        everything = self._masses(self.order, np.zeros(len(objects), np.uint8))
        bounds = workload.bounds
        load = workload.of_partition(len(objects), everything[0], workload.reach(bounds))
        self.nodes = [_Node(bounds, 0, len(objects), load)]

    def objects_of(self, node: _Node) -> I32:
        return frozen(self.order[node.start : node.end], np.int32)

    def rank(self, x: int) -> tuple[bool, float, int]:
        """Place in the heap: most work first, then the oldest; those that cannot be told apart last."""
        node = self.nodes[x]
        apart = node.end - node.start > 1 and (self.textual or not self._at_one_place(node))
        return not apart, -node.load if apart else 0.0, x

    def choose(self, x: int) -> _Split | None:
        """Lines 6-8: the kind of split with less total workload."""
        node = self.nodes[x]
        west, south, east, north = node.box.tolist()
        cut_x, cut_y = west + (east - west) / 2, south + (north - south) / 2
        halves = west < cut_x < east and south < cut_y < north
        by_space = self._by_space(node, cut_x, cut_y) if self.spatial and halves else None
        by_text = self._by_text(node) if self.textual else None
        if by_space is None or by_text is None:
            return by_text if by_space is None else by_space
        space, text = sum(by_space.load), sum(by_text.load)
        if abs(space - text) <= _ROUNDING * max(space, text):
            return by_text if node.end - node.start > 1 and self._at_one_place(node) else by_space
        return by_space if space < text else by_text

    def apply(self, x: int, split: _Split) -> int:
        """Lines 9 and 12: give a node its children; the number of the first."""
        node = self.nodes[x]
        self.order[node.start : node.end] = arrange(self.objects_of(node), split.child, split.objects)
        node.kind, node.first = split.kind, len(self.nodes)
        if split.lists is not None:
            node.lists = FOUR * len(self.lists)
            self.lists.append(split.lists)
        ends = node.start + np.cumsum(split.objects)
        for c in range(FOUR):
            end = int(ends[c])
            self.nodes.append(_Node(split.box[c], end - int(split.objects[c]), end, split.load[c]))
        return node.first

    def tree(self) -> Tree:
        """The flat form."""
        nodes = self.nodes
        kind = np.array([node.kind for node in nodes], np.uint8)
        first = np.array([node.first for node in nodes], np.int32)
        box = np.array([node.box for node in nodes])
        corner = np.where(
            kind == SPATIAL, first + FOUR - 1, 0
        )  # the north-eastern child begins where its parent is cut
        words = len(self.workload.hashes) if self.lists else 0  # only textual nodes look at words
        lists = [_lists(0, words, np.zeros(2)), *self.lists]
        return Tree(
            kind=kind,
            first=first,
            box=box,
            cut=np.where((kind == SPATIAL)[:, None], box[corner, :2], 0.0),
            leaf=np.where(kind == LEAF, np.cumsum(kind == LEAF) - 1, -1).astype(np.int32),
            lists=np.array([node.lists for node in nodes], np.int32),
            load=np.array([node.load for node in nodes if node.kind == LEAF]),
            has=np.concatenate([one.has for one in lists]),
            h=np.concatenate([one.h for one in lists]),
            objects=np.concatenate([one.objects for one in lists]),
            weight=np.concatenate([one.weight for one in lists]),
            hashes=self.workload.hashes[:words],
            slots=self.slots if words else np.full(table_size(0), -1, np.int32),
            mass=self.workload.mass[:words],
            lengths_srq=self.workload.lengths_srq,
            lengths_skq=self.workload.lengths_skq,
        )

    def _by_space(self, node: _Node, x: float, y: float) -> _Split:
        west, south, east, north = node.box.tolist()
        box = np.array([[west, south, x, y], [x, south, east, y], [west, y, x, north], [x, y, east, north]])
        objects = self.objects_of(node)
        child, count = split_space(objects, self.lon, self.lat, x, y)
        h = self._masses(objects, child)
        load = [self.workload.of_partition(int(count[c]), h[c], self.workload.reach(box[c])) for c in range(FOUR)]
        return _Split(SPATIAL, frozen(child, np.uint8), count, box, load, None)

    def _by_text(self, node: _Node) -> _Split:
        reach = self.workload.reach(node.box)
        lists = _lists(FOUR, len(self.workload.hashes), reach[:2])
        lists.cover[:] = covers_of(lists.h, lists.weight, self.workload.asked)
        child = split_text(self.objects_of(node), self.rows, self.workload.asked, lists)
        load = [self.workload.of_partition(int(lists.objects[c]), lists.h[c], reach) for c in range(FOUR)]
        return _Split(TEXTUAL, frozen(child, np.uint8), lists.objects, np.tile(node.box, (FOUR, 1)), load, lists)

    def _masses(self, objects: I32, child: U8) -> F64:
        asked = self.workload.asked
        return masses_of(frozen(objects, np.int32), frozen(child, np.uint8), self.rows, asked)

    def _at_one_place(self, node: _Node) -> bool:
        return bool(at_one_place(self.objects_of(node), self.lon, self.lat))


def _lists(number: int, words: int, weight: F64) -> Lists:
    """Empty keyword lists of the children of a node with this reach of SRQ and SKQ."""
    return Lists(
        has=np.zeros((number // FOUR, words), np.uint8),
        h=np.zeros((number, 2)),
        cover=np.zeros(number),
        objects=np.zeros(number, np.int64),
        weight=frozen(np.tile(weight, (number, 1)), np.float64),
    )
