"""Where things are: distances, regions, bounding pieces and the curve, over arrays.

Coordinates are float64 degrees (or the unit of a planar space), distances int64 millimetres. Every predicate
is exact in the sense of the definition: a circle compares the rounded haversine distance with its rounded
radius, a box its four closed sides, a polygon the exact side of its edges.

* :mod:`~sightline.geo.distance`: one point to many, or pairs.
* :mod:`~sightline.geo.region_table`: many regions as flat arrays.
* :mod:`~sightline.geo.contains`: points in regions, one region or pairs.
* :mod:`~sightline.geo.polygon`: points in one polygon.
* :mod:`~sightline.geo.bounds`: boxes that cover a region and never cross the antimeridian.
* :mod:`~sightline.geo.curve`: Morton keys.

The scalar kernels ``haversine_mm``, ``planar_mm``, ``in_box``, ``quantise_one`` and ``curve_key`` of
``geo._kernels`` may be called from the kernels of other folders.
"""

from sightline.geo.bounds import pieces, table_pieces
from sightline.geo.contains import inside, inside_pairs
from sightline.geo.curve import curve_keys, quantise
from sightline.geo.distance import EARTH_RADIUS_M, distance_mm, pair_distance_mm
from sightline.geo.region_table import RegionTable

__all__ = [
    "EARTH_RADIUS_M",
    "RegionTable",
    "curve_keys",
    "distance_mm",
    "inside",
    "inside_pairs",
    "pair_distance_mm",
    "pieces",
    "quantise",
    "table_pieces",
]
