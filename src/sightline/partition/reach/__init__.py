"""How far nearest queries reach: the circles in which they found their k among the objects of a history."""

from sightline.partition.reach.circles import nearest_pieces, nearest_reach

__all__ = ["nearest_pieces", "nearest_reach"]
