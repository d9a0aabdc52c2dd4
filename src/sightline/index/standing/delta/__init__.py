"""The delta: range queries registered since the base was frozen, in a table that takes insertions."""

from sightline.index.standing.delta.index import DeltaIndex

__all__ = ["DeltaIndex"]
