"""What a new user waits for: the first match, a small load, the first answer of a process that only searches.

Every figure is a process of its own, from its start to what its user waited for. The yardsticks are a bare PySpark
session with one job, and a process that only imports NumPy, Numba and PyArrow. The cold figure is taken in a kernel
cache of its own, which is empty; all others find their kernels compiled.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sightline.bench.timing import PROGRESS
from sightline.generate.posts import PostGenerator

ROWS = 10_000
_IMPORTS = "import numpy, numba, pyarrow"
_SPARK = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499500
"""
_FIRST_MATCH = """
import sys
import sightline as sl
with sl.open(sys.argv[1]) as engine:
    engine.subscribe(sl.RangeQuery("the OR a OR de", sl.Box(-180, -90, 180, 90)), id="first")
    engine.load(sys.argv[2])
    assert engine.matches("first").num_rows
"""
_INLINE = _FIRST_MATCH.replace("sl.open(sys.argv[1])", "sl.open(sys.argv[1], spark='inline')")
_SEARCH = """
import sys
import sightline as sl
with sl.open(sys.argv[1]) as engine:
    assert engine.search(sl.RangeQuery("the OR a OR de", sl.Box(-180, -90, 180, 90))).num_rows
"""


def run(rounds: int = 3, quick: bool = False) -> dict[str, Any]:
    """Measure; medians of the rounds, of the cold start one."""
    rounds = 1 if quick else rounds
    with tempfile.TemporaryDirectory(prefix="sightline-bench-") as made:
        folder = Path(made)
        posts = folder / "posts.parquet"
        pq.write_table(PostGenerator(7).table(ROWS), posts)
        store = _names(folder)
        command = [str(Path(sys.executable).with_name("sightline")), "load"]
        cold = _seconds(_python(_FIRST_MATCH, store(), posts), {"SIGHTLINE_CACHE_DIR": str(folder / "cache")})
        _seconds(_python(_FIRST_MATCH, store(), posts))  # fills the cache, where it was empty
        _seconds(_python(_INLINE, searched := store(), posts))
        _seconds(_python(_SEARCH, searched))
        figures = {
            "warm_first_match_s": lambda: _seconds(_python(_FIRST_MATCH, store(), posts)),
            "load_s": lambda: _seconds([*command, store(), str(posts)]),
            "inline_load_s": lambda: _seconds(_python(_INLINE, store(), posts)),
            "search_process_s": lambda: _seconds(_python(_SEARCH, searched)),
        }
        found = {name: _median(measure, rounds) for name, measure in figures.items()}
        empty = _median(lambda: _seconds(_python(_SPARK)), 3)
        bare = _median(lambda: _seconds(_python(_IMPORTS)), 3)
    return {
        "params": {"rounds": rounds, "rows": ROWS},
        "metrics": {
            "cold_ratio": round(cold / empty, 2),
            "warm_ratio": round(found["warm_first_match_s"] / empty, 2),
            "load_ratio": round(found["load_s"] / empty, 2),
            "search_ratio": round(found["search_process_s"] / bare, 2),
            "cold_first_match_s": round(cold, 2),
            **{name: round(seconds, 2) for name, seconds in found.items()},
            "empty_spark_s": round(empty, 2),
            "bare_imports_s": round(bare, 2),
        },
    }


def _names(folder: Path) -> Callable[[], str]:
    """Names of new stores."""
    numbers = iter(range(1_000))
    return lambda: str(folder / f"store-{next(numbers)}")


def _python(program: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", program, *map(str, arguments)]


def _seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    """How long a process takes from its start to its end."""
    PROGRESS.info("%s", " ".join(command)[:80].replace("\n", " "))
    # Each process finds its kernels by itself: this one has told its children where its own are.
    own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=600, env={**own, **(environment or {})})
    return time.perf_counter() - began


def _median(measure: Callable[[], float], rounds: int) -> float:
    return statistics.median(measure() for _ in range(rounds))
