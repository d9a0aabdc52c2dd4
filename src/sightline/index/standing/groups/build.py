"""Which top-terms queries share a table, and which tables an object belongs to (SSTD section 6.1, Fig. 6).

The paper puts queries into groups by their regions. A group has one *common* table of term counts for the intersection
of its regions and, for every member, an *own* table for the rest of its region; an object in the intersection is
counted once for all members. It does not say who joins whom. Ours:

* Only queries with the same panes and the same lifetime can share: equal ``every``, equal phase (anchor modulo
  ``every``), equal cut (window modulo ``every``). Windows of different length that are multiples of ``every`` have the
  same panes.
* Equal regions are one region with several members. That holds for circles and polygons too; different regions are
  intersected only if both are boxes, and both or neither cross the antimeridian.
* A box joins the group whose saving grows most (square degrees stand for objects), if any grows: with m regions that
  have the area I in common a group saves (m - 1) I. Boxes are asked from large to small, each octave of size along
  the curve, and compared with the last `LOOK_BACK` groups; a group has at most `MOST_REGIONS` different regions.

Groups are made anew from the queries at hand and are never stored; counts are stored with the numbers they count for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sightline.flat.arrays import F64, I32, I64, Flag, frozen, offsets_of
from sightline.geo.contains import inside_pairs
from sightline.geo.curve import curve_keys
from sightline.index.standing.block import QueryBlock
from sightline.index.standing.groups._kernels import GroupBoxes, fill_cells, join_groups, match_groups
from sightline.model.space import Space

__all__ = ["SubscriptionGroups", "TablePairs"]

SIDE = 64  # grid cells per axis, fewer where large hulls would fill too many
FIRST_ROOM = 1 << 18
_BOX = 0


class TablePairs(NamedTuple):
    """Pairs (object row, table), each once, ascending by object; and the boxes compared."""

    object: I32
    table: I32
    compared: int


@dataclass(frozen=True, slots=True, eq=False)
class SubscriptionGroups:
    """Groups over the rows of a block.

    Parameters
    ----------
    block : the top-terms queries
    row_group : int32[queries]
    first_row : int64[groups]
        A member of each group, for what all of them have in common.
    table_offsets : int64[groups + 1]
        A group of one region has one table; else the common table, then one per region.
    member_offsets, members : int64[tables + 1], int32[]
        Rows that a table counts for.
    """

    block: QueryBlock
    space: Space
    row_group: I32
    first_row: I64
    table_group: I32
    member_offsets: I64
    members: I32
    boxes: GroupBoxes
    side: int
    exact: I64  # per table: the row whose region must be asked after its box, -1 for boxes

    @property
    def tables(self) -> int:
        """Number of tables."""
        return int(self.table_group.size)

    @classmethod
    def build(
        cls, block: QueryBlock, space: Space, age: npt.ArrayLike = 0, *, shared: bool = True
    ) -> SubscriptionGroups:
        """Group a block of top-terms queries; members of a group have the same ``age``. ``shared`` off: no groups."""
        n = len(block)
        boxes = _hulls(block)
        if shared:
            panes = _distinct(
                [
                    np.broadcast_to(np.asarray(age, np.int64), n),
                    block.start,
                    block.end,
                    block.every,
                    -block.window % block.every,
                    block.window < block.every,
                    block.anchor % block.every,
                ]
            )
            region = _distinct([panes, block.regions.kind, *block.regions.params.view(np.int64).T, _shapes(block)])
        else:
            panes = region = np.arange(n, dtype=np.int64)
        regions = int(region.max()) + 1
        row = np.empty(regions, np.int64)
        row[region[::-1]] = np.arange(n - 1, -1, -1)  # the first row of each region
        box = boxes[row]
        joinable = block.regions.kind[row] == _BOX if shared else np.zeros(regions, np.bool_)
        key = _distinct([panes[row], box[:, 0] > box[:, 2]])
        group, common = np.empty(regions, np.int32), np.empty((regions, 4), np.float64)
        order = _asking_order(box, key, space)
        count = join_groups(
            frozen(order, np.int64),
            frozen(key, np.int64),
            frozen(joinable, np.bool_),
            frozen(box, np.float64),
            group,
            common,
        )
        return cls._with_tables(block, space, region, row, box, group, common[:count])

    @classmethod
    def _with_tables(
        cls, block: QueryBlock, space: Space, region: I64, row: I64, box: F64, group: I32, common: F64
    ) -> SubscriptionGroups:
        """Number the tables; ``row``, ``box`` and ``group`` are those of the different regions."""
        groups = len(common)
        order = np.argsort(group, kind="stable")
        first = offsets_of(group[order], groups)
        size = np.diff(first)
        table_offsets = np.concatenate([[0], np.cumsum(np.where(size == 1, 1, size + 1))]).astype(np.int64)
        tables = int(table_offsets[-1])
        own = np.empty(len(row), np.int64)  # table of each region alone
        own[order] = table_offsets[group[order]] + np.arange(len(row)) - first[group[order]] + (size[group[order]] > 1)
        table_box = np.empty((tables, 4), np.float64)
        table_box[table_offsets[:-1]] = common
        table_box[own] = box
        exact = np.full(tables, -1, np.int64)
        exact[own] = np.where(block.regions.kind[row] == _BOX, -1, row)
        row_group = group[region]
        several = size[row_group] > 1
        table = np.concatenate([table_offsets[row_group], own[region[several]]])
        member = np.concatenate([np.arange(len(block)), np.flatnonzero(several)])
        by_table = np.argsort(table, kind="stable")
        hull = _around(box[order], first[:-1])
        side, grid, cell_offsets, cell_groups = _cells(hull)
        boxes = GroupBoxes(
            frozen(grid, np.float64),
            frozen(cell_offsets, np.int64),
            frozen(cell_groups, np.int32),
            frozen(hull, np.float64),
            frozen(table_offsets, np.int64),
            frozen(table_box, np.float64),
        )
        return cls(
            block,
            space,
            row_group,
            row[order[first[:-1]]],
            np.repeat(np.arange(groups, dtype=np.int32), np.diff(table_offsets)),
            offsets_of(table[by_table], tables),
            member[by_table].astype(np.int32),
            boxes,
            side,
            exact,
        )

    def match(self, lon: npt.ArrayLike, lat: npt.ArrayLike) -> TablePairs:
        """The tables every object belongs to, whatever its time."""
        x, y = frozen(lon, np.float64), frozen(lat, np.float64)
        parts: list[tuple[I32, I32]] = []
        row, compared, room = 0, 0, max(FIRST_ROOM, self.tables)
        while row < x.size:
            out = np.empty(room, np.int32), np.empty(room, np.int32)
            row, n, tested = match_groups(x, y, row, self.side, self.boxes, *out)
            parts.append((out[0][:n], out[1][:n]))
            compared += tested
            room *= 2
        if not parts:
            return TablePairs(np.empty(0, np.int32), np.empty(0, np.int32), 0)
        rows, tables = parts[0] if len(parts) == 1 else (np.concatenate(column) for column in zip(*parts, strict=True))
        if (self.exact >= 0).any():
            rows, tables = self._exactly(rows, tables, x, y)
        return TablePairs(rows, tables, compared)

    def _exactly(self, rows: I32, tables: I32, x: F64, y: F64) -> tuple[I32, I32]:
        """The pairs inside circles and polygons, of which the kernel knows the boxes only."""
        doubtful = np.flatnonzero(self.exact[tables] >= 0)
        keep: Flag = np.ones(rows.size, np.bool_)
        at = rows[doubtful]
        keep[doubtful] = inside_pairs(self.block.regions, self.space, self.exact[tables[doubtful]], x[at], y[at])
        return rows[keep], tables[keep]


def _distinct(columns: Sequence[npt.NDArray[Any]]) -> I64:
    """Number of the combination of values in every row, counted from 0."""
    order = np.lexsort([np.ascontiguousarray(column) for column in columns])
    fresh = np.zeros(order.size, np.bool_)
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    out = np.empty(order.size, np.int64)
    out[order] = np.cumsum(fresh)
    return out


def _shapes(block: QueryBlock) -> I64:
    """A number for every different polygon, 0 for other regions."""
    out = np.zeros(len(block), np.int64)
    known: dict[bytes, int] = {b"": 0}
    offsets = block.regions.polygon_offsets
    for row in np.flatnonzero(np.diff(offsets)).tolist():
        blob = block.regions.polygon_data[offsets[row] : offsets[row + 1]].tobytes()
        out[row] = known.setdefault(blob, len(known))
    return out


def _hulls(block: QueryBlock) -> F64:
    """One box around each region; two pieces are the two sides of the antimeridian."""
    first = offsets_of(block.piece_query, len(block))
    boxes: F64 = block.piece_box[first[:-1]].copy()
    boxes[:, 2] = block.piece_box[first[1:] - 1, 2]
    return boxes


def _asking_order(box: F64, key: I64, space: Space) -> I64:
    """By key, from large to small boxes, and along the curve within an octave of size."""
    width = np.where(box[:, 0] > box[:, 2], box[:, 2] - box[:, 0] + 360.0, box[:, 2] - box[:, 0])
    size = width * (box[:, 3] - box[:, 1])
    octave = np.floor(np.log2(np.maximum(size, 1e-30)))
    curve = curve_keys((box[:, 0] + box[:, 2]) / 2, (box[:, 1] + box[:, 3]) / 2, space.bounds)
    order: I64 = np.lexsort((curve, -octave, key))
    return order


def _around(boxes: F64, first: I64) -> F64:
    """Box around each run of boxes; of those that cross the antimeridian the hull does, or has all longitudes."""
    hull = np.column_stack(
        [
            np.minimum.reduceat(boxes[:, 0], first),
            np.minimum.reduceat(boxes[:, 1], first),
            np.maximum.reduceat(boxes[:, 2], first),
            np.maximum.reduceat(boxes[:, 3], first),
        ]
    )
    all_around = (boxes[first, 0] > boxes[first, 2]) & (hull[:, 0] <= hull[:, 2])
    hull[all_around, 0], hull[all_around, 2] = -180.0, 180.0
    return hull


def _cells(hull: F64) -> tuple[int, F64, I64, I32]:
    """Grid over the hulls: cells per axis, origin and scale, and the groups of each cell."""
    low, high = np.minimum(hull[:, :2], hull[:, 2:]).min(axis=0), np.maximum(hull[:, :2], hull[:, 2:]).max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    side, nobody = SIDE, np.empty(0, np.int32)
    hulls = frozen(hull, np.float64)
    while True:
        grid = np.concatenate([low, side / span])
        sizes = np.zeros(side * side, np.int64)
        entries = fill_cells(hulls, frozen(grid, np.float64), side, sizes, nobody)
        if side == 1 or entries <= 16 * len(hull) + (1 << 16):
            break
        side //= 2
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = np.empty(entries, np.int32)
    fill_cells(hulls, frozen(grid, np.float64), side, offsets[:-1].copy(), groups)
    return side, grid, offsets, groups
