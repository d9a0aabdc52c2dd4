"""Query distribution statistics (SSTD 4.1.1, Figure 5): the quadtree J."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64
from sightline.flat.records import Arrays, FlatRecord
from sightline.index.protocol import NO_BOUND, ObjectColumns
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.space import Space
from sightline.partition.cost.sstd import CRQ, SKQ, SRQ, STQ, CostModel, cost_model
from sightline.partition.history import History
from sightline.partition.reach import nearest_reach
from sightline.partition.statistics.keywords import KeywordMasses
from sightline.partition.statistics.pyramid import Pyramid, StatisticsParams
from sightline.partition.statistics.tally import BINS, LONGEST, UNBOUNDED, QueryTally, dense, queries_of, sparse

__all__ = ["TYPES", "Statistics"]

#: Query types, in the order of every array of six.
TYPES = ("srq", "skq", "stq", "crq", "ckq", "ctq")


@dataclass(frozen=True, eq=False)
class Statistics(FlatRecord):
    """Decayed counts of queries and objects per cell of a pyramid; see :class:`Pyramid` for the numbers of cells.

    Notes
    -----
    Ours, where the paper is silent or at odds with itself. *Rates*: ``objects`` is a count over ``span_s`` seconds, and
    E_obj their ratio; both decay together. A span of 0 counts as a second. *Lifetimes* without an end count as the
    span, or as the longest lifetime with an end if that is longer: over such a lifetime a query checks as many objects
    as the history has, which is the scale of |O| in the costs of snapshot queries. *No queries at all*: one STQ is
    assumed everywhere, so that costs are numbers of objects.
    """

    space: Space
    params: StatisticsParams
    weights: F64  # [6, cells] queries that overlap a cell
    objects: F64  # [cells]
    span_s: float
    keywords: Annotated[KeywordMasses, "term_"]
    lengths: F64  # [6, LONGEST + 1] queries by number of keywords
    durations: F64  # [6, BINS] queries by duration
    seconds: F64  # [6, BINS] the sum of those durations

    @property
    def pyramid(self) -> Pyramid:
        """The cells."""
        return Pyramid(self.space.bounds, self.params.levels)

    @classmethod
    def empty(cls, space: Space, params: StatisticsParams | None = None) -> Statistics:
        """Before anything was seen."""
        sizes = params or StatisticsParams()
        cells = Pyramid(space.bounds, sizes.levels).cells
        return cls(
            space, sizes, np.zeros((6, cells)), np.zeros(cells), 0.0, KeywordMasses.empty(),
            np.zeros((6, LONGEST + 1)), np.zeros((6, BINS)), np.zeros((6, BINS)),
        )  # fmt: skip

    @classmethod
    def of(cls, history: History, space: Space, params: StatisticsParams | None = None) -> Statistics:
        """From historical queries and objects."""
        made = cls.empty(space, params).with_objects(history.objects, history.span_us)
        made = made.added(history.standing, asked=False, objects=history.objects)
        return made.added(history.asked, asked=True, objects=history.objects)

    # What has been seen since.

    def with_objects(self, objects: ObjectColumns, span_us: int) -> Statistics:
        """With the objects that came in so many microseconds more."""
        return self.with_cells(self.pyramid.in_last_level(objects.lon, objects.lat), span_us)

    def with_cells(self, counts: I64, span_us: int) -> Statistics:
        """With so many objects more in each cell of the last level, which came in so many microseconds."""
        objects = self.objects + self.pyramid.upward(counts)
        return replace(self, objects=objects, span_s=self.span_s + span_us / 1e6)

    def added(
        self, block: QueryBlock, *, asked: bool, objects: ObjectColumns | None = None,
        reach_mm: npt.ArrayLike | None = None,
    ) -> Statistics:  # fmt: skip
        """With the queries of a block: snapshot ones if they were ``asked``, else continuous.

        Nearest queries are evaluated on ``objects``, or their k-th distance is given (``reach_mm``, one per query of
        the block); with neither they count where they stand only. Of many, an even sample is evaluated and its
        counts are raised to the number of all.
        """
        if not len(block):
            return self
        tally = QueryTally(self.space, self.params.levels)
        tally.describe(queries_of([block]), self.params.terms, asked=asked)
        near = np.flatnonzero(block.kind == KIND_NEAREST)
        located, scale = block, 1.0
        if objects is not None and reach_mm is None and near.size:
            picked = near
            if near.size > self.params.sample:
                picked = near[np.arange(self.params.sample) * near.size // self.params.sample]
            located = block.take(np.union1d(np.flatnonzero(block.kind != KIND_NEAREST), picked))
            scale = near.size / picked.size
            mine = np.flatnonzero(located.kind == KIND_NEAREST)
            reach = np.full(len(located), NO_BOUND, np.int64)
            reach[mine] = nearest_reach(located.take(mine), objects, self.space)
            reach_mm = reach
        tally.locate(queries_of([located]), reach_mm, asked=asked)
        weights = tally.overlaps()
        weights[SKQ if asked else SKQ + CRQ] *= scale
        return self._plus(weights, tally.lengths, tally.durations, tally.seconds, tally.keywords)

    def with_searches(self, arrays: Arrays) -> Statistics:
        """With the counts of :meth:`SearchCounts.to_arrays`."""
        levels, bounds = int(arrays["levels"][0]), tuple(arrays["bounds"].tolist())
        if levels != self.params.levels or bounds != tuple(self.space.bounds):
            raise ValueError(f"searches were counted in other cells: levels {levels}, {bounds}")
        weights = dense("weights", arrays, self.weights.shape)
        lengths, durations, seconds = (arrays[name] for name in ("lengths", "durations", "seconds"))
        return self._plus(weights, lengths, durations, seconds, KeywordMasses.from_arrays(arrays, prefix="term_"))

    def _plus(self, weights: F64, lengths: F64, durations: F64, seconds: F64, keywords: KeywordMasses) -> Statistics:
        return replace(
            self, weights=self.weights + weights, lengths=self.lengths + lengths,
            durations=self.durations + durations, seconds=self.seconds + seconds,
            keywords=self.keywords.merged(keywords, self.params.terms),
        )  # fmt: skip

    def decayed(self, factor: float) -> Statistics:
        """Everything counts ``factor`` times as much; probabilities and rates stay until something is added."""
        return replace(
            self, weights=self.weights * factor, objects=self.objects * factor, span_s=self.span_s * factor,
            keywords=self.keywords.scaled(factor), lengths=self.lengths * factor, durations=self.durations * factor,
            seconds=self.seconds * factor,
        )  # fmt: skip

    def merged(self, other: Statistics) -> Statistics:
        """The counts of both, of one space and as many levels."""
        if self.space != other.space or self.params.levels != other.params.levels:
            raise ValueError("statistics of different spaces or levels do not add up")
        both = replace(self, objects=self.objects + other.objects, span_s=self.span_s + other.span_s)
        return both._plus(other.weights, other.lengths, other.durations, other.seconds, other.keywords)

    # What the cost model asks.

    def covering(self, boxes: npt.ArrayLike) -> I32:
        """The smallest cell of J that covers each box [n, 4]."""
        return self.pyramid.covering(boxes)

    def probabilities(self, cells: npt.ArrayLike) -> F64:
        """p_srq, ..., p_ctq: the chance that a query of each type overlaps each cell, [n, 6]."""
        totals = self.weights[:, 0]
        if not totals.any():
            return np.tile(self.types, (np.size(cells), 1))
        counts = self.weights[:, np.asarray(cells, np.int64).reshape(-1)]
        return (counts / np.where(totals > 0, totals, 1.0)[:, None]).T.copy()

    @property
    def types(self) -> F64:
        """Pr(srq), ..., Pr(ctq)."""
        return _shares(self.weights[:, 0], STQ)

    def rates(self, cells: npt.ArrayLike) -> F64:
        """E_obj: objects a second that arrive at each cell."""
        return self.objects[np.asarray(cells, np.int64).reshape(-1)] / (self.span_s or 1.0)

    @property
    def lifetimes(self) -> F64:
        """Mean duration of each type in seconds, [6]; 0 for types without queries."""
        finite = self.durations[CRQ:, :UNBOUNDED].sum(axis=0)
        longest = 0.0
        if finite.any():
            last = int(np.flatnonzero(finite)[-1])
            longest = float(self.seconds[CRQ:, last].sum() / finite[last])
        total: F64 = self.seconds.sum(axis=1) + self.durations[:, UNBOUNDED] * max(self.span_s or 1.0, longest)
        queries = self.durations.sum(axis=1)
        means: F64 = total / np.where(queries > 0, queries, 1.0)
        return means

    def length_chances(self, kind: int) -> F64:
        """Pr(|q.phi| = l) of a type, l from 0 to LONGEST; a type without queries has no keywords."""
        return _shares(self.lengths[kind], 0)

    def cost_model(self) -> CostModel:
        """What Equation 2 needs besides the partition."""
        return cost_model(self.types, self.length_chances(SRQ), self.length_chances(SKQ), self.lifetimes[CRQ:])

    def to_arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """Named flat arrays for a file; cells without counts are left out."""
        sizes = [self.params.levels, self.params.terms, self.params.sample, int(self.space.is_geographic)]
        cells = {**sparse("weights", self.weights), **sparse("objects", self.objects)}
        more = {"bounds": np.array(self.space.bounds, np.float64), "sizes": np.array(sizes, np.int64), **cells}
        return super().to_arrays(prefix) | {prefix + name: array for name, array in more.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, *given: Any, prefix: str = "") -> Self:
        levels, terms, sample, geographic = arrays[f"{prefix}sizes"].tolist()
        space = Space.geographic() if geographic else Space.planar(arrays[f"{prefix}bounds"].tolist())
        cells = Pyramid(space.bounds, levels).cells
        shapes = {f"{prefix}weights": (6, cells), f"{prefix}objects": (cells,)}
        counts = {name: dense(name, arrays, shape) for name, shape in shapes.items()}
        return super().from_arrays({**arrays, **counts}, space, StatisticsParams(levels, terms, sample), prefix=prefix)


def _shares(counts: F64, otherwise: int) -> F64:
    """Counts as probabilities; without any, all of it lies with one of them."""
    shares: F64 = counts / (counts.sum() or 1.0)
    if not counts.any():
        shares[otherwise] = 1.0
    return shares
