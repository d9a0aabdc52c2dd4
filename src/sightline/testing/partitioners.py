"""What the engine relies on in a partitioner (the contract of :class:`sightline.partition.Routing`).

Every check takes the class; ``PARTITIONER_CHECKS`` has all of them (see :mod:`sightline.testing.standing_indexes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.index.protocol import ObjectColumns
from sightline.index.standing.block import KIND_TOP_TERMS
from sightline.model.queries import NearestQuery, RangeQuery, TopTermsQuery
from sightline.partition.history import History
from sightline.partition.optional import owners_of
from sightline.partition.protocol import Routing
from sightline.testing import small_worlds as worlds
from sightline.testing.small_worlds import Row, block_of, columns_of, config_of, has_words, lies_in

__all__ = ["PARTITIONER_CHECKS", "can_match", "made"]

Asked = RangeQuery | NearestQuery | TopTermsQuery
Past = tuple[list[Row], list[Asked], list[Asked]]  # objects, standing queries, searches

CONFIG = config_of()
_rows = st.lists(
    st.one_of(worlds.rows, st.builds(Row, st.floats(-180, 180), st.floats(-90, 90), st.just(0), worlds.texts)),
    min_size=1,
    max_size=30,
)
_asked: st.SearchStrategy[list[Asked]] = st.lists(
    st.one_of(worlds.ranges, worlds.nearests, worlds.top_terms), min_size=1, max_size=8
)
_pasts: st.SearchStrategy[Past | None] = st.one_of(
    st.none(), st.tuples(st.one_of(st.just([]), _rows), st.one_of(st.just([]), _asked), _asked)
)


def made(kind: type[Routing], past: Past | None, workers: int) -> Routing:
    """A plain routing, or one fitted to a history."""
    if past is None:
        return kind.start(CONFIG.space, workers)
    objects, standing, searches = past
    history = History(objects_of(objects), block_of(standing, CONFIG), block_of(searches, CONFIG), 60_000_000)
    return kind.fitted(history, CONFIG.space, workers)


def objects_of(rows: Sequence[Row]) -> ObjectColumns:
    """The objects as routers get them."""
    return columns_of(rows, CONFIG)


def can_match(row: Row, query: Asked) -> bool:
    """Whether an object may be in an answer: nearest queries know no distance, top terms no words."""
    words = isinstance(query, TopTermsQuery) or has_words(query.keywords, row)
    return words and (isinstance(query, NearestQuery) or lies_in(query.region, row, CONFIG.space))


def _pairs(first: npt.NDArray[np.int32], second: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    return list(zip(first.tolist(), second.tolist(), strict=True))


@given(past=_pasts, rows=_rows, queries=_asked, workers=st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def what_can_match_meets(
    kind: type[Routing], past: Past | None, rows: list[Row], queries: list[Asked], workers: int
) -> None:
    """Completeness, and no pair twice unless declared; top terms meet the owner. Company moves no query; a search
    visits the owners of what it finds."""
    routing = made(kind, past, workers)
    block = block_of(queries, CONFIG)
    routes, stands = routing.router().route_objects(objects_of(rows)), routing.route_queries(block)
    assert routes.worker.tolist() == sorted(routes.worker.tolist())
    sent = _pairs(routes.row, routes.worker)
    assert len(set(sent)) == len(sent)
    assert all((row, owner) in set(sent) for row, owner in enumerate(routes.owner.tolist()))
    assert routing.spreads or len(sent) == len(rows)
    assert 0 <= routes.worker.min() <= routes.worker.max() < workers
    standing = _pairs(stands.query, stands.worker)
    assert len(set(standing)) == len(standing)
    assert stands.worker.tolist() == sorted(stands.worker.tolist())
    some = np.arange(len(queries))[::-2]
    fewer = routing.route_queries(block.take(some))
    assert {(int(some[q]), w) for q, w in _pairs(fewer.query, fewer.worker)} == {p for p in standing if p[0] in some}
    asked = owners_of(routing, block)
    visits = set(_pairs(asked.query, asked.leaf))
    for i, row in enumerate(rows):
        for q, query in enumerate(queries):
            if not can_match(row, query):
                continue
            met = {w for r, w in sent if r == i} & {w for p, w in standing if p == q}
            assert met, (query, row)
            assert (q, int(routes.leaf[i])) in visits
            if block.kind[q] == KIND_TOP_TERMS:
                assert routes.owner[i] in met
            elif not routing.duplicates:
                assert len(met) == 1


@given(past=_pasts, rows=_rows, workers=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def the_owner_is_the_objects_own(kind: type[Routing], past: Past | None, rows: list[Row], workers: int) -> None:
    """Neither order nor company changes it, unless the routing learns; a mapped routing says the same."""
    routing = made(kind, past, workers)
    owner = routing.router().route_objects(objects_of(rows)).owner
    assert routing.router().route_objects(objects_of(rows)).owner.tolist() == owner.tolist()
    if not routing.learns:
        assert routing.router().route_objects(objects_of(rows[::-1])).owner.tolist() == owner[::-1].tolist()
        alone = [int(routing.router().route_objects(objects_of([row])).owner[0]) for row in rows]
        assert alone == owner.tolist()
    again = kind.from_arrays(worlds.mapped(routing.to_arrays()))
    assert again.router().route_objects(objects_of(rows)).owner.tolist() == owner.tolist()
    assert again.workers == workers


@given(past=_pasts, rows=_rows, queries=_asked, workers=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def what_was_learnt_is_not_forgotten(
    kind: type[Routing], past: Past | None, rows: list[Row], queries: list[Asked], workers: int
) -> None:
    """Routers that know what others have learnt are as exact."""
    routing = made(kind, past, workers)
    first, second = routing.router(), routing.router()
    half = len(rows) // 2
    if half:
        first.route_objects(objects_of(rows[:half]))
    second.route_objects(objects_of(rows[half:]))
    parts = [learnt for learnt in (first.learnt(), second.learnt()) if learnt]
    assert bool(parts) <= routing.learns
    if not parts:
        return
    whole = routing.merged([worlds.mapped(part) for part in parts])
    routes = routing.router([whole]).route_objects(objects_of(rows))
    stands = routing.route_queries(block_of(queries, CONFIG))
    sent, standing = _pairs(routes.row, routes.worker), _pairs(stands.query, stands.worker)
    for i, row in enumerate(rows):
        for q, query in enumerate(queries):
            if can_match(row, query):
                assert {w for r, w in sent if r == i} & {w for p, w in standing if p == q}, (query, row)


@given(past=_pasts, rows=_rows, queries=_asked, workers=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def leaves_can_be_looked_at(
    kind: type[Routing], past: Past | None, rows: list[Row], queries: list[Asked], workers: int
) -> None:
    """The table of leaves, the leaves of objects and those of queries speak of the same leaves."""
    routing = made(kind, past, workers)
    table = routing.leaf_table()
    assert table.column_names == ["leaf", "worker", "split", "west", "south", "east", "north", "keywords"]
    assert table["leaf"].to_pylist() == list(range(table.num_rows))
    assert set(table["worker"].to_pylist()) <= set(range(workers))
    leaf = routing.router().route_objects(objects_of(rows)).leaf
    assert 0 <= leaf.min() <= leaf.max() < table.num_rows
    leaves = routing.leaves_of(block_of(queries, CONFIG))
    visited = _pairs(leaves.query, leaves.leaf)
    assert visited == sorted(set(visited))
    assert {q for q, _ in visited} == set(range(len(queries)))
    assert leaves.leaf.max() < table.num_rows
    dealt = routing.reassigned(np.ones(table.num_rows))
    assert dealt.leaf_table().num_rows == table.num_rows, "leaves are dealt anew, not made anew"


PARTITIONER_CHECKS: tuple[Callable[[type[Routing]], None], ...] = (
    what_can_match_meets,
    the_owner_is_the_objects_own,
    what_was_learnt_is_not_forgotten,
    leaves_can_be_looked_at,
)
