"""The terms of a text, in plain Python: the definition the kernel of :mod:`sightline.text` is tested against.

``terms_of("#東京 Floods, floods")`` is ``{"東": 1, "京": 1, "#東京": 0, "floods": 2}``.
"""

from __future__ import annotations

from sightline.model._unicode14 import normalise
from sightline.model.runs import runs_of, words_of
from sightline.model.text_config import TextConfig

_PLAIN = TextConfig()


def terms_of(text: str, config: TextConfig = _PLAIN) -> dict[str, int]:
    """Terms of a text with the number of times each word occurs; tag terms count 0 (they do not enter scores)."""
    read = None if config.is_plain else config.reader()
    counts: dict[str, int] = {}
    for sign, run in runs_of(normalise(text)):
        for word in words_of(run):
            term = word if read is None else read(word)
            if term is not None:
                counts[term] = counts.get(term, 0) + 1
        if sign:
            counts[sign + run] = 0
    return counts


def word_count(text: str, config: TextConfig = _PLAIN) -> int:
    """Words of a text, repeats included, stop words and tags not."""
    return sum(terms_of(text, config).values())


def keyword_terms(keyword: str, config: TextConfig = _PLAIN) -> tuple[str, ...]:
    """Terms a keyword asks for: as in text, except that ``#x`` means the tag alone; in order, distinct."""
    read = config.reader()
    wanted: dict[str, None] = {}
    for sign, run in runs_of(normalise(keyword)):
        for term in (sign + run,) if sign else map(read, words_of(run)):
            if term is not None:
                wanted[term] = None
    return tuple(wanted)
