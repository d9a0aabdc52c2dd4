"""Uniform grid with inverted lists per cell: the baseline of SSTD and PS2Stream."""

from sightline.index.objects.grid.index import GridIndex, GridParams

__all__ = ["GridIndex", "GridParams"]
