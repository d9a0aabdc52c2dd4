"""O_init, the objects that stand for those to come (DkM-SKS section 3), and what the cost models ask of it."""

from sightline.partition.subsets.sample.objects import Sample

__all__ = ["Sample"]
