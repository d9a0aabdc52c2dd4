"""Uniform grid over objects with inverted lists per cell, after the grid PS2Stream has over queries."""

from sightline.index.objects.grid.index import GridIndex, GridParams

__all__ = ["GridIndex", "GridParams"]
