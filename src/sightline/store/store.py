"""A store: a folder with ``store.json``, two logs, plans, data files and the pipeline lock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sightline.model.config import StoreConfig
from sightline.model.errors import CorruptFile, IncompatibleStore, NotAStore, StoreNotShared
from sightline.store.commit_log import CommitLog
from sightline.store.control_log import ControlLog
from sightline.store.disk import full_disk_named, put_new, replace_file, sync_folder
from sightline.store.entries import Commit
from sightline.store.lock import PipelineLock
from sightline.store.log_store import LocalLogStore, local_path
from sightline.store.plans import PlanStore
from sightline.store.sealed_json import seal, unseal
from sightline.store.snapshot import Snapshot

STORE_MAGIC = "sightline-store"
STORE_FORMAT = 1
IDENTITY = "store.json"
LOG, CONTROL, PLANS, DATA = "log", "control", "plans", "data"
LOCK_FILE = "pipeline.lock"

T = TypeVar("T")


class Store:
    """Handles to everything in the folder. Use ``create``, ``open`` or ``open_or_create``.

    Opening writes nothing and takes no lock; only a pipeline acquires ``lock``.

    Attributes
    ----------
    path : Path
    config : StoreConfig
    commits : CommitLog
    control : ControlLog
    plans : PlanStore
    lock : PipelineLock
    durable : bool
        Whether writes are synced; off in tests only.
    """

    def __init__(self, path: Path, config: StoreConfig, *, durable: bool = True) -> None:
        self.path = path
        self.config = config
        self.durable = durable
        self.commits = CommitLog(LocalLogStore(path / LOG, durable=durable), before_append=self._check_and_sync)
        self.control = ControlLog(LocalLogStore(path / CONTROL, durable=durable))
        self.plans = PlanStore(path / PLANS, durable=durable)
        self.lock = PipelineLock(path / LOCK_FILE)

    @classmethod
    def create(cls, path: str | Path, config: StoreConfig, *, durable: bool = True) -> Store:
        """Make a store in a new or empty folder; ``NotAStore`` when there is anything else, untouched."""
        path = local_path(path)
        if (path / IDENTITY).exists():
            raise NotAStore("there is a store already", value=str(path), hint="open it instead")
        _refuse_foreign(path)
        with full_disk_named(path):
            for folder in (LOG, CONTROL, PLANS, DATA):
                (path / folder).mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent, durable=durable)
            # Last, so that a crash before it leaves empty folders that `create` accepts.
            body = {"magic": STORE_MAGIC, "format": STORE_FORMAT, "config": config.to_dict()}
            created = put_new(path / IDENTITY, seal(body), durable=durable)
        if not created:  # another process was faster
            return cls.open(path, durable=durable)
        return cls(path, config, durable=durable)

    @classmethod
    def open(cls, path: str | Path, *, durable: bool = True) -> Store:
        """Open a store; ``NotAStore`` or ``IncompatibleStore`` when it is none of ours."""
        path = local_path(path)
        try:
            data = (path / IDENTITY).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise NotAStore(
                "no store there",
                value=str(path),
                allowed="a folder made by sightline",
                hint="check the path; a store is made where nothing is yet",
            ) from None
        body = _identity(path / IDENTITY, data)
        return cls(path, StoreConfig.from_dict(body["config"]), durable=durable)

    @classmethod
    def open_or_create(cls, path: str | Path, config: StoreConfig, *, durable: bool = True) -> Store:
        """Open the store at `path`, or make one there with `config`."""
        if (local_path(path) / IDENTITY).exists():
            return cls.open(path, durable=durable)
        return cls.create(path, config, durable=durable)

    def data_path(self, name: str) -> Path:
        """Where a data file is; `name` as in its log entry."""
        return self.path / DATA / name

    def update_config(self, config: StoreConfig) -> None:
        """Keep changed settings (lateness, retention, ...); routing in force is an epoch of the log."""
        body = {"magic": STORE_MAGIC, "format": STORE_FORMAT, "config": config.to_dict()}
        replace_file(self.path / IDENTITY, seal(body), durable=self.durable)
        self.config = config

    def read(self, reader: Callable[[Snapshot], T], *, attempts: int = 5) -> T:
        """Run `reader` on the newest snapshot; when a file was swept under it, again on a newer one."""
        for _ in range(attempts):
            snapshot = self.commits.refresh()
            try:
                return reader(snapshot)
            except FileNotFoundError as error:
                missing = error
                if self.commits.refresh().version == snapshot.version:
                    break
        raise CorruptFile(
            "a file the log names is missing",
            value=str(missing.filename),
            hint="restore this file from a copy; other files stay readable",
        ) from missing

    def _check_and_sync(self, entry: Commit) -> None:
        """Before a commit: its new files are here as they were written, and their names durable, a sync per folder."""
        for item in entry.add:
            path = self.data_path(item.name)
            try:
                found = f"has {path.stat().st_size} bytes"
            except FileNotFoundError:
                found = "is missing"
            if found != f"has {item.bytes} bytes":
                raise StoreNotShared(
                    f"a file to be committed {found} here",
                    value=str(path),
                    allowed=f"the {item.bytes} bytes that were written",
                    hint="all hosts must see one folder under the store's path; nothing was committed",
                )
        if self.durable:
            folders = {os.path.dirname(item.name) for item in entry.add}
            with full_disk_named(self.path):
                for folder in folders:
                    sync_folder(self.data_path(folder))


def _refuse_foreign(path: Path) -> None:
    """``NotAStore`` unless `path` is missing, empty, or a store whose creation was cut short."""
    if not path.exists():
        return
    if not path.is_dir():
        raise NotAStore("the path is a file", value=str(path), allowed="a new or empty folder")
    for child in path.iterdir():
        ours = child.name in (LOG, CONTROL, PLANS, DATA) and child.is_dir() and not any(child.iterdir())
        if not ours:
            raise NotAStore(
                "the folder holds something else",
                value=str(path),
                allowed="a store, or a new or empty folder",
                hint=f"it has {child.name!r}; name another folder",
            )


def _identity(path: Path, data: bytes) -> dict[str, Any]:
    """Body of ``store.json``. Its format is looked at first: a newer one may be sealed differently."""
    try:
        loose = json.loads(data)
    except ValueError:
        loose = None
    if not isinstance(loose, dict) or loose.get("magic") != STORE_MAGIC:
        if isinstance(loose, dict) and "magic" not in loose:
            raise NotAStore("store.json is not ours", value=str(path.parent), hint="name another folder")
        raise CorruptFile("damaged store.json", value=str(path), hint="restore this file from a copy")
    if not isinstance(loose.get("format"), int) or loose["format"] > STORE_FORMAT:
        raise IncompatibleStore(
            f"store of the newer format {loose.get('format')}",
            value=str(path.parent),
            allowed=f"up to {STORE_FORMAT}",
            hint="upgrade sightline",
        )
    return unseal(data, str(path))
