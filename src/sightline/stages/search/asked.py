"""What a snapshot query asks of a segment: time bounds, boxes, and its words, hashed once for all segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sightline.flat.arrays import F64, I64, frozen
from sightline.geo.bounds import pieces
from sightline.index.protocol import Conjunct
from sightline.model.config import StoreConfig
from sightline.model.dnf import Dnf
from sightline.model.errors import BadQuery
from sightline.model.queries import NearestQuery, Query, TopTermsQuery, check_snapshot, check_space
from sightline.model.regions import Region, check_region
from sightline.model.space import Space
from sightline.text.dictionary import TermDictionary

REMEMBERED = 4096  # expressions and regions whose compiled form is kept; asking for one again costs about 1 us


class SoughtWords:
    """The words of an expression. Their numbers differ from segment to segment; a lookup of all takes 2 us."""

    def __init__(self, dnf: Dnf, seed: int, hash_bits: int) -> None:
        self.strings = sorted({word for conjunct in dnf.conjuncts for part in conjunct for word in part})
        at = {word: i for i, word in enumerate(self.strings)}
        self._conjuncts = [([at[w] for w in some], [at[w] for w in none]) for some, none in dnf.conjuncts]
        self._dictionary = TermDictionary.hashed(self.strings, seed, hash_bits)

    def positive(self) -> tuple[list[int], I64]:
        """Number of positive words of each conjunct, and the hashes of all of them, one conjunct after the other."""
        words = [word for some, _ in self._conjuncts for word in some]
        return [len(some) for some, _ in self._conjuncts], self._dictionary.hashes[words]

    def conjuncts(self, dictionary: TermDictionary) -> tuple[list[Conjunct], list[str]]:
        """The conjuncts a segment can satisfy, in its term ids; and the words that every other one lacks there.

        A conjunct with a positive word that the segment lacks is dropped, a negative one that it lacks is always true.
        """
        if not self.strings:
            return [((), ())], []
        ids = dictionary.lookup(self._dictionary).tolist()
        possible: list[Conjunct] = []
        absent: list[str] = []
        for positive, negative in self._conjuncts:
            missing = [self.strings[i] for i in positive if ids[i] < 0]
            if missing:
                absent += missing
            else:
                possible.append(([ids[i] for i in positive], [ids[i] for i in negative if ids[i] >= 0]))
        return possible, absent


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A checked query, compiled for a store."""

    query: Query
    boxes: F64 | None  # closed, none over the antimeridian; None asks everywhere
    words: SoughtWords | None  # None asks for no words and counts them


def asked(query: Query, config: StoreConfig) -> AskedQuery:
    """Check and compile a query; ``BadQuery`` says what does not fit."""
    check_snapshot(query)
    if isinstance(query, NearestQuery):
        check_space(query, config.space)
        return AskedQuery(query, None, words_of(query.keywords.dnf(config.text), config.seed, config.hash_bits))
    boxes = boxes_of(query.region, config.space)
    if isinstance(query, TopTermsQuery):
        return AskedQuery(query, boxes, None)
    return AskedQuery(query, boxes, words_of(query.keywords.dnf(config.text), config.seed, config.hash_bits))


@lru_cache(maxsize=REMEMBERED)
def words_of(dnf: Dnf, seed: int, hash_bits: int) -> SoughtWords:
    """Words of an expression under a store's hash."""
    return SoughtWords(dnf, seed, hash_bits)


@lru_cache(maxsize=REMEMBERED)
def boxes_of(region: Region, space: Space) -> F64:
    """Pieces of a region, after checking that it fits the space. Both depend on the coordinates alone."""
    check_region(region, space)
    return frozen(pieces(region, space), np.float64)


def check_all(queries: Sequence[Query], config: StoreConfig) -> None:
    """Refuse a list of queries for the first bad one, with its place in the list."""
    for number, query in enumerate(queries):
        try:
            asked(query, config)
        except BadQuery as error:
            what = f"query {number} of the list: {error.what}"
            raise BadQuery(what, value=error.value, allowed=error.allowed, hint=error.hint) from error
