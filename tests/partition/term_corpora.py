"""Small histories for partitioners that look at terms."""

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

CONFIG = StoreConfig(seed=1)
WORLD = sl.Box(-180, -90, 180, 90)


def posts(texts, config=CONFIG):
    """Objects in a row along the equator."""
    n = len(texts)
    terms = tokenise(pa.array(texts, pa.string()), config.text, config.seed, config.hash_bits)
    return ObjectColumns(np.linspace(-170, 170, n), np.zeros(n), np.zeros(n, np.int64), terms)


def block_of(queries, config=CONFIG):
    """Queries, or expressions that ask for the whole world."""
    queries = [sl.RangeQuery(q, WORLD) if isinstance(q, str) else q for q in queries]
    n = len(queries)
    return QueryBlock.from_queries(queries, [str(i) for i in range(n)], np.arange(n), 0, 1, config)


def history(texts, queries, config=CONFIG):
    return History(posts(texts, config), block_of(queries, config), block_of([], config), 1_000_000)


def hash_of(word, config=CONFIG):
    return int(TermDictionary.from_strings([word], config.seed, config.hash_bits).hashes[0])


def topical(topics, words, rows, seed=7):
    """Texts of six words, five of one topic and one of any; words of a topic are of falling frequency."""
    rng = np.random.default_rng(seed)
    falling = 1.0 / np.arange(1, words + 1)
    falling /= falling.sum()
    out = []
    for topic in rng.integers(0, topics, rows):
        of_topic = [f"t{topic}w{w}" for w in rng.choice(words, 5, replace=False, p=falling)]
        out.append(" ".join([*of_topic, f"t{rng.integers(0, topics)}w{rng.choice(words, p=falling)}"]))
    return out
