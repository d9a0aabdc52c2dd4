"""Names of runs -> ids that stay over restarts: Spark's in the checkpoint of a stream, our own for a one-shot run."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from sightline.model.errors import BadConfig, RunFailed

ONCE = "id"


def query_id(checkpoint: Path) -> str:
    """Id of a streaming query, as its checkpoint keeps it."""
    for line in (checkpoint / "metadata").read_text().splitlines():
        if line.startswith("{"):
            return str(json.loads(line)["id"])
    raise RunFailed("the checkpoint has no query id", value=str(checkpoint))


def once_id(folder: Path, source: str) -> str:
    """Id of a one-shot run, made when it is first started under its name; the name belongs to one source."""
    path = folder / ONCE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"id": uuid.uuid4().hex, "source": source}))
    kept = json.loads(path.read_text())
    if kept["source"] != source:
        raise BadConfig(
            f"run {folder.name!r} was started on another source",
            value=source,
            allowed=kept["source"],
            hint="give this one another name=: under its old name a run only goes on where it was",
        )
    return str(kept["id"])


def run_ids(runs: Path) -> set[str]:
    """Ids of all runs that can go on after a restart; a load is none of them."""
    found = set()
    for folder in runs.iterdir() if runs.is_dir() else ():
        if (folder / ONCE).exists():
            found.add(str(json.loads((folder / ONCE).read_text())["id"]))
        if (folder / "metadata").exists():
            found.add(query_id(folder))
    return found
