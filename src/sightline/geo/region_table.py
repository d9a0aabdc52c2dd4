"""Many regions as flat arrays: what standing indexes keep, persist and check millions of pairs against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I64, U8
from sightline.flat.records import FlatRecord
from sightline.geo._kernels import BOX, CIRCLE, POLYGON
from sightline.model.errors import BadQuery
from sightline.model.regions import Box, Circle, Polygon, Region

if TYPE_CHECKING:
    import shapely


@dataclass(frozen=True, slots=True)
class RegionTable(FlatRecord):
    """n regions.

    Parameters
    ----------
    kind : uint8[n]
        0 box, 1 circle, 2 polygon.
    params : float64[n, 4]
        Box: west, south, east, north. Circle: lon, lat, radius in millimetres, 0. Polygon: its bounding box.
    polygon_offsets : int64[n + 1]
        Where the WKB of region i lies in ``polygon_data``; empty unless it is a polygon.
    polygon_data : uint8[]
        WKB of all polygons.
    """

    kind: U8
    params: F64
    polygon_offsets: I64
    polygon_data: U8

    def __len__(self) -> int:
        return int(self.kind.size)

    @classmethod
    def from_regions(cls, regions: Sequence[Region]) -> RegionTable:
        """Table of region objects, in their order."""
        kind = np.empty(len(regions), np.uint8)
        params = np.zeros((len(regions), 4), np.float64)
        blobs = [b""] * len(regions)
        for i, region in enumerate(regions):
            if isinstance(region, Box):
                kind[i], params[i] = BOX, (region.west, region.south, region.east, region.north)
            elif isinstance(region, Circle):
                kind[i], params[i, :3] = CIRCLE, (region.lon, region.lat, region.radius_mm)
            elif isinstance(region, Polygon):
                import shapely

                shape = shapely.Polygon(region.ring, region.holes)
                kind[i], params[i] = POLYGON, shape.bounds
                blobs[i] = shapely.to_wkb(shape)
            else:
                raise BadQuery("not a region", value=region, allowed="Box, Circle or Polygon")
        offsets = np.concatenate([[0], np.cumsum([len(blob) for blob in blobs], dtype=np.int64)]).astype(np.int64)
        return cls(kind, params, offsets, np.frombuffer(b"".join(blobs), np.uint8))

    @classmethod
    def from_boxes(cls, boxes: npt.ArrayLike) -> RegionTable:
        """Table of boxes, ``float64[n, 4]`` of west, south, east, north; the caller has checked them."""
        params = np.ascontiguousarray(boxes, np.float64).reshape(-1, 4)
        return cls._simple(BOX, params)

    @classmethod
    def from_circles(cls, lons: npt.ArrayLike, lats: npt.ArrayLike, radius_mm: npt.ArrayLike) -> RegionTable:
        """Table of circles; radii are whole millimetres; the caller has checked them."""
        columns = [np.asarray(v, np.float64).reshape(-1) for v in (lons, lats, radius_mm)]
        return cls._simple(CIRCLE, np.column_stack([*columns, np.zeros(columns[0].size)]))

    @classmethod
    def _simple(cls, kind: int, params: F64) -> RegionTable:
        n = params.shape[0]
        return cls(np.full(n, kind, np.uint8), params, np.zeros(n + 1, np.int64), np.empty(0, np.uint8))

    def region(self, i: int) -> Region:
        """Region i as an object."""
        a, b, c, d = (float(v) for v in self.params[i])
        if self.kind[i] == BOX:
            return Box(a, b, c, d)
        if self.kind[i] == CIRCLE:
            return Circle(a, b, c / 1000.0)
        import shapely

        shape = self.shape(i)
        ring = shapely.get_coordinates(shape.exterior).tolist()
        holes = [shapely.get_coordinates(hole).tolist() for hole in shape.interiors]
        return Polygon(ring, holes)

    def shape(self, i: int) -> shapely.Polygon:
        """Polygon i as a shapely geometry, not prepared."""
        import shapely

        return shapely.from_wkb(self.polygon_data[self.polygon_offsets[i] : self.polygon_offsets[i + 1]].tobytes())

    def take(self, rows: npt.ArrayLike) -> RegionTable:
        """The given rows, in the given order."""
        index = np.asarray(rows, np.int64)
        starts, sizes = self.polygon_offsets[index], np.diff(self.polygon_offsets)[index]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        # Byte j of the result is byte j - offsets[row] of that row's blob.
        source = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
        return RegionTable(self.kind[index], self.params[index], offsets, self.polygon_data[source])

    @staticmethod
    def concat(tables: Sequence[RegionTable]) -> RegionTable:
        """All rows of all tables."""
        if not tables:
            return RegionTable.from_regions([])
        ends = np.cumsum([0] + [int(t.polygon_offsets[-1]) for t in tables])
        offsets = [t.polygon_offsets[:-1] + end for t, end in zip(tables, ends, strict=False)]
        return RegionTable(
            np.concatenate([t.kind for t in tables]),
            np.concatenate([t.params for t in tables]),
            np.concatenate([*offsets, ends[-1:]]).astype(np.int64),
            np.concatenate([t.polygon_data for t in tables]),
        )
