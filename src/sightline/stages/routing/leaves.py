"""Who has what: the leaves of the epoch in force as rows, and the leaves that one query would visit.

The **load** of a leaf is `objects x (1 + subscriptions)`: each object it owned so far costs one unit to keep and one
for every subscription that visits the leaf today. It is PS2Stream's Definition 1 with both constants 1 and without
the cost of registering (ours): it ranks leaves and shows how even the workers are; it is no time. The partitioners
themselves weigh by the cost models of their papers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from sightline.flat.arrays import F64, I64
from sightline.index.standing.block import KIND_NEAREST, QueryBlock
from sightline.model.errors import BadSource
from sightline.model.queries import Query
from sightline.model.space import Space
from sightline.partition import Routing
from sightline.partition.optional import owners_of, settled, settles
from sightline.stages.exchange.mapped import FILES
from sightline.stages.registered.book import SubscriptionBook
from sightline.stages.routing.asked_block import asked_block
from sightline.stages.routing.epoch_files import open_routing
from sightline.stages.routing.epochs import leaf_objects
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store

__all__ = ["LISTED", "leaf_rows", "reasons", "routes_of", "visits"]

BOX_SIDES = ["west", "south", "east", "north"]
LEAF_COLUMNS = ["leaf", "split", *BOX_SIDES, "keywords", "objects", "subscriptions", "load", "worker"]
LISTED = 20  # leaves that an explanation names
PAIRS_AT_ONCE = 1 << 23  # (query, leaf) looked at in one go: a wide query visits every leaf there is


def leaf_rows(store: Store, book: SubscriptionBook) -> tuple[pa.Table, dict[str, Any]]:
    """One row per leaf of the epoch in force; and the epoch, with its workers and what each of them has."""
    snapshot = store.commits.refresh()
    if not snapshot.epochs:
        raise BadSource("the store has no epoch yet", value=str(store.path), hint="load or run something first")
    routing, leaves = _in_force(store, snapshot, book)
    live = book.live()
    objects = leaf_objects(snapshot, routing)
    visitors, stands = np.zeros(len(leaves), np.int64), np.zeros(routing.workers, np.int64)
    if len(live):
        block = book.block(live)
        visitors = visits(routing, block, len(leaves))
        stands = np.bincount(routing.route_queries(block).worker, minlength=routing.workers)
    for name, column in (("objects", objects), ("subscriptions", visitors), ("load", objects * (1 + visitors))):
        leaves = leaves.append_column(name, pa.array(column))
    epoch = snapshot.epochs[-1]
    said = {
        "epoch": epoch.number,
        "partitioner": epoch.partitioner,
        "why": epoch.why,
        "subscriptions": len(live),
        "workers": _by_worker(leaves, stands),
    }
    return leaves.select(LEAF_COLUMNS), said


def visits(routing: Routing, block: QueryBlock, leaves: int) -> I64:
    """How many queries of a block visit each leaf."""
    counts = np.zeros(leaves, np.int64)
    step = max(1, PAIRS_AT_ONCE // max(1, leaves))
    for first in range(0, len(block), step):
        some = block if step >= len(block) else block.take(np.arange(first, min(first + step, len(block))))
        counts += np.bincount(routing.leaves_of(some).leaf, minlength=leaves)
    return counts


def routes_of(query: Query, store: Store, book: SubscriptionBook) -> dict[str, Any]:
    """Where a query goes under the epoch in force, as the part ``routes`` of an explanation; empty without an epoch.

    ``leaves`` may own an object it asks for (the first 20 of ``total``), ``workers`` serve those leaves; on
    ``stands`` it would stand if it were subscribed to now.
    """
    snapshot = store.commits.refresh()
    if not snapshot.epochs:
        return {}
    routing, leaves = _in_force(store, snapshot, book)
    block = asked_block([query], store.config, first_num=len(book))
    visited = leaves.take(pa.array(owners_of(routing, block).leaf))
    why = reasons(block, visited, store.config.space)
    listed = visited.select(["leaf", "worker", "split", *BOX_SIDES, "keywords"]).slice(0, LISTED).to_pylist()
    epoch = snapshot.epochs[-1]
    return {
        "routes": {
            "epoch": epoch.number,
            "partitioner": epoch.partitioner,
            "total": len(visited),
            "of": len(leaves),
            "why": dict(Counter(why)),
            "leaves": [{**leaf, "why": said} for leaf, said in zip(listed, why, strict=False)],
            "workers": np.unique(visited["worker"].to_numpy()).tolist(),
            "stands": np.unique(routing.route_queries(block).worker).tolist(),
        }
    }


def reasons(block: QueryBlock, visited: pa.Table, space: Space) -> list[str]:
    """Why the one query of a block visits these leaves.

    Words exclude none, not even where a leaf is bound to some: an object has other words than those asked for.
    """
    boxes = _boxes(visited)
    west, south, east, north = (block.piece_box[:, side][:, None] for side in range(4))
    meets = (west <= boxes[:, 2]) & (boxes[:, 0] <= east) & (south <= boxes[:, 3]) & (boxes[:, 1] <= north)
    whole = np.asarray(space.bounds)
    everywhere = (boxes[:, :2] <= whole[:2]).all(axis=1) & (boxes[:, 2:] >= whole[2:]).all(axis=1)
    nearest = np.full(len(boxes), block.kind[0] == KIND_NEAREST)
    place = np.select(
        [nearest, everywhere, meets.any(axis=0)],
        ["any place may have one of the k nearest", "the leaf spans the whole space", "its region meets the leaf"],
        "the partitioner sends it there",
    )
    word = ", and any word of an object may have put it there"
    bound = visited["keywords"].to_numpy() > 0
    return [said + word if some else said for said, some in zip(place.tolist(), bound.tolist(), strict=True)]


def _in_force(store: Store, snapshot: Snapshot, book: SubscriptionBook) -> tuple[Routing, pa.Table]:
    """The routing of the newest epoch as of now, and its leaves in the order of their numbers."""
    routing = FILES.get(str(store.path), snapshot.epochs[-1].file, "routing", open_routing)
    book.refresh()
    live = book.live()
    if len(live) and settles(routing):
        routing = settled(routing, book.block(live), book.dropped_between(-1, book.position))
    return routing, routing.leaf_table().sort_by("leaf")


def _boxes(leaves: pa.Table) -> F64:
    return np.column_stack([leaves[side].to_numpy() for side in BOX_SIDES]).astype(np.float64)


def _by_worker(leaves: pa.Table, stands: I64) -> list[dict[str, int]]:
    """Leaves, objects and load of each worker, and the subscriptions that stand on it."""
    worker = leaves["worker"].to_numpy()
    totals = np.zeros((len(stands), 3), np.int64)
    objects, load = leaves["objects"].to_numpy(), leaves["load"].to_numpy()
    np.add.at(totals, worker, np.column_stack([np.ones_like(worker), objects, load]))
    return [
        {"worker": i, "leaves": has, "objects": owned, "subscriptions": held, "load": cost}
        for i, ((has, owned, cost), held) in enumerate(zip(totals.tolist(), stands.tolist(), strict=True))
    ]
