"""Removing files nobody needs: strays of failed batches, and files merged away."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

from sightline.store.disk import TEMPORARY
from sightline.store.entries import SweepCommit
from sightline.store.files import DATA_NAME
from sightline.store.store import CONTROL, DATA, LOG, PLANS, Store

GRACE_S = 3600.0


def sweep(
    store: Store,
    grace_s: float = GRACE_S,
    now: float | None = None,
    *,
    keep: Iterable[str] = (),
    done: Iterable[str] = (),
) -> list[str]:
    """Remove data files that no log names, and merged-away ones, and return their names.

    A file goes only when all of these hold: its name is of the form we make; it is older than `grace_s` (a
    merged-away file: since the merge); no open plan is as old as it, for its re-run may still name or read
    the file; neither log names it, nor does `keep`. Files that the control log names stay for good, except those that
    are `done` with. The caller holds the pipeline lock.
    """
    now = time.time() if now is None else now
    found = list(_data_files(store))  # before reading the logs: what is named later was not found unnamed
    snapshot = store.commits.refresh()
    begun = [plan.created for plan in store.plans.open_plans() if not snapshot.has_run(plan.run, plan.batch)]
    bound = min([now - grace_s, *begun])
    asked = {entry.request.file for entry in store.control.read()}
    named = {*snapshot.names(), *keep, *(epoch.file for epoch in snapshot.epochs), *(asked - set(done))}
    strays = [name for name, modified in found if name not in named and modified < bound]
    merged_away = [name for name, removed in snapshot.gone.items() if removed < bound]
    for name in [*strays, *merged_away]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(store.data_path(name))
    _remove_temporaries(store, now - grace_s)
    if merged_away:  # after the files: a crash between leaves names that the next sweep removes again
        store.commits.append(SweepCommit(removed=tuple(merged_away)), snapshot.version)
    return sorted([*strays, *merged_away])


def _data_files(store: Store) -> Iterator[tuple[str, float]]:
    """Name and time of last change of every file in the data folder that has a name of ours."""
    root = store.path / DATA
    for kind in os.scandir(root) if root.is_dir() else ():
        if not kind.is_dir(follow_symlinks=False):
            continue
        for item in os.scandir(kind.path):
            name = f"{kind.name}/{item.name}"
            if DATA_NAME.fullmatch(name) and item.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    yield name, item.stat().st_mtime


def _remove_temporaries(store: Store, bound: float) -> None:
    """Temporary files of log writers that were killed."""
    for folder in (LOG, CONTROL, PLANS):
        for item in os.scandir(store.path / folder):
            if item.name.startswith(TEMPORARY):
                with contextlib.suppress(FileNotFoundError):
                    if item.stat().st_mtime < bound:
                        os.unlink(item.path)
