from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sightline.model.errors import CorruptFile, StoreBusy
from sightline.store import BatchPlan, PipelineLock, PlanStore

HOLDER = """
import sys, time, os
from sightline.store.lock import PipelineLock
PipelineLock(sys.argv[1]).acquire("me")
if os.fork() == 0:          # a child that outlives its parent must not keep the lock
    print("held", flush=True)
    time.sleep(60)
time.sleep(60)
"""


def test_second_pipeline_is_refused_by_name_and_freed_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        lock = PipelineLock(path)
        with pytest.raises(StoreBusy, match=f"pid {holder.pid} on {socket.gethostname()}"):
            lock.acquire("me")
        assert not lock.held
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait(10)
        lock.acquire("me")
        assert f"pid {os.getpid()} " in lock.holder()
        lock.release("me")
    finally:
        os.killpg(holder.pid, signal.SIGKILL)  # the forked child; the group was made for this test
        holder.wait(10)
        holder.stdout and holder.stdout.close()


def test_lock_is_held_per_object_until_its_last_owner_lets_go(tmp_path: Path) -> None:
    one, two = PipelineLock(tmp_path / "l"), PipelineLock(tmp_path / "l")
    one.acquire("a")
    one.acquire("b")
    one.release("a")
    one.release("a")
    with pytest.raises(StoreBusy, match=f"pid {os.getpid()}"):
        two.acquire("a")
    two.release("a")  # as after any failure
    assert one.held
    one.release("b")
    two.acquire("a")
    two.release("a")


def test_an_interrupted_acquire_leaves_nothing_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = PipelineLock(tmp_path / "l"), PipelineLock(tmp_path / "l")

    def interrupted(fd: int, how: int) -> None:
        raise KeyboardInterrupt

    for call in ("ftruncate", "pwrite"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, interrupted if call == "ftruncate" else lambda *_: interrupted(0, 0))
            with pytest.raises(KeyboardInterrupt):
                one.acquire("a")
        one.release("a")
        two.acquire("b")
        two.release("b")


PLAN = BatchPlan("run-1", 4, control=7, epoch=2, version=9, high_us=None, reject_after_us=5, created=100.5)


def test_a_rerun_gets_the_first_plan(tmp_path: Path) -> None:
    plans = PlanStore(tmp_path, durable=True)
    assert plans.get("run-1", 4) is None
    assert plans.get_or_create("run-1", 4, lambda: PLAN) == PLAN
    again = PlanStore(tmp_path)
    assert again.get_or_create("run-1", 4, lambda: replace(PLAN, control=8)) == PLAN
    other = replace(PLAN, run="run-2", batch=0)
    again.get_or_create("run-2", 0, lambda: other)
    assert again.open_plans() == [PLAN, other]
    plans.discard("run-1", 4)
    plans.discard("run-1", 4)
    assert again.open_plans() == [other]
    again.discard_run("run-2")
    assert again.open_plans() == []


def test_a_plan_that_lost_the_race_is_not_used(tmp_path: Path) -> None:
    plans = PlanStore(tmp_path, durable=False)

    def slow() -> BatchPlan:
        PlanStore(tmp_path, durable=False).get_or_create("run-1", 4, lambda: PLAN)
        return replace(PLAN, control=99)

    assert plans.get_or_create("run-1", 4, slow) == PLAN


def test_bad_and_damaged_plans(tmp_path: Path) -> None:
    plans = PlanStore(tmp_path, durable=False)
    for run, batch in (("../x", 0), ("", 0), ("r", -1)):
        with pytest.raises(ValueError, match="run"):
            plans.get(run, batch)
    with pytest.raises(ValueError, match="made for"):
        plans.get_or_create("run-1", 5, lambda: PLAN)
    plans.get_or_create("run-1", 4, lambda: PLAN)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"epoch":2', b'"epoch":3'))
    with pytest.raises(CorruptFile, match="run-1"):
        plans.get("run-1", 4)
