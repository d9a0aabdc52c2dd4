"""Postings along a curve (KZ): the default index of a segment (SSTD section 6; Pastri's inverted lists).

Objects are sorted by Morton key over the segment's own extent, every term lists its rows in that order. A rectangle is
a few runs of rows, hence a few runs of the rarest term's postings; rows of cells inside the rectangle need no test.
Around that:

* *Head bits*: which of the 64 most frequent terms a row has, in one word; conjuncts with frequent terms rarely read a
  list. Head terms in at least one row of ``PARAMS.dense`` have no postings at all: the rows are their list, and a plane
  of one bit per row says which.
* *Prefix counts* of head terms along the curve, one line per ``BLOCK`` rows, and per block of rows the largest count of
  any other term. Together they answer most top-terms questions without reading a list (a summed-area table that
  follows the data: a uniform grid is coarse in cities and empty elsewhere).
* Nearest rows are found best first in the quadtree which the curve implies.

Deviations from the papers: the tables of term frequencies that SSTD keeps in the nodes of an R-tree are replaced by the
prefix counts; answers are the same, exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I64, frozen, places_in
from sightline.flat.records import frozen_fields
from sightline.geo.contains import inside
from sightline.index._kernels import count_terms
from sightline.index.entry import Entry
from sightline.index.objects.nearest import nearest_first
from sightline.index.objects.postings import _kernels
from sightline.index.objects.postings import building_kernels as building
from sightline.index.objects.postings import nearest_kernels as nearest
from sightline.index.objects.postings import top_terms_kernels as counting
from sightline.index.objects.postings._kernels import PostingsArrays
from sightline.index.objects.postings.beside import beside
from sightline.index.objects.postings.curve import along_curve
from sightline.index.objects.postings.inversion import Inversion
from sightline.index.objects.postings.params import PARAMS, PostingsParams
from sightline.index.objects.postings.terms import terms_of
from sightline.index.objects.postings.top_terms_kernels import TermTables
from sightline.index.objects.top_terms import top_of
from sightline.index.protocol import Conjunct, ObjectColumns, TopTerms, Work
from sightline.model.regions import Box, Region
from sightline.model.space import Space

__all__ = ["PARAMS", "PostingsIndex", "PostingsParams"]

Scalar = TypeVar("Scalar", bound=np.generic)

_EVERYTHING: Conjunct = ((), ())
_DOUBLE = np.dtype(np.float64)
_RANGE_ROWS = Entry(_kernels.range_rows)
_NEAREST_ROWS, _NEAREST_OF_TERM = Entry(nearest.nearest_rows, 1), Entry(nearest.nearest_of_term, 1)
_TOP_TERMS = Entry(counting.top_terms)
_MOST_TERMS = 2**31 - 1
CANDIDATES = 48  # terms outside the head that are counted by their postings rather than counting every term
FEW_ROWS = 768  # whose terms are all counted at once: to count the head takes as long, and may not settle it
ROOM = 60  # nearest rows, ties included; where there are more, the search is made again with more room
NAMED = 64  # terms a direct count names at least: with a low bound other segments need fewer of its counts


class PostingsIndex:
    """Frozen reader of one segment."""

    def __init__(self, arrays: PostingsArrays, named: Callable[[str], Any]) -> None:
        self._arrays, self._named, self._work = arrays, named, Work()
        self._first_us, self._last_us = int(arrays.span[0]), int(arrays.span[1])

    @classmethod
    def build(cls, objects: ObjectColumns, bounds: tuple[float, float, float, float]) -> tuple[I64, dict[str, Any]]:
        """Sort along the curve, gather, invert, count. ``bounds`` is not needed: the curve spans the rows."""
        n, terms = len(objects), objects.terms
        if terms.ids.size > _MOST_TERMS:
            raise ValueError(f"a segment holds at most {_MOST_TERMS} terms of rows, not {terms.ids.size}")
        lon, lat, ts = frozen(objects.lon, np.float64), frozen(objects.lat, np.float64), frozen(objects.ts, np.int64)
        given = terms.offsets, terms.ids
        parts = [(first, min(n, first + building.PART)) for first in range(0, n, building.PART)]
        with beside(n) as other:
            counted = other.submit(terms_of, given[1], len(terms.dictionary), n, PARAMS)
            extent = np.array([lon.min(), lat.min(), lon.max(), lat.max()], np.float64)
            order = along_curve(lon, lat, extent, PARAMS.finest)
            offsets, ids = np.zeros(n + 1, np.int32), np.empty(terms.ids.size, np.int32)
            lists = [other.submit(building.gather_lists, order.rows, *given, *part, offsets, ids) for part in parts]
            times = other.submit(_gathered, order.rows, ts)
            told = counted.result()
            inversion = Inversion(n, told)
            for part, gathered in zip(parts, lists, strict=True):
                gathered.result()
                inversion.distribute(offsets, ids, *part)
            planes = np.empty((told.planed.size, (n + 63) >> 6), np.uint64)
            prefix = np.empty((-(-n // counting.BLOCK) + 1, told.heads.shape[1]), np.int32)
            tables = other.submit(
                building.head_tables,
                frozen(inversion.bits, np.uint64),
                frozen(told.planed, np.int32),
                counting.BLOCK,
                planes,
                prefix,
            )
            postings = inversion.settle(other)
            norths = other.submit(_gathered, order.rows, lat)  # in the memory that the inversion has given back
            built = PostingsArrays(
                _gathered(order.rows, lon),
                norths.result(),
                times.result(),
                offsets,
                ids,
                told.starts,
                postings,
                order.fine,
                order.directory,
                told.heads,
                inversion.bits,
                planes,
                extent,
                np.array([ts.min(), ts.max(), order.level, order.deep], np.int64),
            )
            tables.result()
        named = TermTables(prefix, inversion.small, inversion.large, told.runners)
        return order.rows, built._asdict() | {f"tables_{name}": array for name, array in named._asdict().items()}

    @classmethod
    def open(cls, arrays: Callable[[str], Any], rows: int) -> Self:
        """Reader over (mapped) arrays."""
        return cls(frozen_fields(PostingsArrays, (arrays(name) for name in PostingsArrays._fields)), arrays)

    @property
    def work(self) -> Work:
        """What the calls so far have cost."""
        return self._work

    def range(self, conjuncts: Sequence[Conjunct], pieces: F64, lo_us: int, hi_us: int) -> I64:
        """Rows inside any piece and the time that satisfy any conjunct, ascending and distinct."""
        rows: I64
        rows, looked = _RANGE_ROWS.call(self._arrays, _asked(conjuncts), _flat(pieces), lo_us, hi_us)
        self._did(looked)
        if len(conjuncts) > 1 or len(pieces) > 1:
            rows.sort()
        return rows

    def nearest(
        self, conjuncts: Sequence[Conjunct], at: tuple[float, float], k: int, lo_us: int, hi_us: int, space: Space
    ) -> tuple[I64, I64]:
        """The k nearest rows and all ties at the k-th distance, by distance, then row."""
        asked: int | I64
        if len(conjuncts) == 1 and len(conjuncts[0][0]) == 1 and not conjuncts[0][1]:
            call, asked = _NEAREST_OF_TERM.call, conjuncts[0][0][0]
        else:
            call, asked = _NEAREST_ROWS.call, _asked(conjuncts)
        lon, lat, room = float(at[0]), float(at[1]), ROOM
        while True:
            answer = np.empty(2 * room, np.int64)
            n, looked = call(self._arrays, answer, asked, lon, lat, k, lo_us, hi_us, space.is_geographic)
            self._did(looked)
            if n <= room:
                break
            room = n
        rows, distance = answer[:n], answer[room : room + n]
        return (rows, distance) if n <= nearest.IN_ORDER else nearest_first(rows, distance, k)

    def term_counts(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time per term."""
        return self._count(self._rows(pieces, lo_us, hi_us, region, space))

    def top_terms(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space, k: int) -> TopTerms:
        """The k most frequent terms: by head counts if no other term can be among them, with the counts of the few
        that can, or by a count of every term."""
        arrays, tables = self._arrays, self._tables
        if self._summed(lo_us, hi_us, region):
            named, found, bound, looked = _TOP_TERMS.call(
                arrays, tables, _flat(pieces), k, max(k, NAMED), FEW_ROWS, CANDIDATES
            )
            self._did(looked)
            return TopTerms(named, found, bound)
        rows = self._rows(pieces, lo_us, hi_us, region, space)
        counts, bound = counting.head_counts_of_rows(arrays, tables, rows)
        kth = int(np.partition(counts, counts.size - k)[-k]) if counts.size >= k else 0
        if bound == 0 or kth > bound:
            met = np.flatnonzero(counts)
            return TopTerms(arrays.heads[0, met].astype(np.int64), counts[met], int(bound))
        return top_of(*counting.count_rows(arrays, rows), max(k, NAMED))

    def counts_of(self, terms: I64, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        """Objects of the region and time that have each of the given terms."""
        asked = np.asarray(terms, np.int64)
        if not isinstance(region, Box):
            return self._count(self._rows(pieces, lo_us, hi_us, region, space))[asked]
        heads = self._arrays.heads[0]
        out = np.zeros(asked.size, np.int64)
        bit = places_in(heads, asked)
        head = bit >= 0
        if head.any():
            if self._summed(lo_us, hi_us, region):
                counts, _, looked = counting.head_counts(self._arrays, self._tables, frozen(pieces, np.float64))
                self._did(looked)
            else:
                rows = self._rows(pieces, lo_us, hi_us, region, space)
                counts, _ = counting.head_counts_of_rows(self._arrays, self._tables, rows)
            out[head] = counts[bit[head]]
        if not head.all():
            # Not frozen: the kernel is compiled for the writable terms that `counting.top_terms` passes.
            out[~head], looked = counting.posting_counts(
                self._arrays, asked[~head], frozen(pieces, np.float64), lo_us, hi_us
            )
            self._did(looked)
        return out

    @cached_property
    def _tables(self) -> TermTables:
        named = (self._named(f"tables_{name}") for name in TermTables._fields)
        return frozen_fields(TermTables, named)

    def _summed(self, lo_us: int, hi_us: int, region: Region) -> bool:
        """Whether prefix counts hold: every row is of the time, and cells can be told to lie inside."""
        return isinstance(region, Box) and lo_us <= self._first_us and hi_us >= self._last_us

    def _rows(self, pieces: F64, lo_us: int, hi_us: int, region: Region, space: Space) -> I64:
        rows = self.range([_EVERYTHING], pieces, lo_us, hi_us)
        if not isinstance(region, Box):
            rows = rows[inside(region, space, self._arrays.lon[rows], self._arrays.lat[rows])]
        return frozen(rows, np.int64)

    def _count(self, rows: I64) -> I64:
        arrays = self._arrays
        return count_terms(arrays.offsets, arrays.ids, rows, arrays.starts.size - 1)

    def _did(self, looked: int) -> None:
        self._work.calls += 1
        self._work.candidates += looked


def _asked(conjuncts: Sequence[Conjunct]) -> I64:
    """Conjuncts as the kernels take them: how many, where each one's positives and negatives end, the terms."""
    if len(conjuncts) == 1:
        positive, negative = conjuncts[0]
        some = len(positive)
        return np.array((1, 0, some, some + len(negative), *positive, *negative), np.int64)
    cuts, terms = [len(conjuncts), 0], list[int]()
    for positive, negative in conjuncts:
        terms += positive
        cuts.append(len(terms))
        terms += negative
        cuts.append(len(terms))
    return np.array(cuts + terms, np.int64)


def _flat(pieces: F64) -> F64:
    """The pieces as a contiguous array of doubles, four in a line, which they usually are."""
    if type(pieces) is not np.ndarray or pieces.dtype is not _DOUBLE or not pieces.flags.c_contiguous:
        pieces = frozen(pieces, np.float64)
    if pieces.ndim != 2 or pieces.shape[1] != 4:
        raise ValueError(f"boxes have four sides each, not the shape {pieces.shape}")
    return pieces


def _gathered(order: I64, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A column in the order of the index."""
    out = np.empty_like(values)
    building.gather(order, values, out)
    return out
