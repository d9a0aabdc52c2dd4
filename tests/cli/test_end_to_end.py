"""A store's life from the shell, through Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sightline as sl
from sightline.cli.app import app
from sightline.generate.posts import PostGenerator

pytestmark = pytest.mark.spark
WORLD = sl.Box(-180, -90, 180, 90)


def sightline(*args: object, code: int = 0) -> Any:
    """Run a command; its documents, or the line it failed with."""
    result = CliRunner().invoke(app, [str(arg) for arg in args], prog_name="sightline", catch_exceptions=False)
    assert result.exit_code == code, result.output
    if code:
        assert result.stderr.count("\n") == 1
        return result.stderr
    if "--json" not in args:
        return result.stdout
    if args[0] in ("run", "watch"):
        return [json.loads(text) for text in result.stdout.splitlines()]
    return json.loads(result.stdout)


def test_load_subscribe_search(tmp_path: Path) -> None:
    posts = PostGenerator(5).table(3000)
    first, second, store = tmp_path / "first.parquet", tmp_path / "second.parquet", tmp_path / "store"
    pq.write_table(posts.slice(0, 2000), first)
    pq.write_table(posts.slice(2000), second)

    loaded = sightline("load", store, first, "--workers", 2, "--json")
    assert (loaded["objects"], loaded["matches"], loaded["rejects"]) == (2000, 0, 0)
    assert sightline("subscribe", store, "--box", "-180,-90,180,90", "--id", "all", "--json")["id"] == "all"
    sightline("subscribe", store, "--near", "0,51", "-k", 3, "--id", "near", "--json")
    assert "all" in sightline("subscribe", store, "flood", "--id", "all", code=2)
    assert {row["id"] for row in sightline("subscriptions", store, "--json")["subscriptions"]} == {"all", "near"}

    assert sightline("load", store, second, "--json")["matches"] == 1000
    matched = sightline("watch", store, "all", "--once", "--json")
    assert {row["object_id"] for row in matched} == set(posts.slice(2000)["id"].to_pylist())
    assert all(row["event"] == "match" for row in matched)
    batch = matched[0]["batch"]
    assert sightline("watch", store, "all", "--once", "--since-batch", batch, "--json") == []
    near = sightline("watch", store, "near", "--once", "--json")
    assert [row["rank"] for row in near if row["event"] == "enter"] == [1, 2, 3]
    assert "nobody" in sightline("watch", store, "nobody", "--once", code=2)

    assert sightline("search", store, "--limit", 4000, "--json")["count"] == 3000
    top = sightline("search", store, "--top", 3, "--json")["rows"]
    assert [set(row) for row in top] == [{"term", "count"}] * 3
    nearest = sightline("search", store, "--near", "0,51", "-k", 2, "--json")
    assert len(nearest["rows"]) == 2
    assert nearest["query"]["kind"] == "nearest"
    again = sightline("search", store, "--query", json.dumps(nearest["query"]), "--json")
    assert again["rows"] == nearest["rows"]
    assert "rows" in sightline("search", store, "--top", 3)

    sightline("unsubscribe", store, "all", "--json")
    assert "all" in sightline("unsubscribe", store, "all", code=2)
    assert "missing.parquet" in sightline("load", store, tmp_path / "missing.parquet", code=2)
    assert "gird" in sightline("load", tmp_path / "other", first, "--partitioner", "gird", code=2)


def test_bulk_subscriptions_and_a_run(tmp_path: Path) -> None:
    store, queries = tmp_path / "store", tmp_path / "queries.parquet"
    sightline("generate", queries, "--queries", 200)
    sightline("generate", tmp_path / "posts.parquet", "--rows", 100)
    sightline("load", store, tmp_path / "posts.parquet")
    assert sightline("subscribe", store, "--table", queries, "--json")["count"] == 200
    options = ["--option", "rows=4000", "--option", "rowsPerBatch=2000", "--option", "malformedRate=0.01"]
    events = sightline("run", store, "--format", "sightline-synthetic", *options, "--seconds", 15, "--json")
    assert {event["event"] for event in events[:-1]} <= {"batch"}
    last = events[-1]
    assert last["event"] == "stopped"
    assert last["objects"] + last["rejects"] == 4000
    assert last["rejects"] > 0
    with sl.open(store) as engine:
        assert engine.rejects().num_rows == last["rejects"]


def test_the_demo_tells_the_truth(tmp_path: Path) -> None:
    store = tmp_path / "store"
    document = sightline("demo", "--seconds", 6, "--rate", 5000, "--store", store, "--json")
    committed = document["committed"]
    assert committed["objects"] > 0
    assert committed["batches"] > 0
    with sl.open(store) as engine:
        assert engine.search(sl.RangeQuery("", WORLD)).num_rows == committed["objects"]
        assert engine.rejects().num_rows == committed["rejects"]
        for entry in document["subscriptions"]:
            if "matches" in entry:
                assert engine.matches(entry["id"]).num_rows == entry["matches"] == committed["matches"]
    assert document["posts_per_s"] == pytest.approx(committed["objects"] / document["seconds"], rel=0.01)


@pytest.mark.slow
def test_ctrl_c_ends_the_demo_cleanly(tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [
        sys.executable,
        "-m",
        "sightline.cli",
        "demo",
        "--seconds",
        "300",
        "--rate",
        "2000",
        "--store",
        store,
        "--json",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while len(list(store.glob("log/*[0-9].json"))) < 3 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.2)
        time.sleep(2)
        # The whole group, as a terminal does: Spark's JVM must not die of it before the batch is done.
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=90)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, stderr
    assert "Traceback" not in stderr
    document = json.loads(stdout)
    with sl.open(store) as engine:
        assert engine.search(sl.RangeQuery("", WORLD)).num_rows == document["committed"]["objects"] > 0
