"""Tilings: space cut into rectangles without gaps or overlap, one leaf each.

All of them are kept the same way: a *raster* of cells that names the leaf of every cell, and the *span* of every leaf
in cells. What differs is how a coordinate becomes a cell: by arithmetic on a fine grid of equal cells (``a-grid``), or
by a search in sorted *cuts*, the few coordinates at which any rectangle begins (``kd-tree``, ``r-tree``, ``uniform``;
PS2Stream VI-B also turns its kd-tree into a grid for its dispatchers).

An object falls in one cell and so in one leaf. The leaves that a box visits are found by Tornado's neighbour-based
search (Alg. 1), in time that depends on their number only, neither on the number of cells nor on that of all leaves.
"""

from sightline.partition.tiles.cuts import CutRouting, halved
from sightline.partition.tiles.routing import TiledRouting, painted

__all__ = ["CutRouting", "TiledRouting", "halved", "painted"]
