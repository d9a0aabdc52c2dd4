"""Kernels of subscription groups: who shares a table, which tables an object belongs to, in which pane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sightline.flat.arrays import F64, I32, I64, Flag
from sightline.geo._kernels import step_of
from sightline.index.standing._kernels import slot_hash
from sightline.jit import kernel

LOOK_BACK = 256  # groups a region is compared with; a group that is missed costs time, never an answer
MOST_REGIONS = 64  # of one group: an object outside the intersection is compared with each of them


class GroupBoxes(NamedTuple):
    """Where the tables of the groups lie; a box with west > east crosses the antimeridian."""

    grid: F64  # west, south, cells per degree in x, in y
    cell_offsets: I64  # [cells + 1], rows of cells from the south
    cell_groups: I32
    hull: F64  # [groups, 4] around all regions of a group
    table_offsets: I64  # [groups + 1]; the first table of a group is the common one
    boxes: F64  # [tables, 4]


class GroupTimes(NamedTuple):
    """What the members of a group have in common besides their place, and how far their time has come."""

    start: I64
    end: I64
    phase: I64
    every: I64
    cut: I64  # the second pane of a period begins after this much of it
    short: Flag  # windows shorter than the period: its first pane is in no window
    first_end: I64  # of the first window there is
    passed: I64
    closed: Flag


class Members(NamedTuple):
    """Members of the tables."""

    table_group: I32
    offsets: I64
    window: I64
    live: Flag
    alive: I64  # [tables] how many members live


@kernel
def join_groups(order: I64, key: I64, joinable: Flag, boxes: F64, group: I32, shared: F64) -> int:
    """Give every region the group whose saving grows most, or one of its own; returns how many groups.

    ``shared`` gets the intersection of each group. With m regions that share an area of I, a group saves (m - 1) I;
    joining changes that to m I', which must be more.
    """
    size = np.zeros(order.shape[0], np.int64)
    groups, first, last_key = 0, 0, -1
    for place in range(order.shape[0]):
        c = order[place]
        if key[c] != last_key:
            first, last_key = groups, key[c]
        best, most = -1, 0.0
        if joinable[c]:
            for g in range(max(first, groups - LOOK_BACK), groups):
                if size[g] == 0 or size[g] >= MOST_REGIONS:
                    continue
                west, south = max(shared[g, 0], boxes[c, 0]), max(shared[g, 1], boxes[c, 1])
                east, north = min(shared[g, 2], boxes[c, 2]), min(shared[g, 3], boxes[c, 3])
                if south >= north or (boxes[c, 0] <= boxes[c, 2] and west >= east):
                    continue
                old = area(shared[g, 0], shared[g, 1], shared[g, 2], shared[g, 3])
                gain = size[g] * area(west, south, east, north) - (size[g] - 1) * old
                if gain > most:
                    best, most = g, gain
        if best < 0:
            best = groups
            groups += 1
            shared[best] = boxes[c]
            size[best] = 1 if joinable[c] else 0
        else:
            shared[best, 0], shared[best, 1] = max(shared[best, 0], boxes[c, 0]), max(shared[best, 1], boxes[c, 1])
            shared[best, 2], shared[best, 3] = min(shared[best, 2], boxes[c, 2]), min(shared[best, 3], boxes[c, 3])
            size[best] += 1
        group[c] = best
    return groups


@kernel
def area(west: float, south: float, east: float, north: float) -> float:
    """Square degrees of a box."""
    width = east - west if west <= east else east - west + 360.0
    return width * (north - south)


@kernel
def fill_cells(hull: F64, grid: F64, side: int, cursor: I64, out: I32) -> int:
    """Put every group into the cells its hull meets, or only count (``out`` empty): entries per cell in ``cursor``."""
    total = 0
    for g in range(hull.shape[0]):
        low, high = step_of(hull[g, 0], grid[0], grid[2], side - 1), step_of(hull[g, 2], grid[0], grid[2], side - 1)
        bottom, top = step_of(hull[g, 1], grid[1], grid[3], side - 1), step_of(hull[g, 3], grid[1], grid[3], side - 1)
        crossing = hull[g, 0] > hull[g, 2]
        for y in range(bottom, top + 1):
            for x in range(side):
                if (x >= low or x <= high) if crossing else (low <= x <= high):
                    cell = y * side + x
                    if out.shape[0]:
                        out[cursor[cell]] = g
                    cursor[cell] += 1
                    total += 1
    return total


@kernel
def within(lon: float, lat: float, boxes: F64, row: int) -> bool:
    """Whether a point is in a closed box that may cross the antimeridian."""
    west, east = boxes[row, 0], boxes[row, 2]
    if lat < boxes[row, 1] or lat > boxes[row, 3]:
        return False
    if west <= east:
        return bool(west <= lon <= east)
    return bool(lon >= west or lon <= east)


@kernel
def match_groups(
    lon: F64, lat: F64, first: int, side: int, at: GroupBoxes, out_object: I32, out_table: I32
) -> tuple[int, int, int]:
    """Tables of each object: the common one of a group, or the own ones of the members it is in.

    Returns the object to resume at, the pairs written and the boxes compared.
    """
    n = compared = 0
    room = out_object.shape[0]
    for i in range(first, lon.shape[0]):
        before, tested = n, compared
        x, y = step_of(lon[i], at.grid[0], at.grid[2], side - 1), step_of(lat[i], at.grid[1], at.grid[3], side - 1)
        cell = y * side + x
        for entry in range(at.cell_offsets[cell], at.cell_offsets[cell + 1]):
            g = at.cell_groups[entry]
            low, high = at.table_offsets[g], at.table_offsets[g + 1]
            if n + high - low > room:
                return i, before, tested
            compared += 1
            if not within(lon[i], lat[i], at.hull, g):
                continue
            if high - low > 1:
                compared += 1
            if high - low == 1 or within(lon[i], lat[i], at.boxes, low):
                out_object[n], out_table[n] = i, low
                n += 1
                continue
            for t in range(low + 1, high):
                compared += 1
                if within(lon[i], lat[i], at.boxes, t):
                    out_object[n], out_table[n] = i, t
                    n += 1
    return lon.shape[0], n, compared


@kernel
def place_pairs(
    obj: I32,
    table: I32,
    ts: I64,
    times: GroupTimes,
    members: Members,
    slot: I32,
    slot_table: I32,
    slot_pane: I64,
    found: I32,
) -> tuple[int, int]:
    """Slot (table, pane) of every pair, -1 where it does not count: how many slots, and how many late.

    ``found`` is a hash table of slots, -1 where empty; when it is half full the answer is -1 slots. An object is late
    for a member that has closed, or that has reported a window which should have had it.
    """
    tables = members.table_group.shape[0]
    last_slot = np.full(tables, -1, np.int32)
    mask = found.shape[0] - 1
    slots = late = 0
    for p in range(obj.shape[0]):
        slot[p] = -1
        t = table[p]
        g = members.table_group[t]
        at = ts[obj[p]]
        if members.alive[t] == 0 or at < times.start[g] or at >= times.end[g]:
            continue
        x = at - times.phase[g]
        period = -((-x) // times.every[g])
        end = max(times.phase[g] + period * times.every[g], times.first_end[g])
        if end > times.end[g]:
            continue  # in no window there is
        if times.closed[g] or end < times.passed[g]:
            for m in range(members.offsets[t], members.offsets[t + 1]):
                if members.live[m] and end - members.window[m] < at:
                    late += 1
        if times.closed[g]:
            continue
        into = x - (period - 1) * times.every[g]
        second = into > times.cut[g]
        if times.short[g] and not second:
            continue
        pane = 2 * period + (1 if second else 0)
        s = last_slot[t]
        if s < 0 or slot_pane[s] != pane:
            h = slot_hash((int(t) << 31) ^ (pane & 0x7FFFFFFF)) & mask
            while found[h] >= 0 and (slot_table[found[h]] != t or slot_pane[found[h]] != pane):
                h = (h + 1) & mask
            s = found[h]
            if s < 0:
                if 2 * slots >= found.shape[0]:
                    return -1, 0
                s = slots
                found[h], slot_table[s], slot_pane[s] = s, t, pane
                slots += 1
            last_slot[t] = s
        slot[p] = s
    return slots, late


@kernel
def sort_pairs(obj: I32, slot: I32, rank: I32, cursor: I64, out: I32) -> None:
    """Objects of each slot one after the other; ``cursor`` holds the start of every slot by rank."""
    for p in range(obj.shape[0]):
        if slot[p] >= 0:
            r = rank[slot[p]]
            out[cursor[r]] = obj[p]
            cursor[r] += 1


@kernel
def slot_sizes(slot: I32, rank: I32, sizes: I64) -> None:
    """Pairs of each slot, by rank."""
    for p in range(slot.shape[0]):
        if slot[p] >= 0:
            sizes[rank[slot[p]]] += 1
