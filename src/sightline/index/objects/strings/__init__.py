"""Rows of string columns, gathered."""

from sightline.index.objects.strings.column import StringColumn, taken

__all__ = ["StringColumn", "taken"]
