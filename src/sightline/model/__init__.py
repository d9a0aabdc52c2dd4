"""The words of the system: what users write, checked once, and what everything else is defined in.

Nothing here touches files, Spark or compiled code. All classes are frozen; a value that exists is valid, and
equal values mean the same. Whatever the user can get wrong raises a :class:`SightlineError` that says what
was wrong, the value, what is allowed, and a hint.

* :mod:`~sightline.model.queries`: range, nearest and top-terms queries and their JSON.
* :mod:`~sightline.model.regions`: boxes, circles, polygons. :mod:`~sightline.model.space`: the globe or a
  plane.
* :mod:`~sightline.model.expression`: keyword expressions and their disjunctive form.
* :mod:`~sightline.model.terms`: the definition of a term, in plain Python.
* :mod:`~sightline.model.durations`, :mod:`~sightline.model.time`: ``"72h"`` and instants as whole
  microseconds.
* :mod:`~sightline.model.subscription`: a standing query with its lifetime.
* :mod:`~sightline.model.config`: what a store is made with.

Inside the engine all times are int64 microseconds since 1970 (UTC), all distances int64 millimetres, all
coordinates float64 degrees, or the unit of a planar space.
"""

from sightline.model.config import StoreConfig
from sightline.model.durations import duration_us, format_duration
from sightline.model.errors import BadConfig, BadExpression, BadQuery, SightlineError
from sightline.model.expression import Expression, all_of, any_of
from sightline.model.queries import NearestQuery, Query, RangeQuery, TopTermsQuery, query_from_dict
from sightline.model.regions import Box, Circle, Polygon, Region, region_from_dict
from sightline.model.space import Space
from sightline.model.subscription import Subscription
from sightline.model.text_config import TextConfig
from sightline.model.time import MAX_US, MIN_US, from_us, instant_us

__all__ = [
    "BadConfig",
    "BadExpression",
    "BadQuery",
    "Box",
    "Circle",
    "Expression",
    "MAX_US",
    "MIN_US",
    "NearestQuery",
    "Polygon",
    "Query",
    "RangeQuery",
    "Region",
    "SightlineError",
    "Space",
    "StoreConfig",
    "Subscription",
    "TextConfig",
    "TopTermsQuery",
    "all_of",
    "any_of",
    "duration_us",
    "format_duration",
    "from_us",
    "instant_us",
    "query_from_dict",
    "region_from_dict",
]
