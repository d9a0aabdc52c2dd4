"""Runs of word characters in normalised text: the shape rules of terms, before stop words and stemming.

A run is a maximal sequence that starts with a word character and goes on with word characters and marks. It is one
word, except that each ideograph, with the marks after it, is a word of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sightline.model._unicode14 import IDEOGRAPH, MARK, WORD, character_class, flags_by_code


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    flags = flags_by_code()
    word = character_class((flags & WORD) != 0)
    mark = character_class((flags & MARK) != 0)
    single = character_class((flags & IDEOGRAPH) != 0)
    run = re.compile(f"([#@]?)([{word}][{word}{mark}]*)")
    return run, re.compile(f"[{single}][{mark}]*|[^{single}]+")


def runs_of(normal: str) -> Iterator[tuple[str, str]]:
    """Yield ``(sign, run)`` of normalised text; the sign is ``#``, ``@`` or empty."""
    for match in _patterns()[0].finditer(normal):
        yield match[1], match[2]


def words_of(run: str) -> list[str]:
    """Cut a run into words."""
    return [run] if run.isascii() else _patterns()[1].findall(run)
