"""Names of the benchmarks.

A benchmark is a module with ``run(**params) -> {"params": ..., "metrics": ...}``. Modules are imported when run: one
of them starts a Spark session, which the others do not need.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sightline.bench.machine import commit, machine
from sightline.model.errors import BadConfig, UnknownPlugin


@dataclass(frozen=True)
class Bench:
    """Where a benchmark lives and what it measures."""

    module: str
    about: str


BENCHES: dict[str, Bench] = {
    "tokenise": Bench("sightline.bench.tokenise", "the text kernel against a plain Python tokeniser of the same rules"),
    "crq": Bench("sightline.bench.crq", "standing range queries: indexes, DuckDB, tantivy, STRtree"),
    "ckq": Bench("sightline.bench.ckq", "nearest subscriptions: balls against the inverted file alone"),
    "ctq": Bench("sightline.bench.ctq", "top-terms subscriptions that share tables against each counting for itself"),
    "srq": Bench("sightline.bench.srq", "range search in one segment: DuckDB and tantivy on the same rows"),
    "skq": Bench("sightline.bench.skq", "nearest search in one segment: DuckDB on the same rows"),
    "stq": Bench("sightline.bench.stq", "top terms in one segment: DuckDB on the same rows"),
    "ingest": Bench("sightline.bench.ingest", "writing segments: DuckDB and tantivy with the same posts"),
    "curves": Bench("sightline.bench.curves", "how cost and memory grow, as JSON and PNG (--out)"),
    "cold_start": Bench("sightline.bench.cold_start", "a worker process from nothing to its first answers"),
    "first_hour": Bench("sightline.bench.first_hour", "first match, first load, first search against a bare session"),
    "route": Bench("sightline.bench.route", "posts and queries routed by every partitioner: the plain grid"),
    "partition": Bench(
        "sightline.bench.partition", "partitioners on six query types: workload, balance, copies, makespan (--out)"
    ),
    "pipeline": Bench("sightline.bench.pipeline", "objects per second end to end against an empty Spark job"),
}


def run_bench(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a benchmark and describe the run so that it can be repeated.

    Returns
    -------
    dict
        ``name``, ``params``, ``metrics`` and whatever else the benchmark measured, ``machine``, ``commit``.
    """
    if name not in BENCHES:
        raise UnknownPlugin("unknown benchmark", value=name, allowed=", ".join(BENCHES))
    function = import_module(BENCHES[name].module).run
    known = inspect.signature(function).parameters
    for param in params:
        if param not in known:
            raise BadConfig(f"benchmark {name} has no parameter {param}", allowed=", ".join(known) or "none")
    measured: dict[str, Any] = function(**params)
    return {"name": name, **measured, "machine": machine(), "commit": commit()}
