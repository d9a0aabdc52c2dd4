"""Paths of ours as Spark is given them: with their scheme, because the default file system of a cluster is another."""

from __future__ import annotations

from pathlib import Path

_PATTERN = set("\\*?[]{}")  # Hadoop reads these in a path to read from as a pattern


def to_write(path: str | Path) -> str:
    """A path that Spark writes to. Not percent-encoded: Hadoop takes ``%20`` for three characters."""
    return f"file://{Path(path).absolute()}"


def to_read(path: str | Path) -> str:
    """A path that Spark reads from, taken literally."""
    return "".join(f"\\{letter}" if letter in _PATTERN else letter for letter in to_write(path))
