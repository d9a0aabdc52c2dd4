"""Rows of string columns, gathered."""

from sightline.index.objects.strings.column import StringColumn, readable, taken

__all__ = ["StringColumn", "readable", "taken"]
