"""UTF-8 as bytes: which rows are valid, and the character steps the tokeniser's kernels take."""

from sightline.text.utf8.validity import valid_utf8

__all__ = ["valid_utf8"]
