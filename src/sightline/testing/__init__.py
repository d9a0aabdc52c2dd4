"""The definition of every answer, as slow and plain Python.

``Oracle`` answers the snapshot queries and ``StandingOracle`` follows subscriptions commit by commit, both by
looking at every object. They read queries in their JSON form (``query.to_dict()``) and import nothing of the
engine, so agreement between the two means something. Use them to test a partitioner, an index or a store:

>>> oracle = StandingOracle()
>>> oracle.subscribe("wet", {"kind": "range", "keywords": "flood", "region": {"box": [0, 0, 1, 1]}})
>>> batch = oracle.feed([{"id": "a", "lon": 0.5, "lat": 0.5, "ts_us": 7, "text": "Flood!"}])
>>> [match.row["id"] for match in batch.matches]
['a']
"""

from sightline.testing.oracle import Oracle, Row, is_bad
from sightline.testing.oracle_geometry import distance_mm, inside
from sightline.testing.oracle_terms import matches, terms
from sightline.testing.standing_oracle import Batch, Late, Match, NearestEvent, Report, StandingOracle

__all__ = [
    "Batch",
    "Late",
    "Match",
    "NearestEvent",
    "Oracle",
    "Report",
    "Row",
    "StandingOracle",
    "distance_mm",
    "inside",
    "is_bad",
    "matches",
    "terms",
]
