"""Posts as one segment, as a store, and queries in the segment's numbers: what the search benchmarks share."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.bench.timing import PROGRESS, bytes_of, seconds
from sightline.bench.workload import HASH_SEED, table_of, taken
from sightline.flat.arrays import F64, I64, Flag, frozen
from sightline.geo.curve import curve_keys
from sightline.index.objects.segment import Segment, build_segment
from sightline.index.objects.strings import StringColumn
from sightline.index.protocol import ObjectColumns
from sightline.index.registry import DEFAULT_OBJECTS, object_index
from sightline.model.config import StoreConfig
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.stages.exchange.target import Target
from sightline.stages.flow.segments import write_segment
from sightline.stages.search.search import Searcher
from sightline.store.entries import BatchCommit
from sightline.store.store import Store

__all__ = [
    "ENGINE_ROWS", "SegmentQuery", "IndexedPosts", "asked_of", "committed", "indexed", "knows", "rows_of", "same_rows",
    "searcher_over",
]  # fmt: skip

ENGINE_ROWS = 1_000_000  # of the store behind engine_mean_us, texts included


class IndexedPosts(NamedTuple):
    """A segment, its posts in the order of the index, and what building it took."""

    segment: Segment
    objects: ObjectColumns
    ids: StringColumn
    figures: dict[str, float]


class SegmentQuery(NamedTuple):
    """A query in the numbers of a segment, and in words."""

    terms: list[int]
    box: F64
    words: list[str]

    @property
    def pieces(self) -> F64:
        """The box as an index takes it."""
        return frozen(self.box.reshape(1, 4), np.float64)

    @property
    def at(self) -> tuple[float, float]:
        """Centre of the box."""
        west, south, east, north = self.box.tolist()
        return (west + east) / 2, (south + north) / 2


def indexed(objects: ObjectColumns) -> IndexedPosts:
    """Build one segment of all posts, with ids and without texts; ``build_over_sort`` is in sorts of the curve keys.

    Of both the best of three: the first of either pays for memory that the system has yet to give.
    """
    PROGRESS.info("indexing %s posts", f"{len(objects):,}")
    keys = curve_keys(objects.lon, objects.lat, GEOGRAPHIC_BOUNDS)
    sort_s = min(seconds(lambda: np.sort(keys)) for _ in range(3))
    kind = object_index()
    made: dict[str, Any] = {}
    few = np.arange(min(64, len(objects)))
    kind.build(ObjectColumns(objects.lon[few], objects.lat[few], objects.ts[few], objects.terms.take(few)),
               GEOGRAPHIC_BOUNDS)  # fmt: skip
    build_s = math.inf
    for _ in range(3):
        made.clear()
        build_s = min(build_s, seconds(lambda: made.update(kind.build(objects, GEOGRAPHIC_BOUNDS)[1])))
    index_bytes = bytes_of(made)
    made.clear()
    segment = Segment.from_data(build_segment(objects, table_of(objects, text=False)))
    figures = {
        "bytes_per_object": index_bytes / len(objects),
        "build_s": build_s,
        "build_over_sort": build_s / sort_s,
        "build_objects_per_s": len(objects) / build_s,
    }
    return IndexedPosts(segment, segment.objects(), StringColumn(_one_chunk(segment.table["id"])), figures)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; by reference where it is one chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def knows(segment: Segment, table: pa.Table) -> Flag:
    """Which queries of a table have only words that occur in the segment."""
    column = table["keywords"].combine_chunks()
    absent = segment.dictionary.lookup_strings(column.flatten(), HASH_SEED) < 0
    ends = column.offsets.to_numpy()
    missing: Flag = np.diff(np.concatenate(([0], np.cumsum(absent)))[ends - ends[0]]) > 0
    return ~missing


def asked_of(table: pa.Table, segment: Segment, n: int) -> list[SegmentQuery]:
    """The first ``n`` queries whose words the segment knows; the others have no answer and cost nothing."""
    table = table.filter(pa.array(knows(segment, table))).slice(0, n)
    boxes = np.column_stack([table[edge].to_numpy() for edge in ("west", "south", "east", "north")])
    words: list[list[str]] = table["keywords"].to_pylist()
    return [
        SegmentQuery(segment.dictionary.lookup_strings(some, HASH_SEED).tolist(), box, some)
        for some, box in zip(words, boxes, strict=True)
    ]


def committed(path: Path, parts: Iterable[ObjectColumns]) -> Store:
    """A store with one committed segment per part, texts included."""
    store = Store.create(path, StoreConfig(workers=1, seed=HASH_SEED), durable=False)
    target = Target(store.path, False)
    for batch, part in enumerate(parts):
        data = build_segment(part, table_of(part), DEFAULT_OBJECTS, GEOGRAPHIC_BOUNDS)
        entry = write_segment(target, data, "bench", 0)
        low, high = data.meta["ts"]
        store.commits.append(
            BatchCommit(run="bench", batch=batch, high=high, low=low, mark=high, add=(entry,),
                        counters={"objects": len(part)}),
            batch,
        )  # fmt: skip
    return store


@contextmanager
def searcher_over(objects: ObjectColumns, most: int = ENGINE_ROWS) -> Iterator[tuple[Searcher, int]]:
    """A search over a store with the first ``most`` posts as one segment, and how many there are."""
    rows = min(len(objects), most)
    with tempfile.TemporaryDirectory(prefix="sightline-bench-") as folder:
        part = objects if rows == len(objects) else taken(objects, np.arange(rows))
        yield Searcher(committed(Path(folder) / "store", [part])), rows


def rows_of(table: pa.Table) -> I64:
    """Row numbers that the ids of a table of this benchmark carry (``p12`` is row 12)."""
    return np.array([int(name[1:]) for name in table["id"].to_pylist()], np.int64)


def same_rows(name: str, query: int, expected: I64, found: npt.NDArray[np.integer]) -> None:
    """Check a contestant's rows of one query; ``AssertionError`` when they differ."""
    if not np.array_equal(np.sort(expected), np.sort(found.astype(np.int64))):
        message = f"{name} disagrees on query {query}: {len(found)} rows instead of {len(expected)}"
        raise AssertionError(message)
