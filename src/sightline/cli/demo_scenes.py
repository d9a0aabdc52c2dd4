"""What the demo asks: a subscription of every kind, and a few searches."""

from __future__ import annotations

from dataclasses import dataclass

import sightline as sl
from sightline.model.queries import Query


@dataclass(frozen=True)
class Scene:
    """A query of the demo and how it is introduced."""

    id: str
    title: str
    query: Query


def subscriptions() -> list[Scene]:
    """One standing query of each kind."""
    return [
        Scene(
            "us-floods",
            "flood AND (rescue OR boat OR water) in the United States",
            sl.RangeQuery("flood AND (rescue OR boat OR water)", sl.Box(-125.0, 24.0, -66.0, 49.5)),
        ),
        Scene(
            "tokyo-noodles",
            "the 5 posts about noodles nearest to Shinjuku",
            sl.NearestQuery(sl.any_of(["ramen", "noodle", "ラーメン"]), at=(139.70, 35.69), k=5),
        ),
        Scene(
            "london-trends",
            "top terms around London, each minute of the posts' time, over the last ten",
            sl.TopTermsQuery(sl.Circle(-0.12, 51.5, 30_000), k=10, window="10min", every="1min"),
        ),
    ]


def searches() -> list[Scene]:
    """Ad-hoc queries over what the demo has committed."""
    return [
        Scene(
            "range",
            "newest posts about trains or traffic, but no crash, around New York",
            sl.RangeQuery("(train OR traffic) AND NOT crash", sl.Box(-74.3, 40.4, -73.6, 41.0), limit=5),
        ),
        Scene(
            "nearest",
            "posts about coffee nearest to the Louvre",
            sl.NearestQuery("coffee OR café", at=(2.338, 48.861), k=5),
        ),
        Scene(
            "top-terms",
            "top terms within 50 km of São Paulo",
            sl.TopTermsQuery(sl.Circle(-46.63, -23.55, 50_000), k=8),
        ),
    ]
