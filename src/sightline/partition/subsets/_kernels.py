"""Kernels of the divided subscriptions: objects per term in a rectangle."""

from __future__ import annotations

from typing import NamedTuple

from sightline.flat.arrays import F64, I64
from sightline.index.objects.postings._kernels import first_posting
from sightline.jit import kernel
from sightline.partition.cost._kernels import QueryWords
from sightline.partition.sample_kernels import Places, SamplePostings, between, count_in


class TermTally(NamedTuple):
    """Objects per term in one rectangle; only those whose ``mark`` is the rectangle's number are counted yet."""

    held: I64
    mark: I64


class Strip(NamedTuple):
    """A rectangle as the objects between two parallels and two meridians."""

    first: int
    last: int
    west: float
    east: float
    whole: bool  # no object lies west or east of it


@kernel
def _count_term(term: int, places: Places, postings: SamplePostings, strip: Strip, tally: TermTally, mark: int) -> None:
    """|O_(R, term)| of Eq. 4 into the tally, unless it is there."""
    if term < 0 or tally.mark[term] == mark:
        return
    begin, end = postings.offsets[term], postings.offsets[term + 1]
    first = first_posting(postings.objects, begin, end, strip.first)
    last = first_posting(postings.objects, first, end, strip.last)
    count = last - first
    if not strip.whole:
        count = 0
        for p in range(first, last):
            if strip.west <= places.lon[postings.objects[p]] <= strip.east:
                count += 1
    tally.held[term] = count
    tally.mark[term] = mark


@kernel
def count_terms(
    words: QueryWords, places: Places, postings: SamplePostings, rows: I64, box: F64, tally: TermTally, mark: int
) -> int:
    """|O_(R, t)| for every term t of the queries ``rows`` and the rectangle ``box``, which ``mark`` is for; |O_R|."""
    inside = count_in(places, box[0], box[1], box[2], box[3])
    if inside == 0:
        return 0
    first, last = between(places.lat, box[1], box[3])
    strip = Strip(first, last, box[0], box[2], box[0] <= places.west[0] and places.west[-1] <= box[2])
    for row in rows:
        begin, end = words.conjuncts[row], words.conjuncts[row + 1]
        for p in range(words.pos_offsets[begin], words.pos_offsets[end]):
            _count_term(words.pos[p], places, postings, strip, tally, mark)
        for p in range(words.neg_offsets[begin], words.neg_offsets[end]):
            _count_term(words.neg[p], places, postings, strip, tally, mark)
    return inside
