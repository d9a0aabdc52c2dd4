"""An endless, repeatable stream of posts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sightline.generate.lexicon import EMPTY, HANDLES, NUMBER_PIECES, SLOTS, WORD_SLOT, Lexicon, load_lexicon
from sightline.generate.malformed import MALFORMED_KINDS, spoil
from sightline.generate.phrases import LANGUAGES
from sightline.generate.places import Locations, PlaceModel, PostPlaces
from sightline.model.durations import duration_us
from sightline.model.errors import BadConfig

__all__ = ["MALFORMED_KINDS", "SCHEMA", "PostGenerator"]

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("lon", pa.float64()),
        ("lat", pa.float64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("text", pa.string()),
        ("lang", pa.string()),
    ]
)

# Rows are made in blocks of this size from (seed, block number); any range of rows is cut from whole blocks.
BLOCK_POSTS = 8192
DEFAULT_START = datetime(2024, 1, 1, tzinfo=UTC)
OWN_LANGUAGE = 0.85  # share of posts in the language of their city
ON_TOPIC = 0.7  # share of posts about a topic

Ints = npt.NDArray[np.int64]


class PostGenerator:
    """Synthetic posts; row *r* of a seed is the same whatever the chunk it is asked in.

    Parameters
    ----------
    seed : int
        Chooses the stream.
    languages : tuple of str
        Languages to write in; the first is used where a place speaks none of them.
    locations : {"cities", "uniform", "gaussian"}
        Around the world's cities, or Uni / Gau of SSTD 7.2 (only coordinates change, texts stay).
    sigma : float
        Standard deviation of ``gaussian`` in degrees.
    start : datetime
        Event time of row 0.
    per_second : float
        Posts per second of event time.
    late_rate, late_by
        Share of posts whose ``ts`` lies behind, and by how much on average.
    malformed_rate : float
        Share of rows that are broken, evenly in each of ``MALFORMED_KINDS``.
    burst_rate : float
        Share of posts in bursts: one topic in one city for half an hour.
    cities, vocabulary : int
        How many cities, and words per language.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        languages: tuple[str, ...] = LANGUAGES,
        locations: Locations = "cities",
        sigma: float = 1.0,
        start: datetime = DEFAULT_START,
        per_second: float = 1000.0,
        late_rate: float = 0.0,
        late_by: str | timedelta = "10min",
        malformed_rate: float = 0.0,
        burst_rate: float = 0.05,
        cities: int = 4000,
        vocabulary: int = 20_000,
    ) -> None:
        _check_languages(tuple(languages))
        if locations not in get_args(Locations):
            raise BadConfig("unknown locations", value=locations, allowed=", ".join(get_args(Locations)))
        for name, rate in (("late_rate", late_rate), ("malformed_rate", malformed_rate), ("burst_rate", burst_rate)):
            if not 0 <= rate <= 1:
                raise BadConfig(f"{name} is not a share", value=rate, allowed="0 to 1")
        for name, number in (("per_second", per_second), ("cities", cities), ("vocabulary", vocabulary)):
            if not number > 0:
                raise BadConfig(f"{name} must be positive", value=number, allowed="a number above 0")
        if seed < 0:
            raise BadConfig("the seed is negative", value=seed, allowed="0 and above")
        self.seed, self.locations, self.sigma, self.per_second = seed, locations, sigma, per_second
        self.late_rate, self.malformed_rate = late_rate, malformed_rate
        self.late_us = duration_us(late_by, "late_by")
        self.start_us = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        self.lexicon: Lexicon = load_lexicon(tuple(languages), cities, vocabulary)
        self.places = PlaceModel(self.lexicon.cities, seed, burst_rate)
        self._last: tuple[int, pa.RecordBatch] | None = None

    def table(self, n: int, start_row: int = 0) -> pa.Table:
        """Rows ``start_row`` to ``start_row + n``."""
        end, parts = start_row + n, []
        for block in range(start_row // BLOCK_POSTS, -(-end // BLOCK_POSTS) if n > 0 else 0):
            first = block * BLOCK_POSTS
            low, high = max(start_row, first) - first, min(end, first + BLOCK_POSTS) - first
            parts.append(self._block(block).slice(low, high - low))
        return pa.Table.from_batches(parts, schema=SCHEMA)

    def _block(self, block: int) -> pa.RecordBatch:
        if self._last is None or self._last[0] != block:
            # The last block is kept: small chunks then cost a slice each, not a block each.
            self._last = (block, self._make(block))
        return self._last[1]

    def _make(self, block: int) -> pa.RecordBatch:
        rng = np.random.default_rng([self.seed, block])
        row = np.arange(block * BLOCK_POSTS, (block + 1) * BLOCK_POSTS, dtype=np.int64)
        # In order of the row but for late posts: the jitter never reaches the next row's instant.
        spacing = 1e6 / self.per_second
        ts = self.start_us + ((row + rng.random(BLOCK_POSTS)) * spacing).astype(np.int64)
        placed = self.places.place(rng, ts)
        lon, lat = self.places.locate(rng, placed, self.locations, self.sigma)
        own = rng.random(BLOCK_POSTS) < OWN_LANGUAGE
        language = np.where(own, self.lexicon.cities.language[placed.city], 0)
        text = self._texts(rng, placed, language)
        late = rng.random(BLOCK_POSTS) < self.late_rate
        ts = ts - np.where(late, 1 + rng.exponential(self.late_us, BLOCK_POSTS).astype(np.int64), 0)
        number = pc.cast(pa.array(row), pa.string())
        columns: dict[str, Any] = {
            "id": pc.binary_join_element_wise(pa.scalar(f"{self.seed}"), number, "-"),
            "lon": pa.array(lon),
            "lat": pa.array(lat),
            "ts": pa.array(ts).cast(SCHEMA.field("ts").type),
            "text": text,
            "lang": pa.array(self.lexicon.languages).take(pa.array(language)),
        }
        kind = rng.integers(0, len(MALFORMED_KINDS), BLOCK_POSTS)
        spoil(columns, np.where(rng.random(BLOCK_POSTS) < self.malformed_rate, kind, -1))
        return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)

    def _texts(self, rng: np.random.Generator, placed: PostPlaces, language: Ints) -> pa.Array:
        """Fill the slots of one pattern per row, then gather all pieces in one ``take``."""
        lexicon, n = self.lexicon, len(language)
        on_topic = (rng.random(n) < ON_TOPIC) | placed.burst
        span = np.where(on_topic[:, None], lexicon.about[language], lexicon.chatter[language])
        pattern = span[:, 0] + (rng.random(n) * span[:, 1]).astype(np.int64)
        codes = lexicon.patterns[pattern]
        word = rng.integers(0, 4, n)
        # The usual name in another language than the place's, the native one in its own.
        native = (language == lexicon.cities.language[placed.city]).astype(np.int64)
        of_row = {
            "t": lexicon.topic_piece[language, placed.topic, word],
            "u": lexicon.topic_piece[language, placed.topic, (word + rng.integers(1, 4, n)) % 4],
            "p": lexicon.place_piece[placed.city, native],
            "n": lexicon.number_piece + rng.integers(0, NUMBER_PIECES, n),
            "tag": lexicon.tag_piece[language, placed.topic],
            "place_tag": lexicon.place_tag_piece[placed.city, native],
            "who": lexicon.handle_piece + rng.integers(0, HANDLES, n),
        }
        for slot, piece in of_row.items():
            column = lexicon.columns[list(SLOTS).index(slot), pattern]
            has_slot = np.nonzero(column >= 0)[0]
            codes[has_slot, column[has_slot]] = piece[has_slot]
        at_row, at_column = np.nonzero(codes == WORD_SLOT)
        drawn = np.searchsorted(lexicon.word_cdf, language[at_row] + rng.random(len(at_row)), side="right")
        codes[at_row, at_column] = lexicon.word_piece[np.minimum(drawn, len(lexicon.word_piece) - 1)]
        used = codes != EMPTY
        pieces = lexicon.pieces.take(pa.array(codes[used]))
        # The taken strings lie one after another: the text of a row is the bytes from its first piece to its last.
        ends = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        _, offsets, data = pieces.buffers()
        starts = np.frombuffer(offsets, dtype=np.int32)[pieces.offset : pieces.offset + len(pieces) + 1]
        return pa.StringArray.from_buffers(n, pa.py_buffer(np.ascontiguousarray(starts[ends])), data)


def _check_languages(languages: tuple[str, ...]) -> None:
    unknown = [language for language in languages if language not in LANGUAGES]
    if unknown or not languages:
        raise BadConfig("unknown languages", value=unknown or languages, allowed=", ".join(LANGUAGES))
