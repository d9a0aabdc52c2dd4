"""Sightline watches and searches streams of geo-tagged, time-stamped text, on Spark, from Python.

import sightline as sl

with sl.open("store/") as engine:
    engine.load("posts.parquet")
    engine.search(sl.RangeQuery("flood AND rescue", sl.Box(-95.8, 29.5, -95.0, 30.1), last="72h"))
"""

from typing import TYPE_CHECKING

from sightline.model.errors import (
    BadConfig,
    BadExpression,
    BadQuery,
    BadSource,
    CorruptFile,
    DuplicateSubscription,
    EngineClosed,
    IncompatibleStore,
    NotAStore,
    RunFailed,
    SightlineError,
    StoreBusy,
    StoreFull,
    StoreNotShared,
    UnknownPlugin,
    UnknownSubscription,
)
from sightline.model.expression import all_of, any_of
from sightline.model.queries import NearestQuery, RangeQuery, TopTermsQuery
from sightline.model.regions import Box, Circle, Polygon
from sightline.model.result import Result
from sightline.model.space import Space
from sightline.model.subscription import Subscription
from sightline.model.text_config import TextConfig

if TYPE_CHECKING:
    from sightline.engine import Engine, open

__version__ = "0.1.0"

__all__ = [
    "BadConfig",
    "BadExpression",
    "BadQuery",
    "BadSource",
    "Box",
    "Circle",
    "CorruptFile",
    "DuplicateSubscription",
    "Engine",
    "EngineClosed",
    "IncompatibleStore",
    "NearestQuery",
    "NotAStore",
    "Polygon",
    "RangeQuery",
    "Result",
    "RunFailed",
    "SightlineError",
    "Space",
    "StoreBusy",
    "StoreFull",
    "StoreNotShared",
    "Subscription",
    "TextConfig",
    "TopTermsQuery",
    "UnknownPlugin",
    "UnknownSubscription",
    "all_of",
    "any_of",
    "open",
]


def __getattr__(name: str) -> object:
    """The engine, on first use: worker processes import this package and never need it."""
    if name in ("Engine", "open"):
        from sightline import engine

        return getattr(engine, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
