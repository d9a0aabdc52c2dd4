"""How a store reads text: stop words, stemmer, Unicode version. Stored with the store, applied to queries too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sightline.model._unicode14 import UNICODE_VERSION, normalise
from sightline.model.errors import BadConfig
from sightline.model.runs import runs_of, words_of


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    import snowballstemmer  # all its languages at once: only stores that stem wait for that

    stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem


def _stop_word(value: object) -> str:
    """One stop word as it appears among terms."""
    runs = list(runs_of(normalise(value))) if isinstance(value, str) else []
    words = [word for sign, run in runs for word in words_of(run) if not sign]
    if len(words) != 1 or len(runs) != 1:
        raise BadConfig("stop word is not one word", value=value, allowed="single words without # or @")
    return words[0]


def _stop_words(values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise BadConfig("stop_words is not a list", value=values, allowed="a list of words")
    return tuple(sorted({_stop_word(value) for value in values}))


@dataclass(frozen=True)
class TextConfig:
    """Options of the tokeniser.

    Parameters
    ----------
    stop_words : tuple of str
        Words that are no terms, kept normalised and sorted. A tag such as ``#the`` is a term all the same.
    stemmer : str, optional
        A Snowball algorithm (``"english"``, ``"german"``, ...); words are stemmed after stop words, tags never.
    unicode : str
        Version of the character tables; this release ships 14.0.0.
    """

    stop_words: tuple[str, ...] = ()
    stemmer: str | None = None
    unicode: str = UNICODE_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop_words", _stop_words(self.stop_words))
        if self.stemmer is not None:
            import snowballstemmer

            known = snowballstemmer.algorithms()
            if self.stemmer not in known:
                raise BadConfig("unknown stemmer", value=self.stemmer, allowed=", ".join(sorted(known)))
        if self.unicode != UNICODE_VERSION:
            raise BadConfig(
                "unknown Unicode version", value=self.unicode, allowed=UNICODE_VERSION,
                hint="open the store with the release that wrote it",
            )  # fmt: skip

    @property
    def is_plain(self) -> bool:
        """Whether words are terms as they are."""
        return not self.stop_words and self.stemmer is None

    def reader(self) -> Callable[[str], str | None]:
        """Make the function from a word (not a tag) to its term, None for a stop word."""
        stops = frozenset(self.stop_words)
        stem = None if self.stemmer is None else _stemmer(self.stemmer)

        def read(word: str) -> str | None:
            if word in stops:
                return None
            return word if stem is None else stem(word) or word

        return read

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"stop_words": list(self.stop_words), "stemmer": self.stemmer, "unicode": self.unicode}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TextConfig:
        """Read the JSON form."""
        return cls(tuple(stored.get("stop_words", ())), stored.get("stemmer"), stored.get("unicode", UNICODE_VERSION))
