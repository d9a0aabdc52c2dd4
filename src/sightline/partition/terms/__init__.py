"""Text partitionings: every term has a worker (PS2Stream's text baselines, Tornado's Text-Rout).

A conjunct of a standing query stands with the worker of its rarest term; an object goes to the workers of all its
terms, so that it meets every conjunct whose terms it has. Space plays no part but for the owner of an object, which
is drawn from its place. The four differ in which terms they put together:

* ``text-rout`` hashes them;
* ``frequency`` deals them by load, heaviest first;
* ``hypergraph`` keeps together what occurs together, so that objects go to few workers;
* ``metric`` groups them around far seeds by a distance.
"""

from sightline.partition.terms.frequency import FrequencyRouting
from sightline.partition.terms.groups.hypergraph import HypergraphRouting
from sightline.partition.terms.groups.metric import MetricRouting
from sightline.partition.terms.text_rout import TextRoutRouting

__all__ = ["FrequencyRouting", "HypergraphRouting", "MetricRouting", "TextRoutRouting"]
