"""The distributions of query keywords M_srq and M_skq, by term hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I64, places_in
from sightline.flat.records import FlatRecord

__all__ = ["KeywordMasses"]


@dataclass(frozen=True, eq=False)
class KeywordMasses(FlatRecord):
    """How often SRQs (row 0) and SKQs (row 1) ask for a term.

    Ours: one distribution per type for the whole space. The paper has one per cell of J, which for a vocabulary of
    thousands is mostly noise and would have to travel with every router. Of ever more terms the most frequent are
    kept; ``rest`` is the weight of the others, which count as in nobody's keyword list.
    """

    hashes: I64  # [n] ascending
    weights: F64  # [2, n]
    rest: F64  # [2]

    def __len__(self) -> int:
        return int(self.hashes.size)

    @classmethod
    def empty(cls) -> KeywordMasses:
        """Nothing asked yet."""
        return cls(np.zeros(0, np.int64), np.zeros((2, 0)), np.zeros(2))

    @classmethod
    def of(cls, hashes: npt.ArrayLike, weights: npt.ArrayLike) -> KeywordMasses:
        """From weights [2, m] of hashes in any order; repeats are summed."""
        given, values = np.asarray(hashes, np.int64), np.asarray(weights, np.float64).reshape(2, -1)
        order = np.argsort(given, kind="stable")
        given, values = given[order], values[:, order]
        fresh = np.ones(given.size, np.bool_)
        np.not_equal(given[1:], given[:-1], out=fresh[1:])
        starts = np.flatnonzero(fresh)
        summed = np.add.reduceat(values, starts, axis=1) if starts.size else values
        return cls(given[starts], summed, np.zeros(2))

    @property
    def masses(self) -> F64:
        """p_w of both distributions, [2, n]; a type that asked for nothing has none."""
        totals = self.weights.sum(axis=1) + self.rest
        return self.weights / np.where(totals > 0, totals, 1.0)[:, None]

    def mass_of(self, hashes: npt.ArrayLike) -> F64:
        """p_w of given terms, [2, m]; 0 for terms that are not known."""
        wanted = np.asarray(hashes, np.int64)
        masses = np.append(self.masses, np.zeros((2, 1)), axis=1)
        known: F64 = masses[:, places_in(self.hashes, wanted)]
        return known

    def scaled(self, factor: float) -> KeywordMasses:
        """All weights times a factor."""
        return KeywordMasses(self.hashes, self.weights * factor, self.rest * factor)

    def merged(self, other: KeywordMasses, most: int) -> KeywordMasses:
        """The sum, of at most ``most`` terms."""
        both = KeywordMasses.of(
            np.concatenate([self.hashes, other.hashes]), np.concatenate([self.weights, other.weights], axis=1)
        )
        return KeywordMasses(both.hashes, both.weights, self.rest + other.rest).pruned(most)

    def pruned(self, most: int) -> KeywordMasses:
        """The terms with most weight of both types together, ties by hash; the others go to the rest."""
        if len(self) <= most:
            return self
        order = np.lexsort((self.hashes, -self.weights.sum(axis=0)))
        kept, dropped = np.sort(order[:most]), order[most:]
        return KeywordMasses(self.hashes[kept], self.weights[:, kept], self.rest + self.weights[:, dropped].sum(axis=1))
