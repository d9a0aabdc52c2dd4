"""Who has which subscription: subsets, the parts of them that workers have, and the numbers of the subscriptions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64, U8, frozen, places_in, sorted_distinct
from sightline.flat.records import FlatRecord
from sightline.index.standing.block import QueryBlock
from sightline.partition.allocate import longest_first

__all__ = ["KEYWORD", "SPATIAL", "HYBRID", "Division", "DivisionPlan"]

KEYWORD, SPATIAL, HYBRID = 0, 1, 2
_SPLITS = np.array(["keyword", "spatial", "hybrid"])


class DivisionPlan(NamedTuple):
    """How n subscriptions are divided: subset, worker and weight of each; rectangle and kind of each subset."""

    subset: I32
    worker: I32
    weight: F64
    box: F64
    split: U8


@dataclass(frozen=True, eq=False)
class Division(FlatRecord):
    """Subscription numbers, ascending, with the part each is in and what it weighs; and the parts.

    A part is what one worker has of one subset: DkM-SKS spreads a subset over the workers (Alg. 3), the others do not.
    """

    num: I64
    part: I32
    weight: F64
    worker: I32  # of each part, and so on
    subset: I32
    box: F64
    cost: F64
    keywords: I64  # distinct positive terms, 0 if a subscription matches without any
    split: U8

    @classmethod
    def empty(cls) -> Self:
        """No subscriptions."""
        nothing: Any = np.empty(0)
        return cls(*(nothing,) * 5, np.empty((0, 4)), *(nothing,) * 3)

    @classmethod
    def of(cls, block: QueryBlock, rows: I64, plan: DivisionPlan, workers: int) -> Self:
        """The plan for the given rows of a block."""
        keys = plan.subset.astype(np.int64) * workers + plan.worker
        distinct = sorted_distinct(keys)
        part = np.searchsorted(distinct, keys)
        subset, worker = distinct // workers, distinct % workers
        order = np.argsort(block.num[rows], kind="stable")
        made: dict[str, Any] = {
            "num": block.num[rows][order], "part": part[order], "weight": plan.weight[order], "worker": worker,
            "subset": subset, "box": plan.box[subset], "split": plan.split[subset],
            "cost": np.bincount(part, plan.weight, minlength=len(distinct)),
            "keywords": _keywords(block, rows, part, len(distinct)),
        }  # fmt: skip
        return cls(**made)

    def __len__(self) -> int:
        return int(self.worker.shape[0])

    def parts_of(self, num: I64) -> I32:
        """The part of each subscription, -1 where its number is unknown."""
        row = places_in(self.num, num)
        part = np.full(len(num), -1, np.int32)
        part[row >= 0] = self.part[row[row >= 0]]
        return part

    def loads(self, workers: int, gone: I64) -> F64:
        """C(w) of every worker, without the subscriptions that are gone."""
        row = places_in(self.num, gone)
        left = np.array(self.weight)
        left[row[row >= 0]] = 0.0
        return np.bincount(self.worker[self.part], left, minlength=workers).astype(np.float64)

    def subset_boxes(self) -> F64:
        """R of every subset, by number."""
        first = np.flatnonzero(np.diff(self.subset, prepend=-1))
        return frozen(self.box[first])

    def reassigned(self, loads: F64, begin: F64) -> Self:
        """The parts dealt anew, heaviest first, to workers that have a load already."""
        return replace(self, worker=longest_first(loads, len(begin), begin))

    def leaf_rows(self, first: int) -> pa.Table:
        """The parts as rows of a leaf table, numbered from ``first``."""
        west, south, east, north = self.box.T
        return pa.table(
            {
                "leaf": np.arange(first, first + len(self)),
                "worker": self.worker.astype(np.int64),
                "split": pa.array(_SPLITS[self.split], pa.string()),
                "west": west,
                "south": south,
                "east": east,
                "north": north,
                "keywords": self.keywords,
            }
        )


def _keywords(block: QueryBlock, rows: I64, part: npt.NDArray[np.int64], parts: int) -> I64:
    part_of = np.full(len(block), -1, np.int64)
    part_of[rows] = part
    conjunct = part_of[block.conj_query]
    terms = np.diff(block.pos_offsets)
    pair = np.repeat(conjunct, terms)
    width = max(1, len(block.dictionary))
    pairs = sorted_distinct((pair * width + block.pos)[pair >= 0])
    distinct = np.bincount(pairs // width, minlength=parts)
    distinct[conjunct[(terms == 0) & (conjunct >= 0)]] = 0
    return distinct
