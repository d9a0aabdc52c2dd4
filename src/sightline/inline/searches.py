"""Many snapshot queries at once, in threads of the caller's process."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from sightline.flat.cores import cores
from sightline.model.queries import Query
from sightline.stages.search.asked import check_all
from sightline.stages.search.search import Searcher
from sightline.store.snapshot import Snapshot
from sightline.store.store import Store

TOGETHER = 256  # queries that one thread takes through the segments at once


def search_many(store: Store, queries: Sequence[Query]) -> pa.Table:
    """Answers of all queries, in their order, with a leading int64 column ``query``; all see the same version."""
    check_all(queries, store.config)
    if not queries:
        return pa.table({"query": pa.array([], pa.int64())})
    size = min(TOGETHER, -(-len(queries) // cores()))
    starts = range(0, len(queries), size)

    def read(snapshot: Snapshot) -> pa.Table:
        searcher = Searcher(store, threads=1)  # the parts are the threads

        def answered(start: int) -> list[pa.Table]:
            return searcher.answer_many(queries[start : start + size], snapshot)

        with ThreadPoolExecutor(cores()) as pool:
            found = [table for some in pool.map(answered, starts) for table in some]
        numbered = [_numbered(number, table) for number, table in enumerate(found)]
        return pa.concat_tables(numbered, promote_options="default")

    return store.read(read)


def _numbered(number: int, table: pa.Table) -> pa.Table:
    return table.add_column(0, "query", pa.repeat(pa.scalar(number, pa.int64()), table.num_rows))
