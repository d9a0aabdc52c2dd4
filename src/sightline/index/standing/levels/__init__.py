"""Levels: range queries in grids of several cell sizes, one small table of terms per cell."""

from sightline.index.standing.levels.index import LevelsIndex

__all__ = ["LevelsIndex"]
