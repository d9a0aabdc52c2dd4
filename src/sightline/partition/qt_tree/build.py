"""Algorithm 1 of SSTD: split the leaf with the most work, by space or by text, until there are enough leaves.

Deviations (ours):

* Line 8 compares the work of four children with that of four others. One split sees too little: where all objects lie
  in one quarter, cutting space saves nothing yet, and words, which save a little, are cut instead, again and again (a
  history around the middle of the space gave a tree with twice the work of the quadtree). We compare the trees that
  come of it: each split followed by spatial ones alone, of the leaf with the most work, up to theta leaves or 63 more.
  At the last split this is line 8.
* The tree is the one with the least total work of three: this one, the quadtree and the text tree. So by the model it
  is never worse than either.
* A leaf whose objects no split can tell apart waits until no other leaf is left to split, and such leaves are then
  split in order of age, so that an empty history gives an even tree; a leaf that no allowed split applies to (its box
  cannot be halved any more) is retired. Ties of the two kinds go to space, as in line 8, unless all objects are at one
  place, where a cut only moves them from leaf to leaf.

Each object is looked at once per level and kind of split, O(|O| log theta) as the paper's remark says; and as often
again below a textual split that is tried, with the objects of one leaf.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, U8, frozen
from sightline.index.protocol import ObjectColumns
from sightline.partition.qt_tree._kernels import (
    FOUR,
    LEAF,
    SPATIAL,
    TEXTUAL,
    Lists,
    TermRows,
    at_one_place,
    covers_of,
    numbers_of,
    rows_of,
    split_space,
    split_text,
    words_of,
)
from sightline.partition.qt_tree.tree import Tree
from sightline.partition.qt_tree.workload import Reached, TreeWorkload
from sightline.text.dictionary import table_size
from sightline.text.lookup_kernels import fill_slots

__all__ = ["grow"]

_ROUNDING = 1e-12  # sums of workloads this close, relatively, are equal
_AHEAD = 21  # splits that are looked ahead, at most: all of them with the default of 64 leaves


@dataclass(eq=False)
class _Node:
    box: F64
    objects: I32
    reached: Reached
    load: float
    one_place: bool
    splits: dict[int, _Split | None] = field(default_factory=dict)  # that were tried, by kind


class _Split(NamedTuple):
    """Four children that a node could have."""

    kind: int
    children: list[_Node]
    lists: Lists | None

    @property
    def load(self) -> float:
        return math.fsum(child.load for child in self.children)


class _Grown(NamedTuple):
    """A tree: its nodes, how each is split, and its first child."""

    nodes: list[_Node]
    split: list[_Split | None]
    first: list[int]

    @property
    def load(self) -> float:
        return math.fsum(node.load for node, split in zip(self.nodes, self.split, strict=True) if split is None)


_Entry = tuple[bool, float, int, _Node]  # of the heap; the number of a node is its age


def grow(objects: ObjectColumns, workload: TreeWorkload, leaves: int, *, spatial: bool, textual: bool) -> Tree:
    """A tree of at least so many leaves (fewer only where nothing can be split), by the allowed kinds of split."""
    growing = _Growing(objects, workload, leaves)
    if not (spatial and textual):
        return growing.tree(growing.grown(SPATIAL if spatial else TEXTUAL))
    quadtree, both, text = growing.grown(SPATIAL), growing.grown(None), growing.grown(TEXTUAL)
    best = both
    for other in (quadtree, text):
        if other.load < best.load * (1 - _ROUNDING):
            best = other
    return growing.tree(best)


class _Growing:
    def __init__(self, objects: ObjectColumns, workload: TreeWorkload, leaves: int) -> None:
        self.workload, self.leaves = workload, leaves
        self.lon, self.lat = frozen(objects.lon, np.float64), frozen(objects.lat, np.float64)
        self.slots = np.full(table_size(len(workload.hashes)), -1, np.int32)
        fill_slots(workload.hashes, self.slots)
        terms = objects.terms
        number = numbers_of(terms.dictionary.hashes, workload.hashes, frozen(self.slots, np.int32))
        offsets, ids = rows_of(terms.offsets, terms.ids, frozen(number, np.int32), len(workload.hashes))
        self.rows = TermRows(frozen(offsets, np.int64), frozen(ids, np.int32))
        everything = frozen(np.arange(len(objects)), np.int32)
        has = words_of(everything, frozen(np.zeros(len(objects)), np.uint8), self.rows, len(workload.hashes))
        bounds = workload.bounds
        (self.root,) = self._nodes(bounds[None], [everything], has, [workload.reached(bounds)])

    def grown(self, only: int | None) -> _Grown:
        """Lines 2-13, with one kind of split, or with both."""
        tree = _Grown([self.root], [None], [-1])
        heap = [_entry(0, self.root, only != SPATIAL)]
        number = 1
        while number < self.leaves and heap:
            *_, x, node = heapq.heappop(heap)
            split = self._split(node, only) if only is not None else self._better(node, heap, number)
            if split is None:
                continue
            tree.split[x], tree.first[x] = split, len(tree.nodes)
            for child in split.children:
                heapq.heappush(heap, _entry(len(tree.nodes), child, only != SPATIAL))
                tree.nodes.append(child)
                tree.split.append(None)
                tree.first.append(-1)
            number += FOUR - 1
        return tree

    def _better(self, node: _Node, heap: list[_Entry], number: int) -> _Split | None:
        """Lines 6-8: the kind of split with less total workload in the end."""
        by_space, by_text = self._split(node, SPATIAL), self._split(node, TEXTUAL)
        if by_space is None or by_text is None:
            return by_text if by_space is None else by_space
        space, text = (split.load + self._ahead(split, heap, number) for split in (by_space, by_text))
        if abs(space - text) <= _ROUNDING * node.load:
            better = by_text if len(node.objects) > 1 and node.one_place else by_space
        else:
            better = by_space if space < text else by_text
        del node.splits[TEXTUAL]  # with all that was tried below it
        return better

    def _ahead(self, split: _Split, heap: list[_Entry], number: int) -> float:
        """How much work is saved (below 0) by cutting the leaves in the heap and those of a split further."""
        ahead, age, saved = heap.copy(), FOUR * number, []
        splits_left = -(-(self.leaves - number) // (FOUR - 1)) - 1
        for _ in range(min(_AHEAD, splits_left)):
            for child in split.children:
                heapq.heappush(ahead, _entry(age, child, textual=True))
                age += 1
            cut = self._next_cut(ahead)
            if cut is None:
                break
            node, split = cut
            saved.append(split.load - node.load)
        return math.fsum(saved)

    def _next_cut(self, heap: list[_Entry]) -> tuple[_Node, _Split] | None:
        """The first node of a heap whose objects a cut can tell apart, and that cut."""
        while heap:
            *_, node = heapq.heappop(heap)
            cut = None if node.one_place else self._split(node, SPATIAL)
            if cut is not None:
                return node, cut
        return None

    def _split(self, node: _Node, kind: int) -> _Split | None:
        if kind not in node.splits:
            node.splits[kind] = self._by_space(node) if kind == SPATIAL else self._by_text(node)
        return node.splits[kind]

    def _by_space(self, node: _Node) -> _Split | None:
        west, south, east, north = node.box.tolist()
        x, y = west + (east - west) / 2, south + (north - south) / 2
        if not (west < x < east and south < y < north):
            return None
        box = np.array([[west, south, x, y], [x, south, east, y], [west, y, x, north], [x, y, east, north]])
        child = frozen(split_space(node.objects, self.lon, self.lat, x, y), np.uint8)
        has = words_of(node.objects, child, self.rows, len(self.workload.hashes))
        reached = [self.workload.reached(one) for one in box]
        return _Split(SPATIAL, self._nodes(box, _parts(node.objects, child), has, reached), None)

    def _by_text(self, node: _Node) -> _Split:
        asked, model = self.workload.asked, self.workload.model
        lists = _lists(FOUR, len(self.workload.hashes), model.types[:2] * node.reached.p[:2])
        lists.cover[:] = covers_of(lists.h, lists.weight, asked)
        child = frozen(split_text(node.objects, self.rows, asked, lists), np.uint8)
        box, reached = np.tile(node.box, (FOUR, 1)), [node.reached] * FOUR
        return _Split(TEXTUAL, self._nodes(box, _parts(node.objects, child), lists.has[0], reached), lists)

    def _nodes(self, box: F64, objects: list[I32], has: U8, reached: list[Reached]) -> list[_Node]:
        workload = self.workload
        load = workload.of_partitions([len(some) for some in objects], workload.masses(has, reached), reached)
        return [
            _Node(box[c], some, reached[c], load[c], bool(at_one_place(some, self.lon, self.lat)))
            for c, some in enumerate(objects)
        ]

    def tree(self, grown: _Grown) -> Tree:
        """The flat form."""
        split = grown.split
        kind = np.array([LEAF if one is None else one.kind for one in split], np.uint8)
        first = np.array(grown.first, np.int32)
        box = np.array([node.box for node in grown.nodes])
        corner = np.where(kind == SPATIAL, first + FOUR - 1, 0)  # the north-eastern child begins where the cuts meet
        lists = [one.lists for one in split if one is not None and one.lists is not None]
        words = len(self.workload.hashes) if lists else 0  # only textual nodes look at words
        textual = kind == TEXTUAL
        lists.insert(0, _lists(0, words, np.zeros(2)))
        return Tree(
            kind=kind,
            first=first,
            box=box,
            cut=np.where((kind == SPATIAL)[:, None], box[corner, :2], 0.0),
            leaf=np.where(kind == LEAF, np.cumsum(kind == LEAF) - 1, -1).astype(np.int32),
            lists=np.where(textual, FOUR * (np.cumsum(textual) - 1), -1).astype(np.int32),
            load=np.array([node.load for node, one in zip(grown.nodes, split, strict=True) if one is None]),
            has=np.concatenate([one.has for one in lists]),
            h=np.concatenate([one.h for one in lists]),
            objects=np.concatenate([one.objects for one in lists]),
            weight=np.concatenate([one.weight for one in lists]),
            hashes=self.workload.hashes[:words],
            slots=self.slots if words else np.full(table_size(0), -1, np.int32),
            mass=self.workload.mass[:words],
            lengths_srq=self.workload.model.srq_lengths,
            lengths_skq=self.workload.model.skq_lengths,
        )


def _entry(age: int, node: _Node, textual: bool) -> _Entry:
    """Place in the heap: most work first, then the oldest; those that cannot be told apart last."""
    apart = len(node.objects) > 1 and (textual or not node.one_place)
    return not apart, -node.load if apart else 0.0, age, node


def _parts(objects: I32, child: U8) -> list[I32]:
    """Objects of each child, in their order."""
    return [frozen(objects[child == c], np.int32) for c in range(FOUR)]


def _lists(number: int, words: int, weight: F64) -> Lists:
    """Empty keyword lists of the children of a node with this reach of SRQ and SKQ."""
    return Lists(
        has=np.zeros((number // FOUR, words), np.uint8),
        h=np.zeros((number, 2)),
        cover=np.zeros(number),
        objects=np.zeros(number, np.int64),
        weight=frozen(np.tile(weight, (number, 1)), np.float64),
    )
