"""What a worker process loads for its first batch: nothing it does not use, which is most of the time of its start."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa

import sightline as sl
from sightline.model.config import StoreConfig
from sightline.stages.batch import Batches
from sightline.stages.inline import execute_inline
from sightline.stages.registered.registry import Registry
from sightline.store.store import Store

WORKER = """
import json, sys
import pyarrow as pa
from sightline.stages.inline import execute_inline
from sightline.stages.exchange.job import Job
rows = pa.ipc.open_stream(sys.argv[1]).read_all()
receipts = execute_inline([rows.to_batches()], Job.from_json(sys.stdin.read()))
print(json.dumps({"receipts": [bytes(receipt).decode() for receipt in receipts], "modules": sorted(sys.modules)}))
"""
#: Numba's compiler, which only a process that compiles prepares, and what it imports where it is installed.
COMPILER = {"numba.np.arraymath", "numba.np.npyimpl", "scipy.linalg"}
#: What Arrow imports at its own conversions, and what only drivers and shells use.
OTHERS = {
    "pandas",
    "shapely",
    "pyspark",
    "typer",
    "rich",
    "sightline.engine",
    "sightline.stages.batch",
    "sightline.stages.search.search",
}
#: Indexes that are not the default ones.
INDEXES = {
    f"sightline.index.{name}"
    for name in ("standing.fast", "standing.gi2", "standing.delta", "objects.grid", "objects.rtree")
}


def test_a_worker_loads_what_it_uses(tmp_path):
    everywhere = sl.Box(-180, -90, 180, 90)
    store = Store.create(tmp_path / "store", StoreConfig(workers=2, ahead_us=None), durable=False)
    batches = Batches(store)
    batches.epochs.ensure("grid", 2)
    registry = Registry(store, batches.book)
    for id_, query in {
        "range": sl.RangeQuery("flood OR boat", everywhere),
        "circle": sl.RangeQuery("", sl.Circle(0, 0, 1e6)),
        "nearest": sl.NearestQuery("flood", (0.0, 0.0), 2),
        "top": sl.TopTermsQuery(everywhere, 3, window="2s", every="1s"),
    }.items():
        registry.subscribe(query, id_, None, None, False)
    n = 40
    rows = pa.table(
        {
            "id": [str(i) for i in range(n)],
            "lon": [i * 3.0 for i in range(n)],
            "lat": [i * 0.1 for i in range(n)],
            "ts": pa.array([i * 250_000 for i in range(n)], pa.timestamp("us", tz="UTC")),
            "text": ["flood boat" if i % 2 else "calm flood" for i in range(n)],
        }
    )
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_stream(path, rows.schema) as writer:
        writer.write_table(rows)
    modules: set[str] = set()

    def spawn(job):
        command = [sys.executable, "-c", WORKER, str(path)]
        done = subprocess.run(command, input=job.to_json(), capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        modules.update(said["modules"])
        return [receipt.encode() for receipt in said["receipts"]]

    for number in range(2):  # here every kernel that follows is compiled, if it was not before
        batches.process("start", number, rows.schema, lambda job: execute_inline([rows.to_batches()], job))
    report = batches.process("start", 2, rows.schema, spawn)
    assert report is not None
    assert report.counters["objects"] == n
    assert report.counters["matches"] >= n
    assert "sightline.index.standing.levels" in modules  # the list is that of a worker
    assert modules & (COMPILER | OTHERS | INDEXES) == set()


SEARCHER = """
import json, sys
import sightline as sl
world = sl.Box(-180, -90, 180, 90)
with sl.open(sys.argv[1]) as engine:
    found = [engine.search(query).num_rows for query in (
        sl.RangeQuery("flood", world), sl.NearestQuery("flood", (0, 0), 3), sl.TopTermsQuery(world, 2))]
print(json.dumps({"found": found, "modules": sorted(sys.modules)}))
"""


def test_a_process_that_searches_loads_what_it_uses(tmp_path):
    """Also where rows are tied, and have to be put in order by their text."""
    n = 30
    rows = {"id": [f"r{i % 7}" for i in range(n)], "lon": [float(i % 3) for i in range(n)], "lat": [1.0] * n,
            "ts": pa.array([0] * n, pa.timestamp("us", tz="UTC")), "text": ["flood boat"] * n}  # fmt: skip
    with sl.open(tmp_path / "store", spark="inline") as engine:
        engine.load(pa.table(rows))
        for query in (sl.RangeQuery("flood", sl.Box(-180, -90, 180, 90)), sl.NearestQuery("flood", (0, 0), 3)):
            engine.search(query)
        engine.search(sl.TopTermsQuery(sl.Box(-180, -90, 180, 90), 2))  # by now all kernels are in the cache
    command = [sys.executable, "-c", SEARCHER, str(tmp_path / "store")]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    assert said["found"] == [n, 3, 2]
    unused = COMPILER | INDEXES | {"pandas", "shapely", "pyspark", "typer", "rich"}
    assert sorted(set(said["modules"]) & unused) == []
