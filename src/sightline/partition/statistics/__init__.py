"""Who asks what where: SSTD's query distribution statistics (section 4.1.1), kept current by decayed counts.

:mod:`~sightline.partition.statistics.distribution` is the quadtree J of the paper. It says with what probability a
query of each of the six types overlaps a cell, how many objects a second arrive there, which keywords SRQs and SKQs ask
for, how many of them, and how long queries run. Partitioners are fitted to it.

J is a complete pyramid of cells (:mod:`~sightline.partition.statistics.pyramid`), not an adaptive tree: 21,845 cells of
8 levels take a megabyte, their numbers are arithmetic, the nodes of a QT-tree *are* cells of it, and counts of
different times add up cell by cell, which trees of different shapes do not.

:mod:`~sightline.partition.statistics.searches` gathers what is asked ad hoc, to be written to a file and added later.
What stands is not kept in decayed counts: the subscriptions that stand are known exactly whenever a partitioning is
fitted.

Nothing is imported here: the route stage of a Spark worker needs the pyramid alone, and begins a tenth of a second
sooner without the rest.
"""
