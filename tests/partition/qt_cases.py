"""Objects, queries and histories of the tests of the QT-tree."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import sightline as sl
from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import QueryBlock
from sightline.model.config import StoreConfig
from sightline.partition.history import History
from sightline.text.dictionary import TermDictionary
from sightline.text.tokeniser import tokenise

SECOND = 1_000_000
PLANE = StoreConfig(seed=1, space=sl.Space.planar((0, 0, 8, 8)))
CITY = [  # south-west, then the other quadrants
    (1, 1, "flood"), (1, 1.5, "boat"), (3, 3, "flood"), (3, 2.5, "boat"),
    (6, 1, "flood"), (7, 1, "calm"), (1, 6, "boat"), (1, 7, "calm"),
    (6, 6, "flood"), (7, 6, "boat"), (6, 7, "calm"), (7, 7, "calm"),
]  # fmt: skip


def objects_of(rows, config=PLANE):
    lon, lat = np.array([row[0] for row in rows], np.float64), np.array([row[1] for row in rows], np.float64)
    terms = tokenise(pa.array([row[2] for row in rows], pa.string()), config.text, config.seed, config.hash_bits)
    return ObjectColumns(lon, lat, np.zeros(len(rows), np.int64), terms)


def block_of(queries, config=PLANE, starts=0, ends=2 * SECOND):
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), starts, ends, config)


def history_of(rows, asked=(), standing=(), config=PLANE, span=2 * SECOND):
    return History(objects_of(rows, config), block_of(standing, config), block_of(asked, config), span)


def box(west, south, east, north):
    return sl.Box(west, south, east, north)


def within(words, *sides):
    return sl.RangeQuery(words, box(*sides))


def top(*sides):
    return sl.TopTermsQuery(box(*sides), 3, window="2s", every="1s")


def near(words):
    """More than there are: it reaches everything."""
    return sl.NearestQuery(words, (4, 4), 1_000_000)


def hash_of(word):
    return int(TermDictionary.from_strings([word], PLANE.seed).hashes[0])
