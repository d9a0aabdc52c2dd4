"""Loads of a benchmark: which mix of keywords, which size of regions, and what to call them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from sightline.bench.workload import (
    AREAS,
    DROP_TOP,
    MIXES,
    Area,
    Bounds,
    Mix,
    bounds_of,
    posts,
    stored_posts,
    taken,
)
from sightline.index.protocol import ObjectColumns
from sightline.model.errors import BadConfig
from sightline.model.space import GEOGRAPHIC_BOUNDS

__all__ = ["Load", "Posts", "areas_of", "loads_of", "name_of_area", "two_sets"]

SOURCE_ROWS = 1_000_000  # posts that queries are made from, at most


class Load(NamedTuple):
    """One mix and one size of regions."""

    mix: Mix
    area: Area

    @property
    def name(self) -> str:
        """As in results: ``Z 0.01%``, ``N mixed``."""
        return f"{self.mix} {name_of_area(self.area)}"


class Posts(NamedTuple):
    """Posts to work on, posts that queries are made from, and the box that areas are fractions of."""

    objects: ObjectColumns
    source: ObjectColumns
    bounds: Bounds


def name_of_area(area: Area) -> str:
    """A fraction of the space in per cent."""
    return area if isinstance(area, str) else f"{area * 100:.6f}".rstrip("0").rstrip(".") + "%"


def loads_of(mix: str, area: str | float) -> list[Load]:
    """The loads that two options name; ``both`` is everything the benchmark knows."""
    mixes = [known for known in MIXES if mix in (known, "both")]
    if not mixes:
        raise BadConfig("unknown mix", value=mix, allowed=f"{', '.join(MIXES)} or both")
    return [Load(one, size) for one in mixes for size in areas_of(area)]


def areas_of(area: str | float) -> list[Area]:
    """Sizes of regions that an option names."""
    if area == "both":
        return list(AREAS)
    if area == "mixed":
        return ["mixed"]
    try:
        size = float(area)
    except ValueError:
        size = 0.0
    if not 0 < size <= 1:
        raise BadConfig("not a size of regions", value=area, allowed="a fraction of the space, mixed or both")
    return [size]


def two_sets(objects: int, queries: int, seed: int, dataset: Path | str | None) -> Posts:
    """Synthetic posts, or those of a file: every second row to work on, the others to make queries from."""
    if dataset is None:
        return Posts(
            posts(objects, seed + 2), posts(min(SOURCE_ROWS, max(queries, 10 * DROP_TOP)), seed + 1), GEOGRAPHIC_BOUNDS
        )
    stored = stored_posts(dataset)
    odd = np.arange(1, len(stored), 2)
    if odd.size == 0:
        raise BadConfig("too few posts in the file", value=len(stored), allowed="two or more")
    even = np.arange(0, len(stored), 2)[:: max(1, len(stored) // (2 * objects))][:objects]
    return Posts(taken(stored, even), taken(stored, odd), bounds_of(stored))
