"""Groups of top-terms queries that count what they have in common once (SSTD section 6.1, Fig. 6)."""

from sightline.index.standing.groups.build import SubscriptionGroups, TablePairs
from sightline.index.standing.groups.count import Ages, Counted, count_objects

__all__ = ["Ages", "Counted", "SubscriptionGroups", "TablePairs", "count_objects"]
