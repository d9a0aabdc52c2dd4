"""A token of the pipeline, to see whether a process has the driver's store before it and not a folder of that name.

On a cluster the store's path may be mounted on some hosts and be a private folder on others. Files written there would
be acknowledged and never seen again; so every process reads the token before its first work, and receipts carry it.
"""

from __future__ import annotations

import socket
from functools import lru_cache

from sightline.model.errors import StoreNotShared
from sightline.stages.exchange.job import Job
from sightline.stages.exchange.target import Target
from sightline.store.disk import write_file
from sightline.store.files import new_name
from sightline.store.kinds import FileKind


def new_token(target: Target) -> str:
    """Write the token of a pipeline, a file of a new name; those of earlier pipelines go."""
    folder = target.path(FileKind.TOKEN)
    for old in list(folder.iterdir()) if folder.is_dir() else ():
        old.unlink(missing_ok=True)
    name = new_name(FileKind.TOKEN)
    write_file(target.path(name), [name.encode()], durable=False)
    return name


def seen_token(job: Job) -> str:
    """The token as this process reads it; ``StoreNotShared`` if it cannot. Read once per process."""
    return _seen(job.target(), job.token)


@lru_cache(maxsize=16)
def _seen(target: Target, token: str) -> str:
    path = target.path(token)
    try:
        if path.read_text("utf-8") == token:
            return token
        why = "has other content"
    except OSError as error:
        why = error.strerror or type(error).__name__
    raise StoreNotShared(
        f"host {socket.gethostname()} does not see the driver's store: its token there: {why}",
        value=str(target.store),
        allowed="one folder that driver and executors have under the same path",
        hint="mount it on every host, or open a store on a path that all share; nothing was committed",
    )
