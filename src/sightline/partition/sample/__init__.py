"""Objects of a history that stand for those to come: how many are in a rectangle, how far the k-th nearest is.

DkM-SKS calls them O_init (section 3). Its cost models count in them, and what kNN queries reach is found in them for
every partitioner that wants to know.
"""

from sightline.partition.sample.objects import ObjectSample

__all__ = ["ObjectSample"]
