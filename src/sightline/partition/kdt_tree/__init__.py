"""PS2Stream's hybrid partitioning: a kd-tree whose leaves may be divided further by terms (section IV).

:mod:`~sightline.partition.kdt_tree.hybrid` builds the kd^t-tree from a history (Algorithm 1).
:mod:`~sightline.partition.kdt_tree.grid_t` lays it out as the dispatcher's grid^t index (section IV-C): a grid whose
cells name a node of the tree, and per textual node one table of terms.
:mod:`~sightline.partition.kdt_tree.routing` answers from that index, with the lookups in ``_kernels``.

A *leaf* is a node that is one piece, or one part of the terms of a node that is divided by text.
"""

from sightline.partition.kdt_tree.hybrid.algorithm import HybridParams
from sightline.partition.kdt_tree.routing import KdtTreeRouting

__all__ = ["HybridParams", "KdtTreeRouting"]
