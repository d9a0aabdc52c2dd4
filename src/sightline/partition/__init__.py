"""Who gets what: the division of objects and standing queries among workers.

A *partitioner* cuts space (and text) into **leaves**; a map from leaves to **workers** says who serves each.
Both together are a frozen :class:`~sightline.partition.protocol.Routing`, written to a file once and mapped by every
router; a change is the next epoch, never an edit.

Two questions are answered for an object: which workers *match* it against the standing queries they hold, and which
one worker *owns* it, that is stores it and counts its terms. The owner is a function of the object alone. For a query
one question: on which workers must it stand so that it meets every object it can match.

``broadcast`` is the trivial reference: every object goes everywhere, every query stands once.
"""

from sightline.flat.records import FlatRecord
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.leaf_routes import Unlearning, at_leaves, leaf_rows, with_nearest_everywhere
from sightline.partition.protocol import ObjectRoutes, QueryLeaves, QueryRoutes, Routing
from sightline.partition.registry import PARTITIONERS, routing_class, routing_from_arrays

__all__ = [
    "PARTITIONERS",
    "routing_class",
    "routing_from_arrays",
    # the protocol, and what a partitioner whose leaves are places can lean on
    "FlatRecord",
    "History",
    "ObjectRoutes",
    "QueryLeaves",
    "QueryRoutes",
    "Routing",
    "Unlearning",
    "at_leaves",
    "leaf_rows",
    "longest_first",
    "with_nearest_everywhere",
]
