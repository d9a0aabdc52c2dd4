"""Flat arrays of blocks: built from an order of the rows, opened from a file, and the form a query takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sightline.flat.arrays import I64, frozen
from sightline.flat.records import frozen_fields
from sightline.index._kernels import Conjuncts
from sightline.index.objects._kernels import gather_lists, invert
from sightline.index.objects.blocks import _kernels
from sightline.index.objects.blocks._kernels import BlockArrays, FrequencyTables
from sightline.index.protocol import Conjunct, ObjectColumns

__all__ = ["NO_TABLES", "asked_of", "build_blocks", "open_blocks", "open_tables"]

_F, _I, _J = np.float64, np.int64, np.int32

NO_TABLES = frozen_fields(FrequencyTables, ([0], [], [], []))


def build_blocks(
    objects: ObjectColumns, order: I64, firsts: I64, levels: I64, fanout: int, posting: type[np.uint8 | np.int32]
) -> BlockArrays:
    """Arrays of the rows ``order``, cut into blocks at ``firsts``, under nodes numbered by ``levels``.

    ``posting`` is the type that counts the rows of a block.
    """
    terms = objects.terms
    lon, lat, ts = frozen(objects.lon[order], _F), frozen(objects.lat[order], _F), frozen(objects.ts[order], _I)
    offsets, ids = gather_lists(frozen(order, _I), frozen(terms.offsets, _I), frozen(terms.ids, _J))
    offsets, firsts, levels = frozen(offsets, _I), frozen(firsts, _I), frozen(levels, _I)
    nodes = int(levels[-1])
    boxes = np.tile(np.array([np.inf, np.inf, -np.inf, -np.inf]), (nodes, 1))
    spans = np.tile(np.array([np.iinfo(_I).max, np.iinfo(_I).min]), (nodes, 1))
    _kernels.bound_nodes(lon, lat, ts, firsts, levels, fanout, boxes, spans)
    postings = np.empty(ids.size, posting)
    starts, rows = invert(offsets, frozen(ids, _J), len(terms.dictionary))
    lists, list_terms, list_ends = _kernels.invert_blocks(
        frozen(starts, _I), frozen(rows, _J), offsets, firsts, postings
    )
    return BlockArrays(lon, lat, ts, offsets, ids, firsts, levels, boxes, spans, lists, list_terms, list_ends, postings)


def open_blocks(arrays: Callable[[str], Any]) -> BlockArrays:
    """Blocks over (mapped) arrays."""
    values = [arrays(name) for name in BlockArrays._fields]
    return frozen_fields(BlockArrays, values)


def open_tables(arrays: Callable[[str], Any]) -> FrequencyTables:
    """Term-frequency tables over (mapped) arrays."""
    return frozen_fields(FrequencyTables, (arrays(name) for name in FrequencyTables._fields))


def asked_of(conjuncts: Sequence[Conjunct]) -> Conjuncts:
    """Conjuncts as flat arrays."""
    sides = [[list(conjunct[side]) for conjunct in conjuncts] for side in (0, 1)]
    flat: list[Any] = []
    for lists in sides:
        flat += [np.cumsum([0, *map(len, lists)]), [term for terms in lists for term in terms]]
    return frozen_fields(Conjuncts, flat)
