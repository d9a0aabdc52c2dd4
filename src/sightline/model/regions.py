"""Regions a query may ask for: boxes, circles and polygons.

All are closed. A constructor checks what can be checked without a store: finite numbers, south not above
north, a radius that is not negative, valid rings, and degrees in range. ``planar=True`` leaves out the checks
of degrees, for stores with a planar :class:`~sightline.model.space.Space`; :func:`check_region` repeats the
right ones when the store is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from sightline.model.errors import BadQuery
from sightline.model.scalars import mapping, pair, within
from sightline.model.space import PLANAR_LIMIT, Space

Point: TypeAlias = tuple[float, float]
Ring: TypeAlias = tuple[Point, ...]

#: Largest radius: beyond any distance in any space, and exact in whole millimetres.
MAX_RADIUS_M = 1e12


@dataclass(frozen=True, slots=True)
class Box:
    """All points with ``west <= lon <= east`` and ``south <= lat <= north``.

    ``west > east`` crosses the antimeridian: ``lon >= west`` or ``lon <= east``. -180 and 180 are different
    here.
    """

    west: float
    south: float
    east: float
    north: float
    planar: bool = field(default=False, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, latitude in (("west", False), ("south", True), ("east", False), ("north", True)):
            what = f"{name} of the box ({'latitude' if latitude else 'longitude'})"
            object.__setattr__(self, name, _coordinate(getattr(self, name), latitude, self.planar, what))
        if self.south > self.north:
            raise BadQuery(
                "south of the box is above its north",
                value=(self.south, self.north),
                allowed="south <= north",
                hint="the order is west, south, east, north",
            )
        if self.planar and self.west > self.east:
            raise BadQuery(
                "west of a planar box is beyond its east",
                value=(self.west, self.east),
                allowed="west <= east",
                hint="only geographic boxes cross the antimeridian",
            )

    def to_dict(self) -> dict[str, object]:
        """JSON form ``{"box": [west, south, east, north]}``."""
        return _tagged({"box": [self.west, self.south, self.east, self.north]}, self.planar)


@dataclass(frozen=True, slots=True)
class Circle:
    """All points at a distance of at most ``radius_m``, which is rounded to whole millimetres.

    May cross the antimeridian or contain a pole. In a planar space the radius is in the unit of the
    coordinates.
    """

    lon: float
    lat: float
    radius_m: float
    planar: bool = field(default=False, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lon", _coordinate(self.lon, False, self.planar, "longitude of the circle"))
        object.__setattr__(self, "lat", _coordinate(self.lat, True, self.planar, "latitude of the circle"))
        radius = within(self.radius_m, 0.0, MAX_RADIUS_M, "radius_m of the circle")
        object.__setattr__(self, "radius_m", round(radius * 1000.0) / 1000.0)

    @property
    def radius_mm(self) -> int:
        """Radius in whole millimetres."""
        return round(self.radius_m * 1000.0)

    def to_dict(self) -> dict[str, object]:
        """JSON form ``{"circle": [lon, lat, radius_m]}``."""
        return _tagged({"circle": [self.lon, self.lat, self.radius_m]}, self.planar)


@dataclass(frozen=True, slots=True, init=False)
class Polygon:
    """Closed shell minus open holes, in the lon/lat plane; edges are straight there.

    Rings may be given open or closed and are kept closed. An edge longer than 180 degrees of longitude is
    refused: split such a shape at the antimeridian.
    """

    ring: Ring
    holes: tuple[Ring, ...]
    planar: bool = field(default=False, compare=False, repr=False)

    def __init__(
        self,
        ring: Iterable[Sequence[float]],
        holes: Iterable[Iterable[Sequence[float]]] = (),
        *,
        planar: bool = False,
    ) -> None:
        object.__setattr__(self, "planar", planar)
        object.__setattr__(self, "ring", _ring(ring, planar, "ring of the polygon"))
        inner = _listed(holes, "holes of the polygon", "a list of rings")
        object.__setattr__(self, "holes", tuple(_ring(hole, planar, "hole of the polygon") for hole in inner))
        import shapely  # on first use: workers without polygons start sooner

        shape = shapely.Polygon(self.ring, self.holes)
        if not shape.is_valid:
            raise BadQuery(
                f"the polygon is not valid ({shapely.is_valid_reason(shape)})",
                value=self.ring[:4],
                allowed="a ring that does not cross itself, with holes inside it",
                hint="shapely.make_valid repairs most shapes",
            )

    def to_dict(self) -> dict[str, object]:
        """JSON form ``{"polygon": {"ring": [[lon, lat], ...], "holes": [...]}}``."""
        rings = [[list(point) for point in ring] for ring in (self.ring, *self.holes)]
        return _tagged({"polygon": {"ring": rings[0], "holes": rings[1:]}}, self.planar)


Region: TypeAlias = Box | Circle | Polygon


def region_from_dict(data: object) -> Region:
    """Region of its JSON form; anything else is a ``BadQuery``."""
    allowed = "'box': [west, south, east, north], 'circle': [lon, lat, radius_m] or 'polygon': {'ring': ...}"
    form = dict(mapping(data, "a region"))
    planar = form.get("planar", False)
    kind, body = next(((key, form[key]) for key in form if key != "planar"), ("", None))
    if not isinstance(planar, bool) or len(form.keys() - {"planar"}) != 1:
        raise BadQuery("not a region", value=form, allowed=allowed)
    if kind == "box" and isinstance(body, list | tuple) and len(body) == 4:
        return Box(*body, planar=planar)
    if kind == "circle" and isinstance(body, list | tuple) and len(body) == 3:
        return Circle(*body, planar=planar)
    if kind == "polygon" and isinstance(body, Mapping) and "ring" in body and set(body) <= {"ring", "holes"}:
        return Polygon(body["ring"], body.get("holes", ()), planar=planar)
    raise BadQuery("not a region", value=form, allowed=allowed)


def check_region(region: Region, space: Space) -> None:
    """Check a region against the space of a store; ``BadQuery`` says what does not fit."""
    if not isinstance(region, Box | Circle | Polygon):
        raise BadQuery("not a region", value=region, allowed="Box, Circle or Polygon")
    if region.planar == space.is_geographic or isinstance(region, Box):
        _rebuild(region, planar=not space.is_geographic)


def _rebuild(region: Region, *, planar: bool) -> Region:
    """The same region under the checks of the other kind of space."""
    if isinstance(region, Box):
        return Box(region.west, region.south, region.east, region.north, planar=planar)
    if isinstance(region, Circle):
        return Circle(region.lon, region.lat, region.radius_m, planar=planar)
    return Polygon(region.ring, region.holes, planar=planar)


def _tagged(form: dict[str, object], planar: bool) -> dict[str, object]:
    return {**form, "planar": True} if planar else form


def _coordinate(value: object, latitude: bool, planar: bool, what: str) -> float:
    if planar:
        return within(value, -PLANAR_LIMIT, PLANAR_LIMIT, what)
    limit = 90.0 if latitude else 180.0
    order = "west, south, east, north" if "box" in what else "longitude, latitude"
    return within(value, -limit, limit, what, hint=f"the order is {order}")


def _listed(values: object, what: str, allowed: str) -> list[object]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadQuery(f"{what} is not a list", value=values, allowed=allowed)
    return list(values)


def _ring(points: object, planar: bool, what: str) -> Ring:
    ring: list[Point] = []
    for point in _listed(points, what, "[(lon, lat), ...]"):
        lon, lat = pair(point, f"{what} has something that is not a point", "(lon, lat)")
        ring.append(
            (
                _coordinate(lon, False, planar, f"longitude in the {what}"),
                _coordinate(lat, True, planar, f"latitude in the {what}"),
            )
        )
    if ring and ring[0] != ring[-1]:
        ring.append(ring[0])
    if len(ring) < 4:
        raise BadQuery(f"{what} has too few points", value=ring, allowed="three different points or more")
    if not planar:
        for (lon1, _), (lon2, _) in pairwise(ring):
            if abs(lon2 - lon1) > 180.0:
                raise BadQuery(
                    f"{what} has an edge longer than 180 degrees of longitude",
                    value=(lon1, lon2),
                    allowed="edges of at most 180 degrees",
                    hint="split the polygon at the antimeridian into two queries",
                )
    return tuple(ring)
