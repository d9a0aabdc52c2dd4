"""What a power cut does to files that were not synced."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

KINDS = ("remove", "empty", "cut", "zeros")


def hurt(folder: Path, damage: Iterable[tuple[int, str, int]]) -> None:
    """Damage files of a folder, Hadoop's checksums among them: which (by place), how, and where one is cut off."""
    for place, how, at in damage:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        path = files[place % len(files)]
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # a JVM outlives the process that was killed by a moment, and tidies up
            continue
        if how == "remove":
            path.unlink()
        elif how == "empty":
            path.write_bytes(b"")
        elif how == "cut":
            path.write_bytes(data[: min(at, max(len(data) - 1, 0))])
        else:
            path.write_bytes(bytes(len(data)))
