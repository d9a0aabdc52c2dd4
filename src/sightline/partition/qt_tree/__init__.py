"""QT-tree: space is cut in four, or text is, whichever makes less work (SSTD sections 4.1.2 and 4.2, Algorithm 1).

``workload``   what a history says about queries: who reaches a region, which words are asked for (Eq. 1 and 2).
``build``      Algorithm 1: the leaf with the most work is split, until there are enough leaves.
``tree``       the result as flat arrays.
``router``     objects down the tree; keyword lists of textual nodes grow on the way.
``routing``    the partitioner, and its two baselines with one kind of split: ``quadtree`` and ``text``.
"""

from sightline.partition.qt_tree.routing import QtTreeParams, QtTreeRouting, QuadtreeRouting, TextRouting

__all__ = ["QtTreeParams", "QtTreeRouting", "QuadtreeRouting", "TextRouting"]
