"""Kernels of panes: count terms per slot, add slots up, slide windows over them.

A *slot* is one pane of one table; its counts are a run of rows (term, count), each term once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import I32, I64, U8
from sightline.jit import kernel

# Places in Slide.at: what a window needs to know of the ones before it.
WINDOW, ENTER, LEAVE, ACTIVE, LEADING, BAR_TERM, BAR_COUNT, UNSEEN, FAILED = range(9)
NOBODY = -1


class Slide(NamedTuple):
    """A sliding sum in progress. Sums are of whole terms; ``active`` lists those above 0, ``place`` where."""

    at: I64
    total: I64
    active: I32
    place: I32
    leading: I32  # the terms that can be in the answer
    leads: U8  # 1 for those
    heap: I32


class Runs(NamedTuple):
    """Slots of one sliding sum, ascending by pane, and the rows they point into."""

    pane: I64
    low: I64
    high: I64
    tail: I64  # no term that the rows leave out has more objects than this in the slot
    term: I32
    objects: I64
    name_offsets: I64  # strings of the terms, for ties
    names: U8


@kernel
def count_runs(
    starts: I64,
    objects: I32,
    offsets: I64,
    ids: I32,
    first: int,
    counter: I32,
    out_end: I64,
    out_term: I32,
    out_count: I64,
) -> tuple[int, int]:
    """Objects per term in each slot, of the objects ``starts[s]:starts[s + 1]``: (slot to resume at, rows).

    ``out_end[s]`` gets the rows up to the end of slot s in this call.
    """
    n, room = 0, out_term.shape[0]
    for s in range(first, starts.shape[0] - 1):
        before = n
        full = False
        for p in range(starts[s], starts[s + 1]):
            low, high = offsets[objects[p]], offsets[objects[p] + 1]
            if n + high - low > room:
                full = True
                break
            for j in range(low, high):
                t = ids[j]
                seen = counter[t]
                out_term[n] = t  # without a branch: whether a term is new cannot be predicted
                n += seen == 0
                counter[t] = seen + 1
        for r in range(before, n):
            out_count[r] = counter[out_term[r]]
            counter[out_term[r]] = 0
        if full:
            return s, before
        out_end[s] = n
    return starts.shape[0] - 1, n


@kernel
def sum_runs(
    starts: I64, low: I64, high: I64, term: I32, count: I64, counter: I64, out_end: I64, out_term: I32, out_count: I64
) -> int:
    """Add up the runs ``starts[s]:starts[s + 1]`` of each slot; the output has room for all rows."""
    n = 0
    for s in range(starts.shape[0] - 1):
        before = n
        for run in range(starts[s], starts[s + 1]):
            for r in range(low[run], high[run]):
                t = term[r]
                seen = counter[t]
                out_term[n] = t
                n += seen == 0
                counter[t] = seen + count[r]
        for r in range(before, n):
            out_count[r] = counter[out_term[r]]
            counter[out_term[r]] = 0
        out_end[s] = n
    return n


@kernel
def lead_slots(offsets: I64, leaders: int, term: I32, count: I64, tail: I64) -> None:
    """Move the ``leaders`` largest counts of each slot to its front; ``tail`` gets the largest of the others."""
    heap = np.empty(leaders, np.int64)  # of the largest counts, the smallest on top
    for s in range(offsets.shape[0] - 1):
        low, high = offsets[s], offsets[s + 1]
        tail[s] = 0
        if high - low <= leaders:
            continue
        heap[:] = 0
        for r in range(low, high):
            if count[r] > heap[0]:
                heap[0] = count[r]
                i = 0
                while True:
                    least = i
                    for child in (2 * i + 1, 2 * i + 2):
                        if child < leaders and heap[child] < heap[least]:
                            least = child
                    if least == i:
                        break
                    heap[i], heap[least] = heap[least], heap[i]
                    i = least
        bar, front = heap[0], low
        for wanted in (1, 0):  # first those above the bar, then of those on it as many as there is room for
            for r in range(front, high):
                if count[r] >= bar + wanted and front < low + leaders:
                    term[front], term[r] = term[r], term[front]
                    count[front], count[r] = count[r], count[front]
                    front += 1
        for r in range(front, high):
            tail[s] = max(tail[s], count[r])


@kernel
def pick_rows(
    slots: I64, offsets: I64, term: I32, count: I64, wanted: I32, out_end: I64, out_term: I32, out_count: I64
) -> int:
    """Rows of the slots whose term is wanted, under its other number; the output has room for all rows."""
    n = 0
    for i in range(slots.shape[0]):
        for r in range(offsets[slots[i]], offsets[slots[i] + 1]):
            # Which terms are wanted cannot be foretold: written anyway, counted if so.
            t = wanted[term[r]]
            out_term[n], out_count[n] = t, count[r]
            n += t >= 0
        out_end[i] = n
    return n


@kernel
def flag_terms(ids: I32, used: U8) -> None:
    """Mark the terms that occur."""
    for i in ids:
        used[i] = 1


@kernel
def before_in_order(a: int, a_count: int, b: int, b_count: int, offsets: I64, data: U8) -> bool:
    """Whether term a comes before term b in a report: more objects, then the smaller string by its bytes."""
    if a_count != b_count:
        return bool(a_count > b_count)
    i, j = offsets[a], offsets[b]
    a_end, b_end = offsets[a + 1], offsets[b + 1]
    while i < a_end and j < b_end:
        if data[i] != data[j]:
            return bool(data[i] < data[j])
        i += 1
        j += 1
    return bool(a_end - i < b_end - j)


@kernel
def sift_down(heap: I32, n: int, total: I64, offsets: I64, data: U8) -> None:
    """Put the root in its place: every term comes after those below it, so the root is the last of all."""
    i = 0
    while True:
        last = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < n:
                a, b = heap[last], heap[child]
                if before_in_order(a, total[a], b, total[b], offsets, data):
                    last = child
        if last == i:
            return
        heap[i], heap[last] = heap[last], heap[i]
        i = last


@kernel
def keep_first(terms: I32, n: int, most: int, heap: I32, total: I64, offsets: I64, data: U8) -> int:
    """The ``most`` first of the terms with a count, as a heap with the last of them on top; returns how many."""
    size = 0
    for i in range(n):
        t = terms[i]
        if total[t] == 0:
            continue
        if size < most:
            heap[size] = t
            child = size
            size += 1
            while child > 0:
                parent = (child - 1) // 2
                a, b = heap[parent], heap[child]
                if not before_in_order(a, total[a], b, total[b], offsets, data):
                    break
                heap[parent], heap[child] = heap[child], heap[parent]
                child = parent
        elif before_in_order(t, total[t], heap[0], total[heap[0]], offsets, data):
            heap[0] = t
            sift_down(heap, size, total, offsets, data)
    return size


@kernel
def enter_run(run: int, runs: Runs, slide: Slide) -> None:
    """Add a pane. Terms it raises may come to lead."""
    at, total = slide.at, slide.total
    at[UNSEEN] += runs.tail[run]
    for r in range(runs.low[run], runs.high[run]):
        t = runs.term[r]
        if total[t] == 0:
            slide.active[at[ACTIVE]] = t
            slide.place[t] = at[ACTIVE]
            at[ACTIVE] += 1
        total[t] += runs.objects[r]
        if slide.leads[t] == 0:
            slide.leads[t] = 1
            slide.leading[at[LEADING]] = t
            at[LEADING] += 1


@kernel
def leave_run(run: int, runs: Runs, slide: Slide) -> None:
    """Subtract a pane."""
    at, total = slide.at, slide.total
    at[UNSEEN] -= runs.tail[run]
    for r in range(runs.low[run], runs.high[run]):
        t = runs.term[r]
        total[t] -= runs.objects[r]
        if total[t] == 0:
            at[ACTIVE] -= 1
            moved = slide.active[at[ACTIVE]]
            slide.active[slide.place[t]] = moved
            slide.place[moved] = slide.place[t]


@kernel
def lead_anew(most: int, runs: Runs, slide: Slide) -> None:
    """Make the ``most`` first terms of the window the leading ones; the last of them is the bar."""
    at = slide.at
    for i in range(at[LEADING]):
        slide.leads[slide.leading[i]] = 0
    n = keep_first(slide.active, at[ACTIVE], most, slide.heap, slide.total, runs.name_offsets, runs.names)
    for i in range(n):
        slide.leading[i] = slide.heap[i]
        slide.leads[slide.heap[i]] = 1
    at[LEADING] = n
    at[BAR_TERM], at[BAR_COUNT] = slide.heap[0], slide.total[slide.heap[0]]


@kernel
def first_terms(k: int, runs: Runs, slide: Slide) -> int:
    """The first k terms of the window in hand, left in the heap; returns how many.

    A term that does not lead has not been raised since the bar was set, so it comes after the bar. While the k-th
    of the leading terms does not, they are the answer; else the leading ones are chosen anew from all.
    """
    at = slide.at
    spare = 2 * k + 64
    if at[BAR_TERM] == NOBODY or at[LEADING] > 4 * spare + at[ACTIVE] // 4:
        lead_anew(spare, runs, slide)
    while True:
        n = keep_first(slide.leading, at[LEADING], k, slide.heap, slide.total, runs.name_offsets, runs.names)
        if n == at[ACTIVE]:
            return n
        last = slide.heap[0]
        if n == k and not before_in_order(
            at[BAR_TERM], at[BAR_COUNT], last, slide.total[last], runs.name_offsets, runs.names
        ):
            return n
        lead_anew(spare, runs, slide)


@kernel
def slide_windows(
    runs: Runs,
    slide: Slide,
    whole: int,
    rest: int,
    last: int,
    k: int,
    out_window: I64,
    out_rank: I32,
    out_term: I32,
    out_count: I64,
) -> int:
    """Reports of the windows from ``slide.at[WINDOW]`` to ``last``; returns the rows written.

    A window has ``whole`` periods and, if ``rest``, a part of one more. When the output is full, the window in hand
    is where the next call goes on; when all is done, ``slide.at[WINDOW]`` is above ``last`` and the sums are 0 again.
    A window in which a term that the rows leave out could be among the first k ends everything: ``slide.at[FAILED]``.
    """
    at = slide.at
    n, room, slots = 0, out_term.shape[0], runs.pane.shape[0]
    while at[WINDOW] <= last:
        window = at[WINDOW]
        while at[ENTER] < slots and runs.pane[at[ENTER]] >> 1 <= window:
            pane = runs.pane[at[ENTER]]
            if at[LEAVE] == at[ENTER] and (pane >> 1) + whole - 1 + (rest & pane & 1) < window:
                at[LEAVE] += 1  # over before the first window that is due
            else:
                enter_run(at[ENTER], runs, slide)
            at[ENTER] += 1
        while at[LEAVE] < at[ENTER]:
            pane = runs.pane[at[LEAVE]]
            if (pane >> 1) + whole - 1 + (rest & pane & 1) >= window:
                break
            leave_run(at[LEAVE], runs, slide)
            at[LEAVE] += 1
        if at[ACTIVE] == 0:
            at[WINDOW] = last + 1 if at[ENTER] == slots else runs.pane[at[ENTER]] >> 1
            continue
        if n + min(k, at[ACTIVE]) > room:
            return n
        found = first_terms(k, runs, slide)
        if at[UNSEEN] > 0 and (found < k or slide.total[slide.heap[0]] <= at[UNSEEN]):
            at[FAILED] = 1
            at[WINDOW] = last + 1
            break
        for rank in range(found, 0, -1):
            t = slide.heap[0]
            r = n + rank - 1
            out_window[r], out_rank[r], out_term[r], out_count[r] = window, rank, t, slide.total[t]
            slide.heap[0] = slide.heap[rank - 1]
            sift_down(slide.heap, rank - 1, slide.total, runs.name_offsets, runs.names)
        n += found
        at[WINDOW] = window + 1
    while at[LEAVE] < at[ENTER]:
        leave_run(at[LEAVE], runs, slide)
        at[LEAVE] += 1
    for i in range(at[LEADING]):
        slide.leads[slide.leading[i]] = 0
    at[LEADING] = 0
    return n
