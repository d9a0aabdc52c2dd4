"""Regions a query may ask for: boxes, circles and polygons.

All are closed. A constructor checks what can be checked without a store: finite numbers, south not above north, a
radius that is not negative, valid rings. Whether the numbers are degrees the :class:`~sightline.model.space.Space` of
the store says, so :func:`check_region` checks the rest where the store is known. ``planar=True`` or ``False`` says it
beforehand, and has the region checked at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from sightline.model.errors import BadQuery
from sightline.model.scalars import mapping, pair, within
from sightline.model.space import Space, coordinate

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
    planar: bool | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("west", "south", "east", "north"):
            object.__setattr__(self, name, coordinate(getattr(self, name), f"{name} of the box"))
        if self.south > self.north:
            raise BadQuery(
                "south of the box is above its north",
                value=(self.south, self.north),
                allowed="south <= north",
                hint="the order is west, south, east, north",
            )
        _check_declared(self)

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
    planar: bool | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lon", coordinate(self.lon, "longitude of the circle"))
        object.__setattr__(self, "lat", coordinate(self.lat, "latitude of the circle"))
        radius = within(self.radius_m, 0.0, MAX_RADIUS_M, "radius_m of the circle")
        object.__setattr__(self, "radius_m", round(radius * 1000.0) / 1000.0)
        _check_declared(self)

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

    Rings may be given open or closed and are kept closed. On the globe an edge longer than 180 degrees of longitude
    is refused: split such a shape at the antimeridian.
    """

    ring: Ring
    holes: tuple[Ring, ...]
    planar: bool | None = field(default=None, compare=False, repr=False)

    def __init__(
        self,
        ring: Iterable[Sequence[float]],
        holes: Iterable[Iterable[Sequence[float]]] = (),
        *,
        planar: bool | None = None,
    ) -> None:
        object.__setattr__(self, "planar", planar)
        object.__setattr__(self, "ring", _ring(ring, "ring of the polygon"))
        inner = _listed(holes, "holes of the polygon", "a list of rings")
        object.__setattr__(self, "holes", tuple(_ring(hole, "hole of the polygon") for hole in inner))
        _check_declared(self)
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
    planar = form.get("planar")
    kind, body = next(((key, form[key]) for key in form if key != "planar"), ("", None))
    if not (planar is None or isinstance(planar, bool)) or len(form.keys() - {"planar"}) != 1:
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
    _check(region, planar=not space.is_geographic)


def check_degrees(lon: float, lat: float, what: str) -> None:
    """Refuse a point that is not on the globe; ``what`` follows the name of its coordinate."""
    order = "the order is longitude, latitude"
    within(lon, -180.0, 180.0, f"longitude {what}", hint=order)
    within(lat, -90.0, 90.0, f"latitude {what}", hint=order)


def _check_declared(region: Region) -> None:
    if region.planar is not None:
        _check(region, region.planar)


def _check(region: Region, planar: bool) -> None:
    if isinstance(region, Box):
        _check_box(region, planar)
    elif planar:
        return
    elif isinstance(region, Circle):
        check_degrees(region.lon, region.lat, "of the circle")
    else:
        for what, rings in (("ring", (region.ring,)), ("hole", region.holes)):
            for ring in rings:
                _check_ring(ring, f"{what} of the polygon")


def _check_box(box: Box, planar: bool) -> None:
    if not planar:
        for name, limit in (("west", 180.0), ("south", 90.0), ("east", 180.0), ("north", 90.0)):
            what = f"{name} of the box ({'longitude' if limit == 180.0 else 'latitude'})"
            within(getattr(box, name), -limit, limit, what, hint="the order is west, south, east, north")
    elif box.west > box.east:
        raise BadQuery(
            "west of a planar box is beyond its east",
            value=(box.west, box.east),
            allowed="west <= east",
            hint="only geographic boxes cross the antimeridian",
        )


def _check_ring(ring: Ring, what: str) -> None:
    for lon, lat in ring:
        check_degrees(lon, lat, f"in the {what}")
    for (lon1, _), (lon2, _) in pairwise(ring):
        if abs(lon2 - lon1) > 180.0:
            raise BadQuery(
                f"{what} has an edge longer than 180 degrees of longitude",
                value=(lon1, lon2),
                allowed="edges of at most 180 degrees",
                hint="split the polygon at the antimeridian into two queries",
            )


def _tagged(form: dict[str, object], planar: bool | None) -> dict[str, object]:
    return {**form, "planar": True} if planar else form


def _listed(values: object, what: str, allowed: str) -> list[object]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadQuery(f"{what} is not a list", value=values, allowed=allowed)
    return list(values)


def _ring(points: object, what: str) -> Ring:
    ring: list[Point] = []
    for point in _listed(points, what, "[(lon, lat), ...]"):
        lon, lat = pair(point, f"{what} has something that is not a point", "(lon, lat)")
        ring.append((coordinate(lon, f"longitude in the {what}"), coordinate(lat, f"latitude in the {what}")))
    if ring and ring[0] != ring[-1]:
        ring.append(ring[0])
    if len(ring) < 4:
        raise BadQuery(f"{what} has too few points", value=ring, allowed="three different points or more")
    return tuple(ring)
