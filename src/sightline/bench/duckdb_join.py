"""What a user would write in SQL for standing range queries: a join by cell and keyword, in DuckDB.

Queries stand exploded in a table, one row per cell of a grid that the region meets, keyed by cell and rarest keyword.
A batch of posts lies in a table with its words as lists; one statement explodes it to cell and word, joins, and
verifies box and remaining keywords. That statement is what is timed, up to the pairs as NumPy arrays, on one thread;
words are numbered beforehand, which the product has to do in its own time. ``FORMULATIONS`` are several ways to
say the same: the plain one is what one writes first, the others are what an expert arrives at. Which one is fastest
depends on the load, so :meth:`DuckdbJoin.tune` tries them, and both the plain one and the fastest are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.bench.extras import extra
from sightline.bench.flat_queries import FlatObjects, FlatQueries
from sightline.bench.timing import seconds
from sightline.bench.workload import Bounds

__all__ = ["FORMULATIONS", "PLAIN_JOIN", "JoinChoice", "DuckdbJoin"]

GRIDS = (32, 64)
_TWICE_S = 1.0  # a trial shorter than this is made twice
_TERMS = 1 << 24  # keys are cell * _TERMS + word
_BOX = "lon BETWEEN west AND east AND lat BETWEEN south AND north"
_REST = "(k2 < 0 OR list_contains(words, k2)) AND (k3 < 0 OR list_contains(words, k3))"

PLAIN_JOIN = "plain"
FORMULATIONS: dict[str, str] = {
    # The obvious one: word lists travel with every exploded row.
    PLAIN_JOIN: f"""
        SELECT o, q FROM (SELECT o, lon, lat, words, {{cell}} * {_TERMS} + unnest(words) AS key FROM objects)
        JOIN {{queries}} USING (key) WHERE {_BOX} AND {_REST}""",
    # Word lists are fetched for the pairs that pass the box.
    "late": f"""
        WITH e AS (SELECT o, lon, lat, {{cell}} * {_TERMS} + unnest(words) AS key FROM objects)
        SELECT o, q FROM (SELECT o, q, k2, k3 FROM e JOIN {{queries}} USING (key) WHERE {_BOX}) JOIN objects USING (o)
        WHERE {_REST}""",
    # The same, and pairs with a single keyword never meet the lists.
    "split": f"""
        WITH e AS MATERIALIZED (SELECT o, lon, lat, {{cell}} * {_TERMS} + unnest(words) AS key FROM objects),
        c AS MATERIALIZED (SELECT o, q, k2, k3 FROM e JOIN {{queries}} USING (key) WHERE {_BOX})
        SELECT o, q FROM c WHERE k2 < 0
        UNION ALL SELECT o, q FROM c JOIN objects USING (o) WHERE k2 >= 0 AND {_REST}""",
    # Remaining keywords by joins instead of lists.
    "joins": f"""
        WITH e AS MATERIALIZED (SELECT o, lon, lat, {{cell}} * {_TERMS} AS cell, unnest(words) AS word FROM objects),
        c AS MATERIALIZED (SELECT o, q, k2, k3 FROM e JOIN {{queries}} ON cell + word = key WHERE {_BOX})
        SELECT o, q FROM c WHERE k2 < 0
        UNION ALL SELECT c.o, q FROM c JOIN e ON c.o = e.o AND k2 = e.word WHERE k3 < 0
        UNION ALL SELECT c.o, q FROM c JOIN e ON c.o = e.o AND k2 = e.word JOIN e f ON c.o = f.o AND k3 = f.word""",
}


class JoinChoice(NamedTuple):
    """A formulation, and the cells along each side of the grid."""

    formulation: str
    grid: int


class DuckdbJoin:
    """Queries and a batch of posts in an in-memory database; close it, or use it in a ``with`` statement."""

    def __init__(self, queries: FlatQueries, objects: FlatObjects, bounds: Bounds) -> None:
        self._db: Any = extra("duckdb").connect(config={"threads": 1})
        self._bounds = bounds
        columns = {name: getattr(queries, name) for name in ("west", "south", "east", "north")}
        words = {f"k{i + 1}": np.ascontiguousarray(queries.words[:, i]) for i in range(queries.words.shape[1])}
        self._load("raw_queries", pa.table({"q": np.arange(len(queries), dtype=np.int32), **words, **columns}))
        posts = {"o": pa.array(np.arange(len(objects), dtype=np.int32)), "lon": objects.lon, "lat": objects.lat}
        self._load("objects", pa.table({**posts, "words": objects.lists()}))
        self._grids: set[int] = set()
        self.plain = self.choice = JoinChoice(PLAIN_JOIN, GRIDS[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def tune(self, grids: Sequence[int] = GRIDS) -> dict[str, float]:
        """Try every formulation on every grid; keep the fastest, and the plain one's better grid.

        Returns the best seconds of each formulation.
        """
        best: dict[str, tuple[float, int]] = {}
        for grid in grids:
            for name in FORMULATIONS:
                tried = JoinChoice(name, grid)
                taken = seconds(lambda t=tried: self.pairs(t))  # type: ignore[misc]
                if taken < _TWICE_S:
                    taken = min(taken, seconds(lambda t=tried: self.pairs(t)))  # type: ignore[misc]
                best[name] = min(best.get(name, (np.inf, 0)), (taken, grid))
        fastest = min(best, key=lambda name: best[name])
        self.choice, self.plain = JoinChoice(fastest, best[fastest][1]), JoinChoice(PLAIN_JOIN, best[PLAIN_JOIN][1])
        return {name: taken for name, (taken, _) in best.items()}

    def pairs(self, choice: JoinChoice | None = None) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Rows of posts and of queries that match."""
        formulation, grid = choice or self.choice
        self._explode(grid)
        cell = f"({self._cell('lon', 0, grid)} * {grid} + {self._cell('lat', 1, grid)})"
        found = self._db.execute(FORMULATIONS[formulation].format(cell=cell, queries=f"queries_{grid}")).fetchnumpy()
        return found["o"], found["q"]

    def _explode(self, grid: int) -> None:
        """The queries in the cells of a grid, made once; it is not part of the time of a batch."""
        if grid in self._grids:
            return
        spans = [
            f"LATERAL (SELECT unnest(range({self._cell(low, axis, grid)}, {self._cell(high, axis, grid)} + 1)) "
            f"AS c{axis}) s{axis}"
            for axis, (low, high) in enumerate((("west", "east"), ("south", "north")))
        ]
        self._db.execute(
            f"CREATE TABLE queries_{grid} AS SELECT (c0 * {grid} + c1) * {_TERMS} + k1 AS key, q, k2, k3, "
            f"west, south, east, north FROM raw_queries, {', '.join(spans)}"
        )
        self._grids.add(grid)

    def _cell(self, column: str, axis: int, grid: int) -> str:
        low, high = self._bounds[axis], self._bounds[axis + 2]
        cell = f"floor(({column} - {low!r}) * {grid / (high - low)!r})"
        return f"greatest(0, least({grid - 1}, {cell}))::BIGINT"

    def _load(self, name: str, table: pa.Table) -> None:
        self._db.register("arrow_rows", table)
        self._db.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_rows")
        self._db.unregister("arrow_rows")
