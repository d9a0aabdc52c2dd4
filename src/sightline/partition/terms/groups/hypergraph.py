"""Hypergraph-based text partitioning (PS2Stream section VI-B, baseline 2, after Cambazoglu et al., TWEB 7(3), 2013).

The cited model has terms as vertices, weighted by load, and the queries of a search engine as nets, and asks for
parts of even load that cut few nets. In a stream the objects are what is spread: an object goes to as many workers
as its terms lie on. So (our reading) the nets are objects, and the keys of queries with OR; what is minimised is the
sum over nets of the workers they touch, less one each.

The papers leave the partitioning to a general tool. Ours: one greedy pass, heaviest term first, each to the worker
that already has a part of most of its nets, discounted by how full it is (linear deterministic greedy of streaming
graph partitioning); then sweeps that move single terms while that lowers the cut. O(workers * pins) a sweep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.flat.arrays import F64, I32, frozen
from sightline.partition.history import History
from sightline.partition.terms.groups._kernels import Nets, deal_by_nets, refine_by_nets
from sightline.partition.terms.groups.balance import heaviest_first, limits_of
from sightline.partition.terms.groups.nets import nets_of
from sightline.partition.terms.routing import TermRouting
from sightline.partition.terms.vocabulary import Vocabulary

__all__ = ["HypergraphParams", "HypergraphRouting", "hypergraph_groups"]


@dataclass(frozen=True, slots=True)
class HypergraphParams:
    """All ours."""

    epsilon: float = 0.1  # loads within 10 % of the fair share, as far as single terms allow
    sweeps: int = 8  # at most
    nets: int = 50_000  # sampled objects, and as many queries


DEFAULTS = HypergraphParams()


def hypergraph_groups(load: F64, nets: Nets, workers: int, params: HypergraphParams = DEFAULTS) -> I32:
    """A worker for every term."""
    load = frozen(load, np.float64)
    order, limits = frozen(heaviest_first(load), np.int64), limits_of(load, workers, params.epsilon)
    worker = deal_by_nets(order, load, nets, workers, limits)
    refine_by_nets(order, load, nets, worker, workers, limits, params.sweeps)
    return worker


class HypergraphRouting(TermRouting):
    """Terms that occur together on one worker."""

    @classmethod
    def deal(cls, vocabulary: Vocabulary, history: History, workers: int) -> I32:
        nets = nets_of(history, vocabulary, workers, DEFAULTS.nets)
        return hypergraph_groups(vocabulary.load(), nets, workers)
