"""Small planes with objects and subscriptions, and plain loops that count in them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

import sightline as sl
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.model.space import Space
from sightline.partition.history import History
from sightline.partition.sample import ObjectSample
from sightline.partition.subsets.subscriptions import Subscriptions
from sightline.text.tokeniser import tokenise

PLANE = StoreConfig(seed=1, space=Space.planar((0, 0, 8, 8)))
GLOBE = StoreConfig(seed=1)


def objects_of(rows, config=PLANE):
    """Objects (x, y, words)."""
    terms = tokenise(pa.array([words for *_, words in rows], pa.string()), config.text, config.seed, config.hash_bits)
    x, y = (np.array([row[i] for row in rows], np.float64) for i in (0, 1))
    return ObjectColumns(x, y, np.zeros(len(rows), np.int64), terms)


def block_of(queries, config=PLANE, first=0, start=0, end=1):
    nums = np.arange(first, first + len(queries))
    return QueryBlock.from_queries(queries, [str(num) for num in nums], nums, start, end, config)


def history_of(rows, queries, config=PLANE, first=0):
    return History(objects_of(rows, config), block_of(queries, config, first), block_of([], config), 1_000_000)


def subscriptions_of(rows, queries, config=PLANE):
    sample = ObjectSample.of(objects_of(rows, config), config.space.is_geographic)
    return Subscriptions.of(block_of(queries, config), sample, config.space)


def near(words, x, y, k=1):
    return sl.NearestQuery(words, (x, y), k, planar=True)


def box(words, west, south, east, north):
    return sl.RangeQuery(words, sl.Box(west, south, east, north, planar=True))


def homes(routing, block):
    """Worker of each row; a row that stands twice would show."""
    routes = routing.route_queries(block)
    assert sorted(routes.query.tolist()) == list(range(len(block)))
    return dict(zip(routes.query.tolist(), routes.worker.tolist(), strict=True))


def settled_homes(routing, block, dropped=()):
    """Worker of each row once the block is registered."""
    return homes(routing.settled(block, np.array(dropped, np.int64)), block)


def matches(query, words, config=PLANE):
    """Whether an object with these words satisfies the keywords."""
    own = set(words.split())
    dnf = query.keywords.dnf(config.text)
    return any(set(c.positive) <= own and not set(c.negative) & own for c in dnf.conjuncts)


def kth_mm(query, rows, config=PLANE):
    """Distance of the k-th nearest match, by looking at every object."""
    found = sorted(_distance(query.at, row[:2], config) for row in rows if matches(query, row[2], config))
    return found[query.k - 1] * 1000 if len(found) >= query.k else math.inf


def _distance(a, b, config):
    if not config.space.is_geographic:
        return math.dist(a, b)
    (x1, y1), (x2, y2) = (tuple(map(math.radians, p)) for p in (a, b))
    h = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * 6371008.8 * math.asin(min(1, math.sqrt(h)))


def held(rows, rectangle, word=None):
    """Objects in a closed rectangle, with a word if one is given."""
    west, south, east, north = rectangle
    return sum(
        west <= x <= east and south <= y <= north and (word is None or word in words.split()) for x, y, words in rows
    )
