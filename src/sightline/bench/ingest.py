"""Posts per second from terms to a written segment, against tantivy and DuckDB writing the same posts.

All three write durable files on one thread. Posts are tokenised beforehand. DuckDB is given Arrow tables and appends
the rows; as ``duckdb`` it also writes the posting table sorted by word that the search benchmark asks, as
``duckdb_rows`` only the rows, which nothing then finds by word. tantivy has no bulk interface in Python and gets fewer
posts; its rate counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sightline.bench.extras import extra
from sightline.bench.tantivy_documents import TantivyDocuments
from sightline.bench.timing import PROGRESS, interleaved, rounded
from sightline.bench.workload import HASH_SEED, posts, stored_posts, table_of, taken
from sightline.index.objects.segment import build_segment
from sightline.index.protocol import ObjectColumns
from sightline.index.registry import DEFAULT_OBJECTS
from sightline.model.config import StoreConfig
from sightline.model.space import GEOGRAPHIC_BOUNDS
from sightline.stages.exchange.target import Target
from sightline.stages.flow.segments import write_segment
from sightline.store.store import Store

INGEST_SEGMENT_ROWS = 200_000
TANTIVY_ROWS = 100_000

Part = tuple[ObjectColumns, pa.Table]


def run(
    objects: int = 1_000_000, rounds: int = 3, seed: int = 7, dataset: Path | None = None, quick: bool = False
) -> dict[str, Any]:
    """Measure; medians of interleaved rounds, each into files of its own.

    Raises
    ------
    AssertionError
        One of them lost rows.
    """
    if quick:
        objects, rounds = min(objects, 50_000), 1
    given = posts(objects, seed) if dataset is None else stored_posts(dataset, objects)
    parts: list[Part] = []
    for first in range(0, len(given), INGEST_SEGMENT_ROWS):
        part = taken(given, np.arange(first, min(len(given), first + INGEST_SEGMENT_ROWS)))
        parts.append((part, table_of(part)))
    fewer = taken(given, np.arange(min(len(given), TANTIVY_ROWS)))
    warm = taken(fewer, np.arange(min(64, len(fewer))))
    with tempfile.TemporaryDirectory(prefix="sightline-bench-") as folder:
        place = _Folders(Path(folder))
        _segments(place(), [(warm, table_of(warm))])  # compiles
        PROGRESS.info("writing %s posts, %d rounds", f"{len(given):,}", rounds)
        contestants: dict[str, Callable[[], object]] = {
            "ours": lambda: _written("segments", len(given), _segments(place(), parts)),
            "duckdb": lambda: _written("DuckDB", len(given), _duckdb(place(), parts, postings=True)),
            "duckdb_rows": lambda: _written("DuckDB", len(given), _duckdb(place(), parts, postings=False)),
            "tantivy": lambda: _written("tantivy", len(fewer), len(TantivyDocuments(fewer, place()))),
        }
        times = interleaved(contestants, rounds)
    rates = {name: (len(fewer) if name == "tantivy" else len(given)) / taken_s for name, taken_s in times.items()}
    return {
        "params": {
            "objects": len(given), "rounds": rounds, "seed": seed, "segment_rows": INGEST_SEGMENT_ROWS,
            "tantivy_rows": len(fewer), "dataset": None if dataset is None else str(dataset),
        },
        "metrics": rounded({
            "objects_per_s": rates["ours"],
            **{f"ratio_{name}": rates["ours"] / rate for name, rate in rates.items() if name != "ours"},
            **{f"{name}_objects_per_s": rate for name, rate in rates.items() if name != "ours"},
        }),
    }  # fmt: skip


class _Folders:
    """New folders inside one that is removed at the end."""

    def __init__(self, root: Path) -> None:
        self._root, self._made = root, 0

    def __call__(self) -> Path:
        self._made += 1
        path = self._root / str(self._made)
        path.mkdir()
        return path


def _segments(path: Path, parts: list[Part]) -> int:
    store = Store.create(path, StoreConfig(workers=1, seed=HASH_SEED))
    target = Target(store.path, True)
    rows = 0
    for part, table in parts:
        data = build_segment(part, table, DEFAULT_OBJECTS, GEOGRAPHIC_BOUNDS)
        rows += write_segment(target, data, "bench", 0).rows
    return rows


def _duckdb(path: Path, parts: list[Part], *, postings: bool) -> int:
    with extra("duckdb").connect(str(path / "posts.duckdb"), config={"threads": 1}) as db:
        db.execute("CREATE TABLE posts (id VARCHAR, lon DOUBLE, lat DOUBLE, ts TIMESTAMP, text VARCHAR)")
        db.execute("CREATE TABLE postings (word INTEGER, o INTEGER, lon DOUBLE, lat DOUBLE)")
        for part, table in parts:
            db.register("arrow_rows", table.set_column(3, "ts", table["ts"].cast(pa.timestamp("us"))))
            db.execute("INSERT INTO posts SELECT id, lon, lat, ts, text FROM arrow_rows")
            if postings:
                row = np.repeat(np.arange(len(part), dtype=np.int32), np.diff(part.terms.offsets))
                exploded = {"word": part.terms.ids, "o": row, "lon": part.lon[row], "lat": part.lat[row]}
                db.register("arrow_postings", pa.table(exploded))
                db.execute("INSERT INTO postings SELECT * FROM arrow_postings ORDER BY word")
        db.execute("CHECKPOINT")
        return int(db.execute("SELECT count(*) FROM posts").fetchone()[0])


def _written(name: str, expected: int, rows: int) -> None:
    if rows != expected:
        message = f"{name}: {rows} rows written instead of {expected}"
        raise AssertionError(message)
