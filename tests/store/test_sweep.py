from __future__ import annotations

import os
from pathlib import Path

import pytest

from sightline.store import BatchPlan, FileEntry, Store, new_name, sweep
from sightline.store.entries import BatchCommit, Epoch, EpochCommit, MergeCommit
from sightline.store.requests import Subscribe

NOW = 1_000_000.0
GRACE = 3600.0


def data_file(store: Store, kind: str, age: float, name: str | None = None) -> str:
    name = name or new_name(kind)
    path = store.data_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (NOW - age, NOW - age))
    return name


def present(store: Store) -> set[str]:
    root = store.path / "data"
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def batch(store: Store, number: int, add: list[str]) -> None:
    entries = tuple(FileEntry(name.split("/")[0], name, 1, 1) for name in add)
    store.commits.append(BatchCommit(run="r", batch=number, add=entries), store.commits.snapshot().version)


def plan(number: int, age: float) -> BatchPlan:
    return BatchPlan("r", number, -1, 0, 0, None, None, NOW - age)


def test_only_old_unnamed_files_go(store: Store) -> None:
    committed, young, old = (data_file(store, "matches", age) for age in (9e5, GRACE - 1, GRACE + 1))
    batch(store, 0, [committed])
    assert sweep(store, GRACE, NOW) == [old]
    assert present(store) == {committed, young}
    assert sweep(store, GRACE, NOW) == []
    assert store.commits.snapshot().version == 1  # nothing merged away: no entry


def test_open_plans_protect_files_made_since(store: Store) -> None:
    before, after = data_file(store, "segments", 9000), data_file(store, "segments", 7000)
    store.plans.get_or_create("r", 0, lambda: plan(0, 8000))
    assert sweep(store, GRACE, NOW) == [before]
    batch(store, 0, [])  # the plan is still there but its batch is committed: not open any more
    assert sweep(store, GRACE, NOW) == [after]


def test_merged_away_files_wait_for_the_grace_period_since_the_merge(store: Store) -> None:
    parts = [data_file(store, "matches", 9e5) for _ in range(2)]
    batch(store, 0, parts)
    whole = data_file(store, "matches", 10)
    store.commits._clock = lambda: NOW - 5000
    merged = FileEntry("matches", whole, 2, 1, version=1)
    store.commits.append(MergeCommit(add=(merged,), remove=tuple(parts)), 1)
    assert sweep(store, 6000, NOW) == []
    store.plans.get_or_create("r", 1, lambda: plan(1, 5001))  # planned before the merge: a re-run may read the parts
    assert sweep(store, GRACE, NOW) == []
    store.plans.discard("r", 1)
    store.plans.get_or_create("r", 1, lambda: plan(1, 4999))
    assert sweep(store, GRACE, NOW) == sorted(parts)
    assert present(store) == {whole}
    again = Store.open(store.path).commits.snapshot()
    assert again.gone == {}
    assert set(again.files["matches"]) == {whole}


def test_names_in_epochs_control_entries_and_keep_are_kept(store: Store) -> None:
    epoch, bulk, kept = (data_file(store, kind, 9e5) for kind in ("epochs", "requests", "other"))
    store.commits.append(EpochCommit(epoch=Epoch(0, "grid", 1, epoch)), 0)
    store.control.append(Subscribe(bulk), 10)
    assert sweep(store, GRACE, NOW, keep=[kept]) == []
    assert sweep(store, GRACE, NOW) == [kept]
    assert present(store) == {epoch, bulk}


def test_unknown_files_are_never_touched(store: Store, tmp_path: Path) -> None:
    strange = [
        data_file(store, "", 9e5, name)
        for name in ("matches/notes.txt", "matches/deep/" + "0" * 32 + ".sl", "readme", "Matches/" + "0" * 32 + ".sl")
    ]
    outside = tmp_path / ("0" * 32 + ".sl")
    outside.write_bytes(b"x")
    link = store.data_path(new_name("matches"))
    link.symlink_to(outside)
    assert sweep(store, GRACE, NOW) == []
    assert present(store) >= set(strange)
    assert outside.exists()
    assert link.is_symlink()


def test_temporary_files_of_killed_writers_go(store: Store) -> None:
    old, young = store.path / "control" / ".tmp-1", store.path / "control" / ".tmp-2"
    for path, age in ((old, GRACE + 1), (young, 1)):
        path.write_bytes(b"")
        os.utime(path, (NOW - age, NOW - age))
    sweep(store, GRACE, NOW)
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize("grace", [0.0, GRACE])
def test_a_file_named_between_listing_and_reading_the_log_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch, grace: float
) -> None:
    name = data_file(store, "matches", 9e5)
    other = Store.open(store.path, durable=False)
    store.commits.snapshot()
    original = store.commits.refresh

    def late() -> object:
        if not other.commits.snapshot().version:
            batch(other, 0, [name])
        return original()

    monkeypatch.setattr(store.commits, "refresh", late)
    assert sweep(store, grace, NOW) == []
    assert present(store) == {name}
