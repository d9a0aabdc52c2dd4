"""Compile every kernel once, in this process, before worker processes need them.

One process of a machine fills the cache on disk, the others wait for it, and then only read: compiling the same kernels
side by side takes longer. The smallest pipeline is run on a store of its own, over mapped files and unpacked packets,
so that the compiled signatures are those of the real run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from sightline.jit import alone, warmed_mark
from sightline.model.config import Indexes, StoreConfig
from sightline.model.queries import NearestQuery, Query, RangeQuery, TopTermsQuery
from sightline.model.regions import Box, Circle, Polygon
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.batch import Batches
from sightline.stages.exchange.plugins import kernels
from sightline.stages.inline import execute_inline
from sightline.stages.registered.registry import Registry
from sightline.stages.routing.fitting import history_arrays, stored_history
from sightline.stages.search.search import Searcher
from sightline.stages.search.search_log import SearchLog
from sightline.stages.upkeep.compact import Compaction
from sightline.store.requests import Registered, Subscribe
from sightline.store.store import Store

WARMING_LOCK = "warming.lock"


def warm(names: Sequence[str] = ()) -> bool:
    """Fill the kernel cache of this code version for a partitioner and indexes (`exchange.plugins.kernels`; the default
    ones). True if there was something to do."""
    names = names or kernels(StoreConfig())
    done = warmed_mark(names)
    if done.exists():
        return False
    done.parent.mkdir(parents=True, exist_ok=True)
    with alone(done.parent / WARMING_LOCK):
        if done.exists():
            return False
        _use_every_kernel(*names)
        done.touch()
    return True


def _use_every_kernel(partitioner: str, *indexes: str) -> None:
    everywhere = Box(-180, -90, 180, 90)
    queries: list[Query] = [
        RangeQuery("flood AND (boat OR rescue) AND NOT calm", Box(-10, -10, 10, 10)),
        RangeQuery("", Circle(0, 0, 1e6)),
        RangeQuery("flood OR x", Polygon([(-1, -1), (1, -1), (1, 1), (-1, 1)])),
        NearestQuery("flood", (0.0, 0.0), 2),
        TopTermsQuery(everywhere, 3, window="2s", every="1s"),
    ]
    rows = pa.table(
        {
            "id": [str(i) for i in range(8)],
            "lon": [i * 0.1 for i in range(8)],
            "lat": [i * 0.1 for i in range(8)],
            "ts": pa.array([i * 1_000_000 for i in range(8)], pa.timestamp("us", tz="UTC")),
            "text": [
                "flood boat",
                "flood rescue #flood",
                "",
                "ÉTÉ İstanbul",
                "東京 flood",
                "calm flood boat",
                " ".join(f"x{i}" for i in range(80)),
                "flood",
            ],
        }
    )
    with tempfile.TemporaryDirectory(prefix="sightline-warm-") as folder:
        config = StoreConfig(workers=2, partitioner=partitioner, indexes=Indexes(*indexes))
        store = Store.create(Path(folder) / "store", config, durable=False)
        batches = Batches(store)
        batches.epochs.ensure(partitioner, 2)
        for number in range(3):
            said = (Registered(f"{number} {i}", query.to_dict(), MIN_US, MAX_US) for i, query in enumerate(queries))
            # The first time they become a base, the second time a delta.
            store.control.append(Subscribe(subscriptions=tuple(said)), len(queries))
            if number == 2:  # and the third time everything is compiled for a fitted routing
                past = stored_history(store, batches.book, store.commits.snapshot())
                Registry(store, batches.book).fit(history_arrays(past))
            batches.process("warm", number, rows.schema, lambda job: execute_inline([rows.to_batches(4)], job))
        Compaction(store, batches.book, batches.commit_lock).run(min_files=2)
        searcher, log = Searcher(store), SearchLog(store)
        counted = [TopTermsQuery(region, 3) for region in (Box(0, 0, 0.15, 0.15), Circle(0, 0, 1e6))]
        counted.append(TopTermsQuery(everywhere, 100))  # more than an index knows at once
        two = NearestQuery("flood AND boat", (0.0, 0.0), 2)  # one word has a kernel of its own
        for query in (*queries[:-1], two, *counted):
            log.count(query, searcher.answer(query)[0])
        log.flush()
