"""Augmented grid: Tornado's routing layer (sections 3.1 and 4.1).

A virtual fine grid lies over the space; every evaluator has one rectangle of whole cells, and every cell knows its
rectangle. The rectangles are made from a sample of the workload: the cost of a cell is the number of candidates that
its objects are checked against (:mod:`~sightline.partition.a_grid.checks`), weighed by the paper's formulas
(:mod:`sightline.partition.cost.tornado`), and the costliest rectangle is cut again and again
(:mod:`~sightline.partition.a_grid.decompose`). Ranges are routed by following pointers between neighbouring rectangles
(:mod:`sightline.partition.tiles`).

The textual summaries that keep objects from evaluators without a matching keyword (section 3.1) are the route stage's.
"""

from sightline.partition.a_grid.routing import AGridParams, AGridRouting

__all__ = ["AGridParams", "AGridRouting"]
