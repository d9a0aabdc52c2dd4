"""Frequency-based text partitioning (PS2Stream section VI-B, baseline 1): terms dealt by how often they occur.

The paper names the idea only. Our reading: the load of a term follows from its frequency in objects and in queries;
terms go to workers heaviest first, each to the least loaded (LPT). Which terms occur together is not looked at, so
an object goes to about as many workers as under hashing, but the workers are even.
"""

from __future__ import annotations

from sightline.flat.arrays import I32
from sightline.partition.allocate import longest_first
from sightline.partition.history import History
from sightline.partition.terms.routing import TermRouting
from sightline.partition.terms.vocabulary import Vocabulary

__all__ = ["FrequencyRouting"]


class FrequencyRouting(TermRouting):
    """Terms dealt by load; makespan at most 4/3 - 1/(3m) of the best (:func:`longest_first`)."""

    @classmethod
    def deal(cls, vocabulary: Vocabulary, history: History, workers: int) -> I32:
        return longest_first(vocabulary.load(), workers)
