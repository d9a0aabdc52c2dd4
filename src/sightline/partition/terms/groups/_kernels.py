"""Terms to workers by the nets they are in, under limits of load."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64
from sightline.jit import kernel


class Nets(NamedTuple):
    """``terms[offsets[e]:offsets[e+1]]`` are in net e, ``nets[term_offsets[t]:term_offsets[t+1]]`` have term t."""

    offsets: I64
    terms: I32
    term_offsets: I64
    nets: I32


class Limits(NamedTuple):
    """Load a worker may have at most, and should have at least."""

    cap: float
    floor: float


@kernel
def _better(score: F64, total: F64, held: I64, a: int, b: int) -> bool:
    # Higher score, then less load, then fewer terms; of equals the lower number stays.
    if score[a] != score[b]:
        return bool(score[a] > score[b])
    if total[a] != total[b]:
        return bool(total[a] < total[b])
    return bool(held[a] < held[b])


@kernel
def _sum(load: F64) -> float:
    # In order: NumPy adds in pairs, and plain Python must give the same.
    out = 0.0
    for t in range(load.size):
        out += load[t]
    return out


@kernel
def choose(score: F64, total: F64, held: I64, load: float, left: float, terms_left: int, limits: Limits) -> int:
    """The worker of the best score that has room for a term of this load.

    ``left`` is the load not dealt yet, ``terms_left`` the number of such terms, this one included. When the load is
    only enough to bring the workers below the floor up to it, only they have room; when the terms are, to give every
    idle worker one, only those. A term that fits nowhere goes to a least loaded worker.
    """
    missing, least, idle = 0.0, total[0], 0
    for w in range(total.size):
        missing += max(0.0, limits.floor - total[w])
        least = min(least, total[w])
        idle += 1 if held[w] == 0 else 0
    best = -1
    for w in range(total.size):
        if terms_left <= idle:
            room = held[w] == 0
        elif left <= missing:
            room = total[w] < limits.floor
        else:
            room = total[w] + load <= limits.cap
        if room and (best < 0 or _better(score, total, held, w, best)):
            best = w
    if best >= 0:
        return best
    for w in range(total.size):
        if total[w] == least and (best < 0 or _better(score, total, held, w, best)):
            best = w
    return best


@kernel
def deal_by_nets(order: I64, load: F64, nets: Nets, workers: int, limits: Limits) -> I32:
    """One pass: each term to the worker that has a part of most of its nets, less where that is nearly full."""
    worker = np.full(load.size, -1, np.int32)
    here = np.zeros((nets.offsets.size - 1, workers), np.bool_)
    total, held, score = np.zeros(workers, np.float64), np.zeros(workers, np.int64), np.empty(workers, np.float64)
    left, terms_left = _sum(load), load.size
    for t in order:
        score[:] = 0.0
        for p in range(nets.term_offsets[t], nets.term_offsets[t + 1]):
            for w in range(workers):
                if here[nets.nets[p], w]:
                    score[w] += 1.0
        for w in range(workers):
            if score[w] > 0.0:
                score[w] *= max(0.0, 1.0 - total[w] / limits.cap) if limits.cap > 0.0 else 0.0
        w = choose(score, total, held, load[t], left, terms_left, limits)
        worker[t] = w
        left, terms_left = left - load[t], terms_left - 1
        total[w] += load[t]
        held[w] += 1
        for p in range(nets.term_offsets[t], nets.term_offsets[t + 1]):
            here[nets.nets[p], w] = True
    return worker


@kernel
def refine_by_nets(order: I64, load: F64, nets: Nets, worker: I32, workers: int, limits: Limits, sweeps: int) -> I64:
    """Move terms to where fewer nets are spread, within the limits, in ``worker``; moves of each sweep.

    A move lowers the number of (net, worker) pairs by the difference of two gains, so sweeps end. No worker loses its
    last term.
    """
    count = np.zeros((nets.offsets.size - 1, workers), np.int32)
    total, held, gain = np.zeros(workers, np.float64), np.zeros(workers, np.int64), np.empty(workers, np.int64)
    for t in range(load.size):
        total[worker[t]] += load[t]
        held[worker[t]] += 1
        for p in range(nets.term_offsets[t], nets.term_offsets[t + 1]):
            count[nets.nets[p], worker[t]] += 1
    moves = np.zeros(sweeps, np.int64)
    for sweep in range(sweeps):
        for t in order:
            own = worker[t]
            if held[own] == 1 or total[own] - load[t] < limits.floor:
                continue
            gain[:] = 0
            for p in range(nets.term_offsets[t], nets.term_offsets[t + 1]):
                for w in range(workers):
                    if count[nets.nets[p], w] > (1 if w == own else 0):
                        gain[w] += 1
            best = own
            for w in range(workers):
                if gain[w] > gain[best] and total[w] + load[t] <= limits.cap:
                    best = w
            if best == own:
                continue
            worker[t] = best
            total[own] -= load[t]
            total[best] += load[t]
            held[own] -= 1
            held[best] += 1
            moves[sweep] += 1
            for p in range(nets.term_offsets[t], nets.term_offsets[t + 1]):
                count[nets.nets[p], own] -= 1
                count[nets.nets[p], best] += 1
        if moves[sweep] == 0:
            break
    return moves


@kernel
def cosines_to(term: int, nets: Nets) -> F64:
    """Cosine between the occurrences of one term and of every term: common nets over sqrt(n_t * n_u), 0 without."""
    out = np.zeros(nets.term_offsets.size - 1, np.float64)
    own = nets.term_offsets[term + 1] - nets.term_offsets[term]
    for p in range(nets.term_offsets[term], nets.term_offsets[term + 1]):
        e = nets.nets[p]
        for q in range(nets.offsets[e], nets.offsets[e + 1]):
            out[nets.terms[q]] += 1.0
    for u in range(out.size):
        if out[u] > 0.0:
            out[u] /= np.sqrt(float(own * (nets.term_offsets[u + 1] - nets.term_offsets[u])))
    return out


@kernel
def far_seeds(load: F64, nets: Nets, workers: int) -> I64:
    """A term per worker (as far as there are): next the one with most load times distance to the nearest seed."""
    seeds = np.empty(min(workers, load.size), np.int64)
    nearest = np.zeros(load.size, np.float64)  # largest cosine to a seed
    taken = np.zeros(load.size, np.bool_)
    for i in range(seeds.size):
        best = -1
        for t in range(load.size):
            if taken[t]:
                continue
            if best < 0 or load[t] * (1.0 - nearest[t]) > load[best] * (1.0 - nearest[best]):
                best = t
        seeds[i] = best
        taken[best] = True
        cosine = cosines_to(best, nets)
        for t in range(load.size):
            nearest[t] = max(nearest[t], cosine[t])
    return seeds


@kernel
def _join(t: int, w: int, nets: Nets, centre: F64, squares: F64) -> None:
    # The unit vector of a term joins the centre of a worker.
    first, last = nets.term_offsets[t], nets.term_offsets[t + 1]
    for p in range(first, last):
        unit = 1.0 / np.sqrt(float(last - first))
        e = nets.nets[p]
        squares[w] += (2.0 * centre[e, w] + unit) * unit
        centre[e, w] += unit


@kernel
def _closeness(t: int, nets: Nets, centre: F64, squares: F64, score: F64) -> None:
    # Cosine to every centre.
    first, last = nets.term_offsets[t], nets.term_offsets[t + 1]
    score[:] = 0.0
    for p in range(first, last):
        for w in range(score.size):
            score[w] += centre[nets.nets[p], w]
    for w in range(score.size):
        if score[w] > 0.0:
            score[w] /= np.sqrt(float(last - first) * squares[w])


@kernel
def deal_by_distance(
    order: I64, load: F64, nets: Nets, seeds: I64, workers: int, limits: Limits, rounds: int
) -> tuple[I32, int]:
    """Terms to the closest centre with room, and rounds done.

    First the centres grow from the seeds as terms join them; then, until nothing changes, they are those of the last
    round.
    """
    worker = np.full(load.size, -1, np.int32)
    score = np.empty(workers, np.float64)
    done = 0
    for turn in range(rounds + 1):
        centre = np.zeros((nets.offsets.size - 1, workers), np.float64)
        squares, total, held = np.zeros(workers, np.float64), np.zeros(workers, np.float64), np.zeros(workers, np.int64)
        left, terms_left = _sum(load), load.size
        before, changed = worker.copy(), False
        if turn == 0:
            for i in range(seeds.size):
                worker[seeds[i]] = i
                left, terms_left = left - load[seeds[i]], terms_left - 1
                total[i] += load[seeds[i]]
                held[i] += 1
                _join(seeds[i], i, nets, centre, squares)
        else:
            for t in order:
                _join(t, before[t], nets, centre, squares)
        for t in order:
            if turn == 0 and worker[t] >= 0:
                continue
            _closeness(t, nets, centre, squares, score)
            w = choose(score, total, held, load[t], left, terms_left, limits)
            worker[t] = w
            changed = changed or w != before[t]
            left, terms_left = left - load[t], terms_left - 1
            total[w] += load[t]
            held[w] += 1
            if turn == 0:
                _join(t, w, nets, centre, squares)
        if turn > 0:
            done += 1
            if not changed:
                break
    return worker, done
