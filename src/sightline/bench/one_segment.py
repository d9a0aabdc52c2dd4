"""The frame of the benchmarks of a search: posts as one segment and as a store, queries in turn, figures at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sightline.bench.loads import Posts, two_sets
from sightline.bench.segments import IndexedPosts, SegmentQuery, asked_of, indexed, searcher_over
from sightline.bench.summary import Board
from sightline.bench.timing import rounded
from sightline.bench.workload import range_queries
from sightline.stages.search.search import Searcher

SEARCHED_AREAS = (1e-6, 1e-4, 1e-3, 1e-2)  # of the space
SEARCHED_KEYWORDS = (1, 2, 3)


class OneSegment(NamedTuple):
    """What is searched, and where its figures go."""

    posts: Posts
    built: IndexedPosts
    searcher: Searcher
    engine_rows: int
    queries: int
    seed: int
    dataset: Path | None
    board: Board

    @property
    def whole(self) -> bool:
        """Whether the store has all posts, so that answers can be compared."""
        return self.engine_rows == len(self.built.objects)

    def asked(self, area: float, keywords: int) -> list[SegmentQuery]:
        """Queries of so many keywords in boxes of this fraction of the space."""
        wanted = 2 * self.queries + 20
        table = range_queries(self.posts.source, wanted, "Z", area, self.seed, self.posts.bounds, (keywords, keywords))
        return asked_of(table, self.built.segment, self.queries)

    def result(self, **params: Any) -> dict[str, Any]:
        """Parameters, metrics over all loads, and the loads."""
        return {
            "params": {
                "objects": len(self.posts.objects), "queries": self.queries, **params, "seed": self.seed,
                "dataset": None if self.dataset is None else str(self.dataset), "engine_rows": self.engine_rows,
            },
            "metrics": self.board.metrics() | rounded(self.built.figures),
            "loads": self.board.loads,
        }  # fmt: skip


@contextmanager
def one_segment(objects: int, queries: int, seed: int, dataset: Path | None, quick: bool) -> Iterator[OneSegment]:
    """Index the posts, and commit the first million of them to a store; less of everything if ``quick``."""
    if quick:
        objects, queries = min(objects, 50_000), min(queries, 20)
    posts = two_sets(objects, 20 * queries, seed, dataset)
    built = indexed(posts.objects)
    with searcher_over(posts.objects) as (searcher, engine_rows):
        yield OneSegment(posts, built, searcher, engine_rows, queries, seed, dataset, Board())
