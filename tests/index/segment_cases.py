"""Worlds as segments, and questions to them as a search asks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sightline.index.objects.segment import Segment, build_segment
from sightline.index.protocol import Conjunct
from sightline.model.config import StoreConfig
from sightline.model.expression import Expression
from sightline.testing.small_worlds import Row, columns_of, config_of


def table_of(world: list[Row]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([f"o{i}" for i in range(len(world))], pa.string()),
            "lon": pa.array([r.lon for r in world], pa.float64()),
            "lat": pa.array([r.lat for r in world], pa.float64()),
            "ts": pa.array([r.ts for r in world], pa.timestamp("us", "UTC")),
            "text": pa.array([r.text for r in world], pa.string()),
        }
    )


def segment_of(world: list[Row], config: StoreConfig, name: str) -> Segment:
    data = build_segment(columns_of(world, config), table_of(world), name, config.space.bounds)
    return Segment.from_data(data)


def conjuncts_of(expression: Expression, segment: Segment, config: StoreConfig) -> list[Conjunct]:
    """What search does: local ids; conjuncts with an absent positive are dropped, absent negatives are no hindrance."""
    out: list[Conjunct] = []
    for c in expression.dnf().conjuncts:
        pos = segment.dictionary.lookup_strings(c.positive, config.seed, config.hash_bits).tolist()
        neg = segment.dictionary.lookup_strings(c.negative, config.seed, config.hash_bits).tolist()
        if -1 not in pos:
            out.append((pos, [t for t in neg if t >= 0]))
    return out


def ids_of(segment: Segment, found: np.ndarray) -> list[int]:
    assert found.dtype == np.int64
    return sorted(int(name[1:]) for name in segment.rows(found)["id"].to_pylist())


def opened_with_terms(kind, world: list[Row], params=None):
    """A reader of an index with parameters, and the term ids and places of its rows in its order."""
    objects = columns_of(world, config_of())
    order, arrays = kind.build(objects, (-180, -90, 180, 90), params)
    offsets, ids = objects.terms.offsets, objects.terms.ids
    terms = [set(ids[offsets[i] : offsets[i + 1]].tolist()) for i in order.tolist()]
    return kind.open(lambda name: arrays[name], len(world)), terms, [world[i] for i in order.tolist()]


def with_params(kind, params):
    """The index with parameters of its own, as checks take it."""
    return type(kind.__name__, (kind,), {"build": lambda objects, bounds: kind.build(objects, bounds, params)})
