"""R-tree with inverted lists and term-frequency tables in its nodes (SSTD sections 6.1 and 7.1)."""

from sightline.index.objects.rtree.index import RTreeIndex, RTreeParams

__all__ = ["RTreeIndex", "RTreeParams"]
