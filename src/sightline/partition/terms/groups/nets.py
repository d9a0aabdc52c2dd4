"""The hyperedges of a history over the terms of a vocabulary."""

from __future__ import annotations

import numpy as np

from sightline.flat.arrays import I64, offsets_of, sorted_distinct
from sightline.flat.records import frozen_fields
from sightline.index.standing.keywords import spread_rows
from sightline.partition.history import History
from sightline.partition.terms.groups._kernels import Nets
from sightline.partition.terms.vocabulary import Vocabulary

__all__ = ["nets_between", "nets_of"]

#: Cells of a table nets x workers.
MOST_CELLS = 2**22


def nets_of(history: History, vocabulary: Vocabulary, workers: int, most: int) -> Nets:
    """One net per object (its terms: it goes to the workers of all) and per query (its keys: it stands with all).

    At most ``most`` of either, taken at even steps, fewer where a table of nets and workers would be large. Nets of
    less than two terms ask for nothing and are left out.
    """
    most = max(1, min(most, MOST_CELLS // workers))
    posts = history.objects.terms
    rows = _even_steps(len(posts), most)
    offsets, places = spread_rows(posts.offsets, rows)
    term = vocabulary.numbers(posts.dictionary.hashes)[posts.ids[places]].astype(np.int64)
    net = np.repeat(np.arange(len(rows)), np.diff(offsets))[term >= 0]
    of_objects = nets_between(net, term[term >= 0], len(vocabulary))
    of_queries = nets_between(*vocabulary.keys(history.standing), len(vocabulary))
    asked = _even_steps(len(of_queries.offsets) - 1, most)
    key_offsets, places = spread_rows(of_queries.offsets, asked)
    net = np.repeat(np.arange(len(asked)), np.diff(key_offsets)) + len(of_objects.offsets) - 1
    object_net = np.repeat(np.arange(len(of_objects.offsets) - 1), np.diff(of_objects.offsets))
    terms = np.concatenate((of_objects.terms, of_queries.terms[places])).astype(np.int64)
    return nets_between(np.concatenate((object_net, net)), terms, len(vocabulary))


def nets_between(net: I64, term: I64, terms: int) -> Nets:
    """Nets from pairs in any order, repeats allowed; those that have two terms or more, in their order."""
    width = max(1, terms)
    net, term = np.divmod(sorted_distinct(net * width + term), width)
    sizes = np.bincount(net)
    wide = sizes >= 2
    kept = wide[net]
    net, term = (np.cumsum(wide) - 1)[net[kept]], term[kept]
    by_term = np.argsort(term, kind="stable")
    lists = offsets_of(net, int(wide.sum())), term, offsets_of(term[by_term], terms), net[by_term]
    return frozen_fields(Nets, lists)


def _even_steps(n: int, most: int) -> I64:
    """At most ``most`` of 0..n-1."""
    taken = min(n, most)
    return np.arange(taken, dtype=np.int64) * n // max(1, taken)
