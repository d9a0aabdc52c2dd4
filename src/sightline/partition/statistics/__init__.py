"""Who asks what where: SSTD's query distribution statistics (section 4.1.1), kept current by decayed counts.

:class:`Statistics` is the quadtree J of the paper. It says with what probability a query of each of the six types
overlaps a cell, how many objects a second arrive there, which keywords SRQs and SKQs ask for, how many of them, and
how long queries run. Partitioners are fitted to it, and the balance policies ask it where a split pays.

J is a complete pyramid of cells (:class:`Pyramid`), not an adaptive tree: 21,845 cells of 8 levels take a megabyte,
their numbers are arithmetic, the nodes of a QT-tree *are* cells of it, and counts of different times add up cell by
cell, which trees of different shapes do not.

:class:`SearchCounts` gathers what is asked ad hoc, to be written to a file and added later. What stands is not kept in
decayed counts: the subscriptions that stand are known exactly whenever a partitioning is fitted.
"""

from sightline.partition.statistics.distribution import TYPES, Statistics, StatisticsParams
from sightline.partition.statistics.keywords import KeywordMasses
from sightline.partition.statistics.pyramid import Pyramid
from sightline.partition.statistics.searches import SearchCounts

__all__ = ["TYPES", "KeywordMasses", "Pyramid", "SearchCounts", "Statistics", "StatisticsParams"]
