"""Which cell sizes a block is worth: few levels, cells that fit, and no more copies than memory allows.

A level costs every object a probe per term, a candidate the objects that meet it, a copy memory and thereby time. The
queries of one natural depth (cells just larger than their regions) are a class. For each class and depth of cells the
census has the number of entries, and how many of them an object is expected to meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32
from sightline.index.standing.levels._kernels import MAX_DEPTH

__all__ = ["LevelChoice", "ProbeCosts", "choose_depths"]


@dataclass(frozen=True)
class ProbeCosts:
    """What the choice weighs, per object; measured in nanoseconds, but only the proportions matter."""

    level: float = 110.0  # one more level
    candidate: float = 3.5  # one more candidate
    copy: float = 40.0  # one more entry per query, on average: larger tables are colder
    max_copies: float = 3.0  # entries per query, on average: 160 bytes with everything else
    max_levels: int = 3


class LevelChoice(NamedTuple):
    """Depths in use, ascending, and for each natural depth the position of its own among them."""

    depths: I32
    level_of: I32


def choose_depths(census: F64, costs: ProbeCosts | None = None) -> LevelChoice:
    """The cheapest depths; ``census[natural, depth]`` is pieces, entries, and entries that an object meets.

    All sets of up to ``max_levels`` depths compete. Within a set each class takes the depth that costs least, copies
    at a price; the price rises until the copies fit.
    """
    costs = costs or ProbeCosts()
    used = np.flatnonzero(census[:, 0, 0])
    if used.size == 0:
        return LevelChoice(np.zeros(1, np.int32), np.zeros(MAX_DEPTH + 1, np.int32))
    rows, pieces = np.arange(used.size)[:, None], census[used, 0, 0].sum()
    copies = census[used, :, 1] / pieces
    spent = costs.candidate * census[used, :, 2] + costs.copy * copies
    best, chosen = np.inf, np.zeros(used.size, np.int64)
    candidates = range(min(int(used[-1]) + 1, MAX_DEPTH) + 1)
    for size in range(1, costs.max_levels + 1):
        sets = np.array(list(combinations(candidates, size)), np.int64).reshape(-1, size)
        for price in (0.0, *(10.0 * 4.0 ** np.arange(8)), 1e30):
            member = (spent + price * copies)[:, sets].argmin(2)  # [class, set]
            depth = sets[np.arange(len(sets)), member]
            total = costs.level * size + spent[rows, depth].sum(0)
            total[copies[rows, depth].sum(0) > costs.max_copies] = np.inf
            at = int(total.argmin()) if total.size else 0
            if total.size and total[at] < best:
                best, chosen = float(total[at]), depth[:, at]
    depths = np.unique(chosen)
    natural = np.minimum(np.searchsorted(used, np.arange(MAX_DEPTH + 1)), used.size - 1)
    return LevelChoice(depths.astype(np.int32), np.searchsorted(depths, chosen[natural]).astype(np.int32))
