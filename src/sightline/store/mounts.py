"""On which kind of file system is a folder? A network's is slower and shared; this machine's is neither."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(r"nfs\d*|cifs|smb\w*|ncpfs|afs|9p|ceph|glusterfs|lustre|gpfs|beegfs|ocfs2|gfs2|davfs|fuse\..+")


def is_on_network(path: Path, mounts: str | None = None) -> bool:
    """Whether a folder is on a file system of the network, or of a program that may be; False where nobody says."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
        except OSError:
            return False
    return bool(_NETWORK.fullmatch(_type_of(path.resolve(), mounts)))


def _type_of(path: Path, mounts: str) -> str:
    """Type of the file system that a path is on: of the mounts above it the deepest, of several there the last."""
    deepest, kind = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        place = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), before.split(" ")[4]))
        if len(place.parts) >= deepest and path.is_relative_to(place):
            deepest, kind = len(place.parts), after.split(" ")[0]
    return kind
