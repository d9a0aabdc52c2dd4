"""Metric-based text partitioning (PS2Stream section VI-B, baseline 3, after Basik et al., VLDB Journal 24(6), 2015).

PS2Stream says that a metric function does the partitioning, and cites a system that routes short texts to few
matchers by which words occur together. Our reading: a term is the vector of the objects (and queries) it occurs in;
the distance of two terms is one less the cosine of their vectors. Seeds are chosen farthest first, weighted by load;
terms join the closest centre (sum of the unit vectors of its terms) with room, heaviest first; a few rounds are
repeated with the centres of the round before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.flat.arrays import F64, I32, frozen
from sightline.partition.history import History
from sightline.partition.terms.groups._kernels import Nets, deal_by_distance, far_seeds
from sightline.partition.terms.groups.balance import heaviest_first, limits_of
from sightline.partition.terms.groups.nets import nets_of
from sightline.partition.terms.routing import TermRouting
from sightline.partition.terms.vocabulary import Vocabulary

__all__ = ["MetricParams", "MetricRouting", "metric_groups"]


@dataclass(frozen=True, slots=True)
class MetricParams:
    """All ours."""

    epsilon: float = 0.1  # loads within 10 % of the fair share, as far as single terms allow
    rounds: int = 4  # at most, after the one that grows the centres
    nets: int = 50_000  # sampled objects, and as many queries: dimensions of the vectors


DEFAULTS = MetricParams()


def metric_groups(load: F64, nets: Nets, workers: int, params: MetricParams = DEFAULTS) -> I32:
    """A worker for every term."""
    load = frozen(load, np.float64)
    order, limits = frozen(heaviest_first(load), np.int64), limits_of(load, workers, params.epsilon)
    seeds = frozen(far_seeds(load, nets, workers), np.int64)
    worker, _ = deal_by_distance(order, load, nets, seeds, workers, limits, params.rounds)
    return worker


class MetricRouting(TermRouting):
    """Terms around seeds."""

    @classmethod
    def deal(cls, vocabulary: Vocabulary, history: History, workers: int) -> I32:
        nets = nets_of(history, vocabulary, workers, DEFAULTS.nets)
        return metric_groups(vocabulary.load(), nets, workers)
