"""The space a store lives in: the globe, or a plane with its own unit (the papers' setting)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sightline.model.errors import BadConfig
from sightline.model.scalars import mapping, within

GEOGRAPHIC_BOUNDS = (-180.0, -90.0, 180.0, 90.0)

#: Planar coordinates stay below this so that any distance in thousandths of the unit is exact in a float64.
PLANAR_LIMIT = 1e11


@dataclass(frozen=True, slots=True)
class Space:
    """Kind of space and its bounds ``(min x, min y, max x, max y)``; fixed when a store is created.

    Use :meth:`geographic` or :meth:`planar`. In a planar space ``lon`` and ``lat`` are x and y, and
    ``radius_m`` and ``distance_m`` are in the unit of the coordinates.
    """

    kind: str = "geographic"
    bounds: tuple[float, float, float, float] = GEOGRAPHIC_BOUNDS

    def __post_init__(self) -> None:
        if self.kind not in ("geographic", "planar"):
            raise BadConfig("unknown kind of space", value=self.kind, allowed="'geographic' or 'planar'")
        names = ("min x", "min y", "max x", "max y")
        low_x, low_y, high_x, high_y = (
            within(value, -PLANAR_LIMIT, PLANAR_LIMIT, f"{name} of the space", BadConfig)
            for name, value in zip(names, _four(self.bounds), strict=True)
        )
        if not (low_x < high_x and low_y < high_y):
            raise BadConfig("bounds of a space are empty", value=self.bounds, allowed="min x < max x and min y < max y")
        bounds = (low_x, low_y, high_x, high_y)
        if self.kind == "geographic" and bounds != GEOGRAPHIC_BOUNDS:
            raise BadConfig("a geographic space has fixed bounds", value=bounds, allowed=str(GEOGRAPHIC_BOUNDS))
        object.__setattr__(self, "bounds", bounds)

    @classmethod
    def geographic(cls) -> Space:
        """WGS 84 degrees, great-circle distance in metres."""
        return cls()

    @classmethod
    def planar(cls, bounds: Sequence[float]) -> Space:
        """Plane with Euclidean distance in the unit of its coordinates."""
        west, south, east, north = _four(bounds)
        return cls("planar", (west, south, east, north))

    @property
    def is_geographic(self) -> bool:
        """Whether distances are great-circle metres."""
        return self.kind == "geographic"

    def to_dict(self) -> dict[str, object]:
        """JSON form."""
        return {"kind": self.kind, "bounds": list(self.bounds)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Space:
        """Inverse of :meth:`to_dict`."""
        form = mapping(data, "a space", BadConfig)
        if set(form) != {"kind", "bounds"}:
            raise BadConfig("not a space", value=dict(form), allowed="{'kind': ..., 'bounds': [...]}")
        west, south, east, north = _four(form["bounds"])
        return cls(str(form["kind"]), (west, south, east, north))


def _four(bounds: object) -> tuple[float, ...]:
    if isinstance(bounds, str | bytes) or not isinstance(bounds, Iterable) or len(four := tuple(bounds)) != 4:
        raise BadConfig("bounds of a space are not four numbers", value=bounds, allowed="(min x, min y, max x, max y)")
    return four


def coordinate(value: object, what: str) -> float:
    """``value`` as a coordinate of some space; whether it lies in the one of a store is checked with the store."""
    return within(value, -PLANAR_LIMIT, PLANAR_LIMIT, what)
