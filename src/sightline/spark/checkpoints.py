"""Names of runs -> ids that stay over restarts: Spark's in the checkpoint of a stream, our own for a one-shot run."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from sightline.model.errors import RunFailed

ONCE = "id"


def query_id(checkpoint: Path) -> str:
    """Id of a streaming query, as its checkpoint keeps it."""
    for line in (checkpoint / "metadata").read_text().splitlines():
        if line.startswith("{"):
            return str(json.loads(line)["id"])
    raise RunFailed("the checkpoint has no query id", value=str(checkpoint))


def once_id(folder: Path) -> str:
    """Id of a one-shot run, made when it is first started under its name."""
    path = folder / ONCE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(uuid.uuid4().hex)
    return path.read_text()


def run_ids(runs: Path) -> set[str]:
    """Ids of all runs that can go on after a restart; a load is none of them."""
    found = set()
    for folder in runs.iterdir() if runs.is_dir() else ():
        if (folder / ONCE).exists():
            found.add(once_id(folder))
        if (folder / "metadata").exists():
            found.add(query_id(folder))
    return found
