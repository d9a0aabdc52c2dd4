"""Cold start of a worker process: from nothing to the first answers, with kernels and bytecode in their caches.

A child process is given a job as a Spark worker is: as text. It imports the stages, loads the compiled kernels, routes,
matches and indexes a handful of posts against every kind of subscription, and says how long each part took. The
yardstick is a process that only imports what any such worker needs: NumPy, PyArrow and Numba.
"""

from __future__ import annotations

import compileall
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import sightline
from sightline.generate.posts import PostGenerator
from sightline.model.config import StoreConfig
from sightline.model.queries import NearestQuery, Query, RangeQuery, TopTermsQuery
from sightline.model.regions import Box, Circle
from sightline.model.time import MAX_US, MIN_US
from sightline.stages.batch import Batches
from sightline.stages.exchange.job import Job
from sightline.stages.warm import warm
from sightline.store.requests import Registered, Subscribe
from sightline.store.store import Store

_IMPORTS = "import numpy, pyarrow, numba; print('ready', flush=True)"
_WORKER = """
import json, sys, time
began = time.perf_counter()
import pyarrow as pa
from sightline.stages.inline import execute_inline
from sightline.stages.exchange.job import Job
imported = time.perf_counter()
rows = pa.ipc.open_stream(pa.memory_map(sys.argv[1])).read_all()
receipts = execute_inline([rows.to_batches()], Job.from_json(sys.stdin.read()))
done = time.perf_counter()
print(json.dumps({"import_s": imported - began, "work_s": done - imported,
                  "receipts": [bytes(receipt).decode() for receipt in receipts]}), flush=True)
"""


def run(rounds: int = 7, rows: int = 1000, quick: bool = False) -> dict[str, Any]:
    """Measure; every round starts one process of each kind."""
    rounds = min(rounds, 3) if quick else rounds
    warm()
    compileall.compile_dir(str(Path(sightline.__file__).parent), quiet=2)  # as installers leave it; 0.12 s if not
    whole: list[float] = []
    bare: list[float] = []
    parts: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="sightline-bench-") as folder:
        posts = PostGenerator(7).table(rows)
        path = Path(folder) / "posts.arrow"
        with pa.ipc.new_stream(path, posts.schema) as writer:
            writer.write_table(posts)
        store = Store.create(Path(folder) / "store", StoreConfig(workers=2, ahead_us=None))
        batches = Batches(store)
        batches.epochs.ensure("grid", 2)
        said = tuple(Registered(str(i), query.to_dict(), MIN_US, MAX_US) for i, query in enumerate(_queries()))
        store.control.append(Subscribe(subscriptions=said), len(said))

        def spawn(job: Job) -> list[bytes]:
            seconds, text = _timed([sys.executable, "-c", _WORKER, str(path)], job.to_json())
            told = json.loads(text)
            whole.append(seconds)
            parts.append({"import_s": told["import_s"], "work_s": told["work_s"]})
            return [receipt.encode() for receipt in told["receipts"]]

        for number in range(rounds):
            report = batches.process("cold", number, posts.schema, spawn)
            if report is None or report.counters.get("objects") != rows:
                raise AssertionError(f"the worker took in {report and report.counters} of {rows} posts")
            bare.append(_timed([sys.executable, "-c", _IMPORTS], "")[0])
    return {
        "params": {"rounds": rounds, "rows": rows},
        "metrics": {
            "seconds": round(statistics.median(whole), 3),
            "ratio_imports": round(statistics.median(whole) / statistics.median(bare), 2),
            "imports_only_s": round(statistics.median(bare), 3),
            **{name: round(statistics.median(part[name] for part in parts), 3) for name in ("import_s", "work_s")},
        },
    }


def _queries() -> list[Query]:
    return [
        RangeQuery("the OR a OR de", Box(-180, -90, 180, 90)),
        RangeQuery("", Circle(0, 50, 1e6)),
        NearestQuery("the OR a", (0.0, 50.0), 5),
        TopTermsQuery(Box(-180, -90, 180, 90), 5, window="2s", every="1s"),
    ]


def _timed(command: list[str], text: str) -> tuple[float, str]:
    """Seconds until a process has said its line; how long it takes to end, no batch waits for."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None, "a pipe was asked for"
        assert process.stdout is not None, "a pipe was asked for"
        process.stdin.write(text)
        process.stdin.close()
        line = process.stdout.readline()
        seconds = time.perf_counter() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, line
