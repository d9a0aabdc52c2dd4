"""Reader of blocks: everything but the way a range search finds its blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from sightline.flat.arrays import F64, I64, frozen
from sightline.geo.contains import inside
from sightline.geo.region_table import RegionTable
from sightline.index._kernels import count_terms
from sightline.index.objects.blocks import walks_kernels
from sightline.index.objects.blocks._kernels import BlockArrays, FrequencyTables
from sightline.index.objects.blocks.arrays import asked_of
from sightline.index.objects.nearest import nearest_first
from sightline.index.protocol import Conjunct, TopTerms, Work
from sightline.model.regions import Polygon, Region
from sightline.model.space import Space

__all__ = ["BlockReader"]

_EVERYTHING: Conjunct = ((), ())


class BlockReader(ABC):
    """Frozen reader of one segment; ``nodes_opened`` and ``tables_added`` say what the tree has cost."""

    def __init__(self, arrays: BlockArrays, tables: FrequencyTables, fanout: int, terms: int) -> None:
        self._arrays, self._tables, self._fanout, self._terms = arrays, tables, fanout, terms
        self._work = Work()
        self.nodes_opened = self.tables_added = 0

    @property
    def work(self) -> Work:
        """What the calls so far have cost."""
        return self._work

    @abstractmethod
    def range(self, conjuncts: Sequence[Conjunct], pieces: F64, lo_us: int, hi_us: int) -> I64:
        """Rows inside any piece and the time that satisfy any conjunct, ascending and distinct."""

    def nearest(
        self, conjuncts: Sequence[Conjunct], at: tuple[float, float], k: int, lo_us: int, hi_us: int, space: Space
    ) -> tuple[I64, I64]:
        """The k nearest rows and all ties at the k-th distance."""
        rows, distance, opened, looked = walks_kernels.nearest_rows(
            self._arrays,
            self._tables,
            self._fanout,
            asked_of(conjuncts),
            space.is_geographic,
            float(at[0]),
            float(at[1]),
            k,
            lo_us,
            hi_us,
        )
        self._tally(opened, looked)
        return nearest_first(rows, distance, k)

    def term_counts(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time per term; only for a polygon every row of its box is tested."""
        arrays = self._arrays
        if isinstance(region, Polygon):
            rows = self.range([_EVERYTHING], pieces, lo_us, hi_us)
            rows = rows[inside(region, space, arrays.lon[rows], arrays.lat[rows])]
            return count_terms(arrays.offsets, arrays.ids, frozen(rows, np.int64), self._terms)
        table = RegionTable.from_regions([region])
        counts = np.zeros(self._terms, np.int64)
        opened, added, read = walks_kernels.count_region(
            arrays,
            self._tables,
            self._fanout,
            space.is_geographic,
            int(table.kind[0]),
            frozen(table.params[0], np.float64),
            frozen(pieces, np.float64),
            lo_us,
            hi_us,
            counts,
        )
        self.tables_added += added
        self._tally(opened, read)
        return counts

    def top_terms(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space, k: int) -> TopTerms:
        """The k most frequent terms (ties: lower id first), and the most any other term occurs."""
        counts = self.term_counts(pieces, lo_us, hi_us, region, space)
        terms = np.flatnonzero(counts)
        order = terms[np.argsort(-counts[terms], kind="stable")]
        bound = int(counts[order[k]]) if order.size > k else 0
        return TopTerms(order[:k], counts[order[:k]], bound)

    def counts_of(self, terms: I64, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time that have each of the given terms."""
        counts: I64 = self.term_counts(pieces, lo_us, hi_us, region, space)[terms]
        return counts

    def _tally(self, opened: int, looked: int) -> None:
        self._work.calls += 1
        self._work.candidates += looked
        self.nodes_opened += opened
